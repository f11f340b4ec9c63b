// Decides move after move, a leaf at a time: by tree search, or by afterstate evaluation of whole
// turns. Only this file knows which of the two it is.
#pragma once

#include <memory>
#include <variant>

#include "base/random.h"
#include "search/afterstate_search.h"
#include "search/search.h"
#include "selfplay/options.h"

namespace zf {

// What the games of one group share. One thread at a time, except for the cache.
struct GroupMemory {
    GroupMemory(std::shared_ptr<EvaluationCache> shared, uint64_t first_version)
        : cache(std::move(shared)), version(first_version) {}
    std::shared_ptr<EvaluationCache> cache;  // shared with other groups; may be null
    uint64_t version;                        // of the weights that evaluate
    // The same of the opponent's, told apart from all of them: the cache serves both.
    uint64_t opponent_version = kOfOpponent;
    Tree scratch;
    static constexpr uint64_t kOfOpponent = uint64_t(1) << 63;
};

// Tree search with playout-cap randomisation (KataGo): full or fast. May reuse the last tree.
template <Game P>
class TreeDecider {
  public:
    TreeDecider(const Facts& facts, const SelfPlayOptions& options)
        : options_(options), search_(facts), version_(options.version) {}

    void begin_game() {
        played_.clear();
        has_tree_ = false;
    }

    void begin(const P& position, GroupMemory& memory, uint64_t version, Rng& rng) {
        version_ = version;
        full_ = options_.full_search_probability >= 1 ||
                rng.uniform() < options_.full_search_probability;
        SearchOptions search = options_.search;
        if (!full_) {
            search = without_exploration(search);
            search.num_simulations = options_.fast_simulations;
        }
        const uint64_t seed = rng.next();
        EvaluationCache* cache = memory.cache.get();
        if (has_tree_ && options_.reuse_tree) {
            search_.begin_after(played_, memory.scratch, position, search, seed, version_, cache);
        } else {
            search_.begin(position, search, seed, version_, cache);
        }
        played_.clear();
        has_tree_ = true;
    }

    bool gather(uint8_t* observation) {
        slot_ = search_.gather(observation);
        return slot_ >= 0;
    }
    bool absorb(const Evaluation& evaluation) { return search_.absorb(slot_, evaluation); }
    bool finished() const { return search_.finished(); }
    RootResult result() { return search_.result(); }
    void played(Action id, bool) { played_.push_back(id); }

    const P& leaf_position() const { return search_.leaf_position(slot_); }
    int leaf_observer() const { return search_.leaf_observer(slot_); }
    std::span<const Action> leaf_actions() const { return search_.leaf_actions(slot_); }
    uint64_t num_simulations() const { return search_.num_simulations(); }
    uint64_t version() const { return version_; }
    bool full() const { return full_; }
    bool takes_temperature() const { return options_.search.root != RootKind::gumbel; }

  private:
    SelfPlayOptions options_;
    Search<P> search_;
    std::vector<Action> played_;  // since the last search's root
    uint64_t version_;
    int slot_ = -1;
    bool full_ = true, has_tree_ = false;
};

// Afterstates of the turn, evaluated at its first decision, or before its roll for all rolls.
template <Game P>
class AfterstateDecider {
  public:
    AfterstateDecider(const Facts& facts, const SelfPlayOptions& options)
        : options_(options.search), afterstates_(facts), version_(options.version) {}

    void begin_game() { afterstates_.clear(); }

    void begin(const P& position, GroupMemory&, uint64_t version, Rng&) {
        if (afterstates_.begin(position, options_.max_bytes)) version_ = version;
    }

    bool gather(uint8_t* observation) { return afterstates_.gather(observation); }
    bool absorb(const Evaluation& evaluation) { return afterstates_.absorb(evaluation); }
    bool finished() const { return afterstates_.finished(); }

    // As sharp as a Gumbel root weighs values against logits after one visit each.
    RootResult result() {
        return afterstates_.result((options_.gumbel_c_visit + 1) * options_.gumbel_c_scale);
    }

    void played(Action, bool ends_turn) {
        if (ends_turn) afterstates_.clear();
    }

    const P& leaf_position() const { return afterstates_.leaf_position(); }
    int leaf_observer() const { return afterstates_.leaf_observer(); }
    std::span<const Action> leaf_actions() const { return afterstates_.leaf_actions(); }
    uint64_t num_simulations() const { return afterstates_.num_simulations(); }
    uint64_t version() const { return version_; }
    bool full() const { return true; }
    bool takes_temperature() const { return true; }

  private:
    SearchOptions options_;
    AfterstateSearch<P> afterstates_;
    uint64_t version_;
};

// The one that the options ask for.
template <Game P>
class Decider {
  public:
    // `facts` must outlive the decider.
    Decider(const Facts& facts, const SelfPlayOptions& options)
        : either_(options.afterstates ? Either(AfterstateDecider<P>(facts, options))
                                      : Either(TreeDecider<P>(facts, options))) {}

    // Drops everything of the last game.
    void begin_game() {
        visit([](auto& decider) { decider.begin_game(); });
    }

    // Starts on a position in which a player has a choice of actions; with afterstates also before
    // a roll, to look a turn ahead. `version` is that of the weights that evaluate.
    void begin(const P& position, GroupMemory& memory, uint64_t version, Rng& rng) {
        visit([&](auto& decider) { decider.begin(position, memory, version, rng); });
    }

    // Writes the observation of a leaf that needs an evaluation; false if none does now.
    bool gather(uint8_t* observation) {
        return visit([&](auto& decider) { return decider.gather(observation); });
    }

    // Takes the evaluation of that leaf. False if a number in it is not finite.
    bool absorb(const Evaluation& evaluation) {
        return visit([&](auto& decider) { return decider.absorb(evaluation); });
    }

    bool finished() const {
        return visit([](const auto& decider) { return decider.finished(); });
    }

    // Precondition: finished.
    RootResult result() {
        return visit([](auto& decider) { return decider.result(); });
    }

    // An action or chance outcome of the game was played; `ends_turn` if it was the last action of
    // a player's turn.
    void played(Action id, bool ends_turn) {
        visit([&](auto& decider) { decider.played(id, ends_turn); });
    }

    // That leaf, for evaluators that read the position itself.
    const P& leaf_position() const {
        return visit([](const auto& decider) -> const P& { return decider.leaf_position(); });
    }
    int leaf_observer() const {
        return visit([](const auto& decider) { return decider.leaf_observer(); });
    }
    // The actions whose logits `absorb` reads.
    std::span<const Action> leaf_actions() const {
        return visit([](const auto& decider) { return decider.leaf_actions(); });
    }

    // Of the current decision.
    uint64_t num_simulations() const {
        return visit([](const auto& decider) { return decider.num_simulations(); });
    }
    // Of the weights at the start of the decision (or, for afterstates, of the turn).
    uint64_t version() const {
        return visit([](const auto& decider) { return decider.version(); });
    }
    // Whether its policy is a training target.
    bool full() const {
        return visit([](const auto& decider) { return decider.full(); });
    }
    // Whether to sample the action by temperature; a Gumbel root has sampled its own.
    bool takes_temperature() const {
        return visit([](const auto& decider) { return decider.takes_temperature(); });
    }

  private:
    using Either = std::variant<TreeDecider<P>, AfterstateDecider<P>>;

    template <class Do>
    decltype(auto) visit(Do act) {
        return std::visit(act, either_);
    }
    template <class Do>
    decltype(auto) visit(Do act) const {
        return std::visit(act, either_);
    }

    Either either_;
};

}  // namespace zf
