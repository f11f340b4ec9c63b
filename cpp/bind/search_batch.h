// Searches of one game with the same settings, and decisions of an episode searched again: what
// Python and WebAssembly hold of a search.
#pragma once

#include <algorithm>
#include <optional>

#include "bind/any_game.h"
#include "bind/selfplay.h"
#include "bind/settings.h"

namespace zf {

// Leaves of several searches, evaluated together; the result of each is independent of the others.
// Shapes: B leaves in a batch, N bytes of an observation, A actions, O outcomes.
class LeafBatches {
  public:
    const Facts& facts() const { return *facts_; }
    bool finished() const {
        return std::all_of(sources_.begin(), sources_.end(),
                           [](const AnyLeaves* source) { return source->finished(); });
    }
    bool evaluates_itself() const { return kind_.has_value(); }
    size_t num_in_flight() const { return leaves_in_flight_.size(); }

    // At most so many leaves of each search. Precondition: evaluates_itself.
    void run(int num_leaves) {
        for (size_t i = 0; i < sources_.size(); ++i) sources_[i]->run(evaluators_[i], num_leaves);
    }

    // The observations of the next leaves: [B, N]. Precondition: none in flight.
    std::vector<uint8_t> gather() {
        const size_t num_bytes = facts_->observation_bytes;
        std::vector<uint8_t> rows_BN;
        for (AnyLeaves* source : sources_) gather_from(*source, rows_BN, num_bytes);
        rows_BN.resize(leaves_in_flight_.size() * num_bytes);
        return rows_BN;
    }

    // Takes the evaluations of those leaves: [B, A] and [B, O]. Where a number is not finite, its
    // row and those after it stay in flight.
    Result<void> absorb(const float* policy_logits_BA, const float* outcomes_observer_BO) {
        size_t row = 0;
        for (; row < leaves_in_flight_.size(); ++row) {
            const auto& [source, slot] = leaves_in_flight_[row];
            const Evaluation answer{policy_logits_BA + row * facts_->num_actions,
                                    outcomes_observer_BO + row * facts_->outcomes.size()};
            if (!source->absorb(slot, answer)) break;
        }
        const bool all = row == leaves_in_flight_.size();
        leaves_in_flight_.erase(leaves_in_flight_.begin(), leaves_in_flight_.begin() + row);
        if (all) return {};
        return Error{Error::Kind::bad_text,
                     "evaluator: row " + std::to_string(row) +
                         " has a number that is not finite, among the outcomes or the "
                         "policy_logits of legal actions"};
    }

  protected:
    // With an evaluator of the core, `run` searches; else callers evaluate what they gather.
    LeafBatches(std::shared_ptr<const Facts> facts, std::optional<EvaluatorKind> evaluator)
        : facts_(std::move(facts)), kind_(evaluator) {}
    ~LeafBatches() = default;

    // The source must live as long as this. `seed` is for an evaluator of the core.
    void add_source(AnyLeaves& source, uint64_t seed) {
        sources_.push_back(&source);
        if (kind_) evaluators_.emplace_back(*kind_, *facts_, seed);
    }

  private:
    // Adds the next leaves; keeps room for one row more than there are leaves.
    void gather_from(AnyLeaves& source, std::vector<uint8_t>& rows_BN, size_t num_bytes) {
        for (;;) {
            rows_BN.resize((leaves_in_flight_.size() + 1) * num_bytes);
            const int slot = source.gather(&rows_BN[leaves_in_flight_.size() * num_bytes]);
            if (slot < 0) return;
            leaves_in_flight_.emplace_back(&source, slot);
        }
    }

    std::shared_ptr<const Facts> facts_;
    std::optional<EvaluatorKind> kind_;
    std::vector<AnyLeaves*> sources_;
    std::vector<CoreEvaluator> evaluators_;                     // one for each search, or none
    std::vector<std::pair<AnyLeaves*, int>> leaves_in_flight_;  // of the last gather
};

class SearchBatch final : public LeafBatches {
  public:
    // `game` must outlive the calls of `add`.
    SearchBatch(const AnyGame& game, const SearchOptions& options,
                std::optional<EvaluatorKind> evaluator)
        : LeafBatches(game.shared_facts(), evaluator), game_(&game), options_(options) {}

    // Begins a search; an error where the game is over. The root must be of the same game.
    Result<void> add(const AnyPosition& root, uint64_t seed) {
        auto search = game_->make_search();
        if (const Result<void> begun = search->begin(root, options_, seed); !begun) return begun;
        add_source(*search, seed);
        searches_.push_back(std::move(search));
        return {};
    }

    void stop(bool only_solved) {
        for (const auto& search : searches_)
            if (!only_solved || search->solved()) search->stop();
    }

    std::vector<RootResult> results() {
        std::vector<RootResult> results;
        for (const auto& search : searches_) results.push_back(search->result());
        return results;
    }

  private:
    const AnyGame* game_;
    SearchOptions options_;
    std::vector<std::unique_ptr<AnySearch>> searches_;
};

// Events of one episode of self-play with these options, searched again.
class RecheckBatch final : public LeafBatches {
  public:
    RecheckBatch(const AnyGame& game, std::optional<EvaluatorKind> evaluator)
        : LeafBatches(game.shared_facts(), evaluator), game_(&game) {}

    // An error where the episode cannot be of these options, whatever the searches found.
    // Precondition: called once, first.
    Result<void> begin(Episode episode, const SelfPlayOptions& options,
                       std::span<const uint32_t> events) {
        if (const auto derived = game_->check_derived(episode, options); !derived) return derived;
        episode_ = std::move(episode);
        for (const uint32_t number : events) {
            auto recheck = game_->make_recheck(options);
            if (!recheck) return recheck.error();
            if (const auto begun = (*recheck)->begin(episode_, number); !begun) return begun;
            add_source(**recheck, options.seed);
            rechecks_.emplace_back(number, std::move(*recheck));
        }
        return {};
    }

    // The episode with those events as the searches give them: the same bytes if all agree.
    // Precondition: finished, and not called before.
    std::vector<uint8_t> episode() {
        for (const auto& [number, recheck] : rechecks_) episode_.events[number] = recheck->event();
        return encode(episode_);
    }

  private:
    const AnyGame* game_;
    Episode episode_;
    std::vector<std::pair<uint32_t, std::unique_ptr<AnyRecheck>>> rechecks_;
};

// All searches of episodes done again with other weights (MuZero Reanalyze): each episode keeps its
// actions and chance outcomes, and its targets become those of the new searches.
class ReanalysisBatch final : public LeafBatches {
  public:
    ReanalysisBatch(const AnyGame& game, std::optional<EvaluatorKind> evaluator)
        : LeafBatches(game.shared_facts(), evaluator), game_(&game) {}

    // An error where the rules do not allow an episode. Precondition: called once, first.
    Result<void> begin(std::vector<Episode> episodes, const SelfPlayOptions& options) {
        episodes_ = std::move(episodes);
        for (size_t e = 0; e < episodes_.size(); ++e) {
            const Episode& episode = episodes_[e];
            if (const auto allowed = game_->verify(episode); !allowed) return allowed;
            SelfPlayOptions its_own = options;
            its_own.worker = episode.worker;
            its_own.reuse_tree = false;  // every search stands alone
            for (size_t at = 0; at < episode.events.size(); ++at) {
                if (episode.events[at].outcomes_to_move.empty()) continue;
                auto again = game_->make_recheck(its_own);
                if (!again) return again.error();
                if (const auto begun = (*again)->begin(episode, at); !begun) return begun;
                add_source(**again, options.seed);
                searches_.push_back({e, at, std::move(*again)});
            }
        }
        return {};
    }

    // Precondition: finished, and not called before.
    std::vector<std::vector<uint8_t>> episodes() {
        for (const Search& each : searches_) {
            Event& event = episodes_[each.episode].events[each.event];
            const Action played = event.id;
            event = each.again->event();
            event.id = played;
        }
        std::vector<std::vector<uint8_t>> encoded;
        for (const Episode& episode : episodes_) encoded.push_back(encode(episode));
        return encoded;
    }

  private:
    struct Search {
        size_t episode, event;
        std::unique_ptr<AnyRecheck> again;
    };

    const AnyGame* game_;
    std::vector<Episode> episodes_;
    std::vector<Search> searches_;
};

}  // namespace zf
