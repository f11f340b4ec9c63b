// Binds a position.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind/python_arrays.h"
#include "bind/python_described.h"
#include "bind/python_game.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

std::vector<std::pair<Action, double>> outcomes_of_chance(const PyPosition& position) {
    std::vector<std::pair<Action, double>> outcomes;
    for (const ChanceOutcome& outcome : position.core->chance_outcomes())
        outcomes.emplace_back(outcome.id, outcome.probability);
    return outcomes;
}

std::vector<float> rewards(const PyPosition& position) {
    std::vector<float> rewards;
    for (const int player : {0, 1}) {
        const int outcome = value_or_raise(position.core->outcome(player));
        rewards.push_back(position.game.core->facts().outcomes[outcome].reward);
    }
    return rewards;
}

NumpyArray<uint8_t, 1> observe(const PyPosition& position, int player) {
    std::vector<uint8_t> bytes = value_or_raise(position.core->observe(player));
    const size_t size = bytes.size();
    return to_numpy<1>(std::move(bytes), {size});
}

nb::typed<nb::dict, nb::str, nb::object> describe(const PyPosition& position,
                                                  std::optional<int> player) {
    if (player == -1) raise({Error::Kind::illegal, "player must be 0, 1 or None, got -1"});
    const auto described = value_or_raise(position.core->describe(player.value_or(-1)));
    return nb::borrow<nb::dict>(to_python(described));
}

bool same(const PyPosition& a, const PyPosition& b) {
    return a.game == b.game && a.core->to_text() == b.core->to_text();
}

}  // namespace

void bind_position(nb::module_& m) {
    nb::class_<PyPosition>(m, "Position",
                           "A position of a game. Only play, resample_hidden and "
                           "Game.play_from_text change it.")
        .def_ro("game", &PyPosition::game)
        .def_prop_ro(
            "to_move", [](const PyPosition& position) { return int(position.core->to_move()); },
            "0, 1, zerofleet.CHANCE or zerofleet.OVER.")
        .def_prop_ro(
            "roller",
            [](const PyPosition& position) -> std::optional<int> {
                if (position.core->to_move() != kChance) return std::nullopt;
                return position.core->roller();
            },
            "Who is about to roll where chance is to move, and whose view values then have; else "
            "None.")
        .def(
            "legal_actions",
            [](const PyPosition& position) { return position.core->legal_actions(); },
            "Ids, ascending; none where no player is to move.")
        .def("chance_outcomes", outcomes_of_chance,
             "Ids with their probabilities; none where chance is not to move.")
        .def(
            "play",
            [](PyPosition& position, int64_t id) { value_or_raise(position.core->play(id)); },
            "id"_a, "Plays an action or, where chance is to move, an outcome.")
        .def(
            "copy",
            [](const PyPosition& position) {
                return PyPosition{position.game, position.core->copy()};
            },
            "A position like this one that can be played on by itself.")
        .def("rewards", rewards, "Per player, once the game is over.")
        .def("observe", observe, "player"_a, "What this player may know: observation_bytes bytes.")
        .def(
            "resample_hidden",
            [](PyPosition& position, int player, uint64_t seed) {
                value_or_raise(position.core->resample_hidden(player, seed));
            },
            "player"_a, "seed"_a,
            "Samples, uniformly over what is consistent, all that this player cannot see.")
        .def_prop_ro(
            "nothing_hidden",
            [](const PyPosition& position) { return position.core->nothing_hidden(); },
            "Whether both players can know the whole position and all that can follow.")
        .def("describe", describe, "player"_a = nb::none(),
             "A plain dict; with a player, only what that player may see.")
        .def(
            "steps",
            [](const PyPosition& position, int64_t id) {
                const Described steps = value_or_raise(position.core->steps(id));
                return nb::typed<nb::list, nb::typed<nb::dict, nb::str, nb::object>>(
                    nb::borrow<nb::list>(to_python(steps)));
            },
            "id"_a,
            "What happens, in order, when this legal action is played: a dict for each step where "
            "the game gives them (Beasty Bar), else an empty list.")
        .def(
            "action_text",
            [](const PyPosition& position, int64_t id) {
                return value_or_raise(position.core->action_text(id));
            },
            "id"_a, "An action, or an outcome where chance moves, as people write it.")
        .def(
            "action_from_text",
            [](const PyPosition& position, const std::string& text) {
                return value_or_raise(position.core->action_from_text(text));
            },
            "text"_a, "The id of a legal action that is written so.")
        .def(
            "to_text", [](const PyPosition& position) { return position.core->to_text(); },
            "A short text that Game.from_text reads.")
        .def("__eq__", same, nb::is_operator(),
             nb::sig("def __eq__(self, other: object, /) -> bool"),
             "Whether both are of the same game and have the same text.")
        .def("__hash__",
             [](const PyPosition&) -> Py_ssize_t {
                 throw nb::type_error("a position can change, so it has no hash; use to_text()");
             })
        .def("__str__", [](const PyPosition& position) { return position.core->picture(); })
        .def("__repr__", [](const PyPosition& position) {
            return nb::str("<Position {} {!r}, {}>")
                .format(position.game.core->facts().name, position.core->to_text(),
                        mover_text(position.core->to_move()));
        });
}

}  // namespace zf
