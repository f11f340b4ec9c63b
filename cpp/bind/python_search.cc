// Binds searches, in steps: Python handles Ctrl-C between them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bind/python_arrays.h"
#include "bind/python_game.h"
#include "bind/python_settings.h"
#include "bind/search_batch.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

// Shapes: B leaves in a batch, N bytes of an observation, A actions, O outcomes.
using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The game of all positions.
const PyGame& game_of_all(const std::vector<const PyPosition*>& positions) {
    if (positions.empty()) raise({Error::Kind::bad_text, "there must be at least one position"});
    for (const PyPosition* position : positions)
        if (!(position->game == positions[0]->game))
            raise({Error::Kind::inconsistent,
                   "positions of two games: " + positions[0]->game.core->facts().name + " and " +
                       position->game.core->facts().name});
    return positions[0]->game;
}

void require_seed_for_each(const std::vector<const PyPosition*>& positions,
                           const std::vector<uint64_t>& seeds) {
    if (positions.size() != seeds.size())
        raise({Error::Kind::bad_text, std::to_string(seeds.size()) + " seeds for " +
                                          std::to_string(positions.size()) + " positions"});
}

// Searches of one game with the same settings; see bind/search_batch.h.
class PySearchBatch {
  public:
    PySearchBatch(const std::vector<const PyPosition*>& roots, Settings settings,
                  const std::vector<uint64_t>& seeds, const std::optional<std::string>& evaluator)
        : game_(game_of_all(roots)),
          searches_(*game_.core, search_options(settings), kind_or_raise(evaluator)) {
        require_seed_for_each(roots, seeds);
        for (size_t i = 0; i < roots.size(); ++i)
            value_or_raise(searches_.add(*roots[i]->core, seeds[i]));
    }

    PySearchBatch(const PySearchBatch&) = delete;
    PySearchBatch& operator=(const PySearchBatch&) = delete;

    bool finished() const { return searches_.finished(); }
    void stop(bool only_solved) { searches_.stop(only_solved); }

    void run(int num_leaves) {
        if (!searches_.evaluates_itself())
            raise({Error::Kind::illegal, "these searches have no evaluator of the core"});
        game_.run_unlocked([&] { searches_.run(num_leaves); });
    }

    NumpyArray<uint8_t, 2> gather() {
        if (searches_.num_in_flight() > 0)
            raise({Error::Kind::illegal, "the last leaves still wait for absorb"});
        std::vector<uint8_t> rows_BN = game_.run_unlocked([&] { return searches_.gather(); });
        return to_numpy<2>(std::move(rows_BN), {searches_.num_in_flight(),
                                                size_t(searches_.facts().observation_bytes)});
    }

    void absorb(Rows policy_logits_BA, Rows outcomes_observer_BO) {
        require_shape("policy_logits", policy_logits_BA, searches_.facts().num_actions);
        require_shape("outcomes", outcomes_observer_BO, searches_.facts().outcomes.size());
        value_or_raise(game_.run_unlocked([&] {
            return searches_.absorb(policy_logits_BA.data(), outcomes_observer_BO.data());
        }));
    }

    std::vector<RootResult> results() { return searches_.results(); }

  private:
    static SearchOptions search_options(const Settings& settings) {
        SearchOptions options;
        for (const auto& [name, value] : settings)
            value_or_raise(
                set_search_setting(options, nb::str(name).c_str(), setting_value(value)));
        return options;
    }

    void require_shape(const std::string& name, const Rows& rows, size_t num_columns) const {
        const size_t num_rows = searches_.num_in_flight();
        if (rows.shape(0) == num_rows && rows.shape(1) == num_columns) return;
        raise({Error::Kind::bad_text,
               "evaluator: " + name + " must have the shape [" + std::to_string(num_rows) + ", " +
                   std::to_string(num_columns) + "], got [" + std::to_string(rows.shape(0)) + ", " +
                   std::to_string(rows.shape(1)) + "]"});
    }

    PyGame game_;
    SearchBatch searches_;
};

// Shapes: R afterstates, N bytes of an observation.
struct PyAfterstates {
    NumpyArray<uint8_t, 2> observations_RN;
    NumpyArray<int32_t, 1> position_R, action_R, draw_R;
    NumpyArray<float, 1> observer_sign_R;
    NumpyArray<uint8_t, 1> over_R;
    NumpyArray<float, 1> reward_R;
};

PyAfterstates afterstates(const std::vector<const PyPosition*>& positions,
                          const std::vector<uint64_t>& seeds, int num_draws) {
    const PyGame game = game_of_all(positions);
    require_seed_for_each(positions, seeds);
    if (num_draws < 1) raise({Error::Kind::bad_text, "num_draws must be at least 1"});
    Afterstates ends;
    std::vector<int32_t> position_R;
    Result<void> added;
    game.run_unlocked([&] {
        for (size_t i = 0; i < positions.size() && added; ++i) {
            added = game.core->add_afterstates(*positions[i]->core, seeds[i], num_draws, ends);
            position_R.resize(ends.action.size(), int32_t(i));
        }
    });
    value_or_raise(added);
    const size_t count = ends.action.size();
    return {to_numpy<2>(std::move(ends.observations),
                        {count, size_t(game.core->facts().observation_bytes)}),
            to_numpy<1>(std::move(position_R), {count}),
            to_numpy<1>(std::move(ends.action), {count}),
            to_numpy<1>(std::move(ends.draw), {count}),
            to_numpy<1>(std::move(ends.observer_sign), {count}),
            to_numpy<1>(std::move(ends.over), {count}),
            to_numpy<1>(std::move(ends.reward), {count})};
}

nb::typed<nb::dict, nb::str, nb::object> analysis_settings() {
    nb::dict differing;
    for (const Setting<SearchOptions>& each : kSearchSettings) {
        const SettingValue value = setting_of(analysis_options(), each);
        if (value != setting_of(SearchOptions{}, each))
            differing[std::string(each.name).c_str()] = nb::cast(value);
    }
    return differing;
}

}  // namespace

void bind_search(nb::module_& m) {
    nb::class_<RootResult>(m, "RootResult",
                           "The result of a search; lists are in the order of `actions`.")
        .def_ro("actions", &RootResult::actions,
                "The legal ones; chance outcomes at a chance root.")
        .def_ro("visits", &RootResult::visits)
        .def_ro("values_to_move", &RootResult::values_to_move,
                "Expected rewards; 0 where neither visited nor proven.")
        .def_ro("priors", &RootResult::priors)
        .def_ro("policy", &RootResult::policy)
        .def_ro("target", &RootResult::target)
        .def_ro("outcomes_to_move", &RootResult::outcomes_to_move)
        .def_ro("principal_variation", &RootResult::principal_variation)
        .def_ro("best_action", &RootResult::best_action)
        .def_ro("value_to_move", &RootResult::value_to_move)
        .def_ro("num_simulations", &RootResult::num_simulations)
        .def_ro("depth", &RootResult::depth)
        .def_ro("num_bytes", &RootResult::num_bytes)
        .def_ro("solved", &RootResult::solved)
        .def_ro("plies_to_end", &RootResult::plies_to_end,
                "Where solved: of the shortest proven win or the longest loss; 0: not counted.")
        .def_ro("memory_full", &RootResult::memory_full);

    nb::class_<PySearchBatch>(m, "SearchBatch",
                              "Searches of positions of one game; zerofleet.search runs them.")
        .def(nb::init<const std::vector<const PyPosition*>&, Settings, const std::vector<uint64_t>&,
                      const std::optional<std::string>&>(),
             "positions"_a, "settings"_a, "seeds"_a, "evaluator"_a.none(),
             "evaluator is one of the core by name, or None where `gather` and `absorb` are used.")
        .def_prop_ro("finished", &PySearchBatch::finished, "Whether all are.")
        .def("stop", &PySearchBatch::stop, "only_solved"_a = false,
             "Starts no further simulations of any search, or of those whose root is proven; those "
             "in flight still finish, and each search has at least one. Not for Gumbel roots.")
        .def("run", &PySearchBatch::run, "num_leaves"_a,
             "Searches for at most so many leaves of each.")
        .def("gather", &PySearchBatch::gather,
             "The observations of the next leaves to evaluate; there may be none this time.")
        .def("absorb", &PySearchBatch::absorb, "policy_logits"_a.noconvert(),
             "outcomes"_a.noconvert(), "Takes the evaluations of the leaves of the last `gather`.")
        .def("results", &PySearchBatch::results, "In the order of the positions.");

    nb::class_<PyAfterstates>(m, "Afterstates",
                              "Afterstates of turns, one row each; see cpp/search/afterstates.h.")
        .def_ro("observations", &PyAfterstates::observations_RN, nb::rv_policy::automatic,
                "[R, observation_bytes]")
        .def_ro("position", &PyAfterstates::position_R, nb::rv_policy::automatic,
                "[R], index of the position that the turn begins in.")
        .def_ro("action", &PyAfterstates::action_R, nb::rv_policy::automatic,
                "[R], the first of the turn.")
        .def_ro("draw", &PyAfterstates::draw_R, nb::rv_policy::automatic,
                "[R], number of the sampled hidden state.")
        .def_ro("observer_sign", &PyAfterstates::observer_sign_R, nb::rv_policy::automatic,
                "[R], 1 where the observation is that of the player whose turn it was, else -1.")
        .def_ro("over", &PyAfterstates::over_R, nb::rv_policy::automatic,
                "[R], 1: the game is over.")
        .def_ro("reward", &PyAfterstates::reward_R, nb::rv_policy::automatic,
                "[R], of the player whose turn it was, where the game is over.");

    m.def("afterstates", &afterstates, "positions"_a, "seeds"_a, "num_draws"_a,
          "The afterstates of the turn that begins in each position; hidden information is sampled "
          "num_draws times.");

    nb::class_<SettingFacts>(m, "Setting", "A setting of a search or of self-play.")
        .def_ro("name", &SettingFacts::name)
        .def_ro("kind", &SettingFacts::kind, "int, float, bool or choice.")
        .def_ro("default", &SettingFacts::value)
        .def_ro("min", &SettingFacts::min, "Of a number.")
        .def_ro("max", &SettingFacts::max, "Of a number.")
        .def_ro("exclusive_min", &SettingFacts::exclusive_min, "Then `min` itself is refused.")
        .def_ro("choices", &SettingFacts::choices, "Of a choice.")
        .def_ro("selfplay", &SettingFacts::selfplay, "Whether self-play reads it.")
        .def_ro("doc", &SettingFacts::doc, "What it does, and its trade-off.");

    m.def(
        "search_settings", [] { return setting_facts<SearchOptions>(kSearchSettings); },
        "The settings of a search; see cpp/search/options.h.");

    m.def("analysis_settings", &analysis_settings,
          "Where analysis, matches and ratings differ from the defaults: they do not explore.");
}

}  // namespace zf
