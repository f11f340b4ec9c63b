// Binds one search, in steps that Python takes, so that Ctrl-C gets through between them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind/python_arrays.h"
#include "bind/python_game.h"
#include "bind/python_settings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

// Shapes: B leaves in a batch, N bytes of an observation, A actions, O outcomes.
using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

class PySearch {
  public:
    PySearch(const PyPosition& root, Settings settings, uint64_t seed,
             const std::optional<std::string>& evaluator)
        : game_(root.game), search_(game_.core->make_search()) {
        SearchOptions options;
        for (const auto& [name, value] : settings)
            value_or_raise(
                set_search_setting(options, nb::str(name).c_str(), setting_value(value)));
        if (evaluator)
            evaluator_.emplace(value_or_raise(evaluator_kind(*evaluator)), game_.core->facts(),
                               seed);
        value_or_raise(search_->begin(*root.core, options, seed));
    }

    bool finished() const { return search_->finished(); }

    void run(int num_leaves) {
        if (!evaluator_) raise({Error::Kind::illegal, "this search has no evaluator of the core"});
        game_.run_unlocked([&] { search_->run(*evaluator_, num_leaves); });
    }

    NumpyArray<uint8_t, 2> gather() {
        if (!slots_out_.empty())
            raise({Error::Kind::illegal, "the last leaves were not answered by absorb yet"});
        const size_t num_bytes = game_.core->facts().observation_bytes;
        std::vector<uint8_t> rows_BN(num_bytes);
        for (;;) {
            const int slot = search_->gather(&rows_BN[slots_out_.size() * num_bytes]);
            if (slot < 0) break;
            slots_out_.push_back(slot);
            rows_BN.resize((slots_out_.size() + 1) * num_bytes);
        }
        return to_numpy<2>(std::move(rows_BN), {slots_out_.size(), num_bytes});
    }

    void absorb(Rows policy_logits_BA, Rows outcomes_observer_BO) {
        require_shape("policy_logits", policy_logits_BA, game_.core->facts().num_actions);
        require_shape("outcomes", outcomes_observer_BO, game_.core->facts().outcomes.size());
        for (size_t row = 0; row < slots_out_.size(); ++row) {
            const Evaluation evaluation{&policy_logits_BA(row, 0), &outcomes_observer_BO(row, 0)};
            if (!search_->absorb(slots_out_[row], evaluation))
                raise({Error::Kind::bad_text,
                       "evaluator: row " + std::to_string(row) +
                           " has a number that is not finite, among the outcomes or the "
                           "policy_logits of legal actions"});
        }
        slots_out_.clear();
    }

    RootResult result() { return search_->result(); }

  private:
    void require_shape(const std::string& name, const Rows& rows, size_t num_columns) const {
        if (rows.shape(0) == slots_out_.size() && rows.shape(1) == num_columns) return;
        raise({Error::Kind::bad_text,
               "evaluator: " + name + " must have the shape [" + std::to_string(slots_out_.size()) +
                   ", " + std::to_string(num_columns) + "], got [" + std::to_string(rows.shape(0)) +
                   ", " + std::to_string(rows.shape(1)) + "]"});
    }

    PyGame game_;
    std::unique_ptr<AnySearch> search_;
    std::optional<CoreEvaluator> evaluator_;
    std::vector<int> slots_out_;  // of the batch that was handed out
};

}  // namespace

void bind_search(nb::module_& m) {
    nb::class_<RootResult>(m, "RootResult",
                           "What a search has found; lists are in the order of `actions`.")
        .def_ro("actions", &RootResult::actions,
                "The legal ones; chance outcomes at a chance root.")
        .def_ro("visits", &RootResult::visits)
        .def_ro("values_to_move", &RootResult::values_to_move,
                "Expected rewards; 0 where not visited.")
        .def_ro("priors", &RootResult::priors)
        .def_ro("policy", &RootResult::policy)
        .def_ro("outcomes_to_move", &RootResult::outcomes_to_move)
        .def_ro("principal_variation", &RootResult::principal_variation)
        .def_ro("best_action", &RootResult::best_action)
        .def_ro("value_to_move", &RootResult::value_to_move)
        .def_ro("num_simulations", &RootResult::num_simulations)
        .def_ro("depth", &RootResult::depth)
        .def_ro("num_bytes", &RootResult::num_bytes)
        .def_ro("solved", &RootResult::solved)
        .def_ro("memory_full", &RootResult::memory_full);

    nb::class_<PySearch>(m, "Search", "One search; zerofleet.search.analyse runs it.")
        .def(nb::init<const PyPosition&, Settings, uint64_t, const std::optional<std::string>&>(),
             "position"_a, "settings"_a, "seed"_a, "evaluator"_a.none(),
             "evaluator is one of the core by name, or None where `gather` and `absorb` are used.")
        .def_prop_ro("finished", &PySearch::finished)
        .def("run", &PySearch::run, "num_leaves"_a, "Goes on for at most so many leaves.")
        .def("gather", &PySearch::gather,
             "The observations of the leaves to be evaluated next; there may be none this time.")
        .def("absorb", &PySearch::absorb, "policy_logits"_a.noconvert(), "outcomes"_a.noconvert(),
             "Takes in the answers for the leaves that `gather` gave.")
        .def("result", &PySearch::result);

    m.def("search_settings", [] { return setting_names(search_settings()); });
}

}  // namespace zf
