// Binds a game: its facts, what makes positions of it, its check and random games.
#include "bind/python_game.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <signal.h>
#include <unistd.h>

#include "bind/python_arrays.h"
#include "bind/python_described.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

PyPosition hold(const PyGame& game, Result<std::unique_ptr<AnyPosition>> position) {
    return {game, value_or_raise(std::move(position))};
}

std::string name_with_options(const AnyGame& game) {
    std::string text = game.facts().name;
    for (const auto& [name, value] : game.options()) text += " " + name + "=" + value;
    return text;
}

nb::typed<nb::dict, nb::str, nb::str> options(const PyGame& game) {
    nb::dict options;
    for (const auto& [name, value] : game.core->options())
        options[name.c_str()] = nb::str(value.c_str());
    return options;
}

nb::typed<nb::tuple, Outcome, nb::ellipsis> outcomes(const PyGame& game) {
    nb::list list;
    for (const Outcome& outcome : game.core->facts().outcomes) list.append(nb::cast(outcome));
    return nb::tuple(list);
}

using Permutation = NumpyArray<uint16_t, 1>;

std::vector<std::pair<Permutation, Permutation>> symmetries(const PyGame& game) {
    std::vector<std::pair<Permutation, Permutation>> pairs;
    for (const auto& [action, byte] : game.core->facts().symmetries)
        pairs.emplace_back(to_numpy<1>(action, {action.size()}), to_numpy<1>(byte, {byte.size()}));
    return pairs;
}

void play_from_text(const PyGame& game, PyPosition& position, const std::string& text) {
    if (!(position.game == game))
        raise({Error::Kind::illegal, "the position is of " +
                                         name_with_options(*position.game.core) + ", not of " +
                                         name_with_options(*game.core)});
    value_or_raise(position.core->play_from_text(text));
}

// Where the newest check is, for a process that dies of it.
const std::string* place_of_check = nullptr;

// Lets this process say on standard error where its check was when the game's own code crashes it.
void report_crashes() {
    static char stack[1 << 16];  // its own: the other one may have overflowed
    const stack_t apart{stack, 0, sizeof stack};
    sigaltstack(&apart, nullptr);
    struct sigaction action = {};
    action.sa_flags = SA_ONSTACK | SA_RESETHAND;  // what comes back to the fault then ends by it
    action.sa_handler = [](int) {
        if (place_of_check && write(2, place_of_check->data(), place_of_check->size()) < 0) return;
    };
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        sigaction(number, &action, nullptr);
}

struct PyCheck {
    PyGame game;
    std::unique_ptr<AnyCheck> core;

    CheckReport run(int num_games) {
        place_of_check = &core->where();
        return value_or_raise(game.run_unlocked([&] { return core->run(num_games); }));
    }
};

}  // namespace

void bind_game(nb::module_& m) {
    nb::class_<Outcome>(m, "Outcome", "One way in which a game can end for a player.")
        .def_ro("name", &Outcome::name)
        .def_ro("reward", &Outcome::reward, "For the player whose outcome it is.")
        .def_ro("opposite", &Outcome::opposite, "Index of what the other player then has.")
        .def("__repr__", [](const Outcome& outcome) {
            return nb::str("Outcome(name={!r}, reward={!r}, opposite={!r})")
                .format(outcome.name, outcome.reward, outcome.opposite);
        });

    nb::class_<CheckReport>(m, "CheckReport", "The report of a check.")
        .def_ro("num_games", &CheckReport::num_games)
        .def_ro("num_plies", &CheckReport::num_plies)
        .def_ro("num_truncated", &CheckReport::num_truncated, "Games that reached max_plies.")
        .def_ro("num_resampling_tests", &CheckReport::num_resampling_tests,
                "Positions whose sampling of hidden information was tested for fairness.")
        .def_ro("longest", &CheckReport::longest, "Plies of the longest game.")
        .def("__repr__", [](const CheckReport& report) {
            return nb::str(
                       "CheckReport(num_games={}, num_plies={}, num_truncated={}, "
                       "num_resampling_tests={}, longest={})")
                .format(report.num_games, report.num_plies, report.num_truncated,
                        report.num_resampling_tests, report.longest);
        });

    nb::class_<PyCheck>(m, "Check", "A running check of a game.")
        .def("run", &PyCheck::run, "num_games"_a,
             "Plays so many more games, a multiple of 16; raises at the first fault.")
        .def_prop_ro(
            "where", [](const PyCheck& check) { return check.core->where(); },
            "Where it is, or was when the game's own code raised: \"game 3, ply 5: \".");
    m.def("report_crashes", report_crashes,
          "A process that a game's own code crashes says on standard error where its check was.");

    nb::class_<RandomGames>(m, "RandomGames", "Results of games between random players.")
        .def_ro("num_games", &RandomGames::num_games)
        .def_ro("num_plies", &RandomGames::num_plies)
        .def_ro("num_truncated", &RandomGames::num_truncated, "Games that reached max_plies.")
        .def_ro("num_outcomes_first_player", &RandomGames::num_outcomes_first_player,
                "By index of the outcome.");

    const auto fact = [](auto field) {
        return [field](const PyGame& game) { return game.core->facts().*field; };
    };
    nb::class_<PyGame>(m, "Game", "The rules of a game with its options, and what is fixed in it.")
        .def_prop_ro("name", fact(&Facts::name))
        .def_prop_ro("options", options, "All options with their values, as text.")
        .def_prop_ro("num_actions", fact(&Facts::num_actions), "Action ids are 0…num_actions-1.")
        .def_prop_ro("num_chance_outcomes", fact(&Facts::num_chance_outcomes), "0: no chance.")
        .def_prop_ro("observation_bytes", fact(&Facts::observation_bytes))
        .def_prop_ro("max_plies", fact(&Facts::max_plies),
                     "Actions and chance outcomes after which a game is truncated.")
        .def_prop_ro(
            "in_python", [](const PyGame& game) { return game.custom_class.is_valid(); },
            "Whether its rules are a Python class, which threads of the core cannot play.")
        .def_prop_ro("hidden", fact(&Facts::hidden), "Whether a player does not see everything.")
        .def_prop_ro(
            "has_solver", [](const PyGame& game) { return game.core->has_solver(); },
            "Whether a solver gives exact values, to searches and, by replay.use_solved_values, to "
            "training.")
        .def_prop_ro("c_puct", fact(&Facts::c_puct), "PUCT exploration constant of this game.")
        .def_prop_ro("outcomes", outcomes, "How the game can end for a player.")
        .def_prop_ro(
            "symmetries", symmetries, nb::rv_policy::automatic,
            "Symmetries of the rules, the identity first: pairs of arrays; action i becomes "
            "the first's i-th number, observation byte i the second's.")
        .def(
            "new_position",
            [](const PyGame& game, uint64_t seed) {
                return PyPosition{game, game.core->new_position(seed)};
            },
            "seed"_a = 0,
            "A fresh game. Deals, where there is a deal, from the seed; dice stay chance.")
        .def(
            "from_text",
            [](const PyGame& game, const std::string& text) {
                return hold(game, game.core->from_text(text));
            },
            "text"_a, "The position that such a text of Position.to_text stands for.")
        .def(
            "from_describe",
            [](const PyGame& game, nb::typed<nb::dict, nb::str, nb::object> description) {
                return hold(game,
                            game.core->from_describe(from_python(description, "description")));
            },
            "description"_a, "The position that such a dict of Position.describe stands for.")
        .def("play_from_text", play_from_text, "position"_a, "text"_a,
             "Takes a turn written as people write it, of one action or more. Where it is refused "
             "the position is as before.")
        .def(
            "random_games",
            [](const PyGame& game, int64_t num_games, uint64_t seed) {
                return game.run_unlocked([&] { return game.core->random_games(num_games, seed); });
            },
            "num_games"_a, "seed"_a = 1, "Plays games between random players, in the core.")
        .def(
            "start_check",
            [](const PyGame& game, uint64_t seed) {
                return PyCheck{game, game.core->make_check(seed)};
            },
            "seed"_a, "For zerofleet.games.check.")
        .def(
            "__eq__", [](const PyGame& game, const PyGame& other) { return game == other; },
            nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__",
             [](const PyGame& game) {
                 return nb::hash(nb::str(name_with_options(*game.core).c_str()));
             })
        .def("__repr__",
             [](const PyGame& game) { return "<Game " + name_with_options(*game.core) + ">"; });
}

}  // namespace zf
