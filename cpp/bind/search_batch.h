// Searches of one game with the same settings: what Python and WebAssembly hold of a search.
#pragma once

#include <algorithm>
#include <optional>

#include "bind/any_game.h"
#include "bind/settings.h"

namespace zf {

// The result of each search is independent of the others. Shapes: B leaves in a batch, N bytes of
// an observation, A actions, O outcomes.
class SearchBatch {
  public:
    // With an evaluator of the core, `run` searches; else callers evaluate what they gather.
    // `game` must outlive the calls of `add`.
    SearchBatch(const AnyGame& game, const SearchOptions& options,
                std::optional<EvaluatorKind> evaluator)
        : game_(&game), facts_(game.shared_facts()), options_(options), kind_(evaluator) {}

    // Begins a search; an error where the game is over. The root must be of the same game.
    Result<void> add(const AnyPosition& root, uint64_t seed) {
        auto search = game_->make_search();
        if (const Result<void> begun = search->begin(root, options_, seed); !begun) return begun;
        searches_.push_back(std::move(search));
        if (kind_) evaluators_.emplace_back(*kind_, *facts_, seed);
        return {};
    }

    const Facts& facts() const { return *facts_; }
    bool finished() const {
        return std::all_of(searches_.begin(), searches_.end(),
                           [](const auto& search) { return search->finished(); });
    }
    bool evaluates_itself() const { return kind_.has_value(); }
    size_t num_in_flight() const { return leaves_in_flight_.size(); }

    void stop(bool only_solved) {
        for (const auto& search : searches_)
            if (!only_solved || search->solved()) search->stop();
    }

    // At most so many leaves of each search. Precondition: evaluates_itself.
    void run(int num_leaves) {
        for (size_t i = 0; i < searches_.size(); ++i) searches_[i]->run(evaluators_[i], num_leaves);
    }

    // The observations of the next leaves: [B, N]. Precondition: none in flight.
    std::vector<uint8_t> gather() {
        const size_t num_bytes = facts_->observation_bytes;
        std::vector<uint8_t> rows_BN;
        for (const auto& search : searches_) gather_from(*search, rows_BN, num_bytes);
        rows_BN.resize(leaves_in_flight_.size() * num_bytes);
        return rows_BN;
    }

    // Takes the evaluations of those leaves: [B, A] and [B, O]. Where a number is not finite, its
    // row and those after it stay in flight.
    Result<void> absorb(const float* policy_logits_BA, const float* outcomes_observer_BO) {
        size_t row = 0;
        for (; row < leaves_in_flight_.size(); ++row) {
            const auto& [search, slot] = leaves_in_flight_[row];
            const Evaluation answer{policy_logits_BA + row * facts_->num_actions,
                                    outcomes_observer_BO + row * facts_->outcomes.size()};
            if (!search->absorb(slot, answer)) break;
        }
        const bool all = row == leaves_in_flight_.size();
        leaves_in_flight_.erase(leaves_in_flight_.begin(), leaves_in_flight_.begin() + row);
        if (all) return {};
        return Error{Error::Kind::bad_text,
                     "evaluator: row " + std::to_string(row) +
                         " has a number that is not finite, among the outcomes or the "
                         "policy_logits of legal actions"};
    }

    std::vector<RootResult> results() {
        std::vector<RootResult> results;
        for (const auto& search : searches_) results.push_back(search->result());
        return results;
    }

  private:
    // Adds the search's next leaves; keeps room for one row more than there are leaves.
    void gather_from(AnySearch& search, std::vector<uint8_t>& rows_BN, size_t num_bytes) {
        for (;;) {
            rows_BN.resize((leaves_in_flight_.size() + 1) * num_bytes);
            const int slot = search.gather(&rows_BN[leaves_in_flight_.size() * num_bytes]);
            if (slot < 0) return;
            leaves_in_flight_.emplace_back(&search, slot);
        }
    }

    const AnyGame* game_;
    std::shared_ptr<const Facts> facts_;
    SearchOptions options_;
    std::optional<EvaluatorKind> kind_;
    std::vector<std::unique_ptr<AnySearch>> searches_;
    std::vector<CoreEvaluator> evaluators_;                     // one for each search, or none
    std::vector<std::pair<AnySearch*, int>> leaves_in_flight_;  // of the last gather
};

}  // namespace zf
