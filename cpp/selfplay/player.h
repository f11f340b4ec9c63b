// Plays one game after another against itself, a leaf at a time.
#pragma once

#include <functional>
#include <memory>

#include "base/random.h"
#include "record/episode.h"
#include "search/search.h"
#include "search/turn_search.h"
#include "selfplay/options.h"

namespace zf {

// What the games of one group share. Used by one thread at a time, but for the cache.
struct GroupMemory {
    explicit GroupMemory(std::shared_ptr<EvaluationCache> shared) : cache(std::move(shared)) {}
    std::shared_ptr<EvaluationCache> cache;  // with other groups too; null remembers nothing
    Tree scratch;
    uint64_t version = 0;  // of the weights that answer
};

template <Game P>
class SelfPlayer {
  public:
    // The games of this player are numbered first_sequence, first_sequence + step, …; each depends
    // on the options' seed and its number alone (and on the evaluations).
    SelfPlayer(const typename P::Options& game_options, const OptionValues& option_values,
               const Facts& facts, const SelfPlayOptions& options, uint64_t first_sequence,
               uint64_t step)
        : game_options_(game_options),
          option_values_(option_values),
          facts_(&facts),
          options_(options),
          search_(facts),
          turns_(facts),
          rng_(0),
          position_(P::start(game_options, rng_)),
          sequence_(first_sequence),
          step_(step) {
        start_game();
    }

    // Plays on until a leaf needs an evaluation; writes its observation. False if this call's share
    // of work was done without one (call again). Finished games are given to `finished`.
    template <class Finished>
    bool gather(uint8_t* observation, GroupMemory& memory, Finished finished) {
        for (int turn = 0; turn < 8; ++turn) {
            if (!searching_) {
                if (!go_to_decision(finished)) continue;
                begin_search(memory);
            }
            if (options_.whole_turns ? turns_.gather(observation) : search_gathers(observation))
                return true;
            if (options_.whole_turns || search_.finished()) decide();
        }
        return false;
    }

    // The evaluation of the leaf that gather gave. False where a number in it is not finite.
    bool absorb(const Evaluation& evaluation) {
        return options_.whole_turns ? turns_.absorb(evaluation) : search_.absorb(slot_, evaluation);
    }

    const P& leaf_position() const {
        return options_.whole_turns ? turns_.leaf_position() : search_.leaf_position(slot_);
    }
    int leaf_observer() const {
        return options_.whole_turns ? turns_.leaf_observer() : search_.leaf_observer(slot_);
    }
    uint64_t num_simulations() const {
        if (!searching_) return num_simulations_;
        return num_simulations_ +
               (options_.whole_turns ? turns_.num_simulations() : search_.num_simulations());
    }
    uint64_t num_decisions() const { return num_decisions_; }
    uint64_t tree_bytes() const { return tree_bytes_; }

  private:
    void start_game() {
        rng_ = Rng(derive_seed(derive_seed(options_.seed, options_.worker), sequence_));
        position_ = P::start(game_options_, rng_);
        episode_ = Episode{};
        episode_.game = facts_->name;
        episode_.options = option_values_;
        episode_.worker = options_.worker;
        episode_.sequence = sequence_;
        episode_.start = position_.write_start();
        played_.clear();
        has_tree_ = false;
        decisions_in_game_ = 0;
    }

    // Rolls dice and plays what is forced up to a decision. False if the game ended instead; the
    // next one has then been started.
    template <class Finished>
    bool go_to_decision(Finished finished) {
        for (;;) {
            const bool over = position_.to_move() == kOver;
            if (over || int64_t(episode_.events.size()) >= facts_->max_plies) {
                episode_.outcome_first_player = over ? position_.outcome(0) : -1;
                finished(encode(episode_));
                sequence_ += step_;
                start_game();
                return false;
            }
            Event event;
            if (position_.to_move() == kChance) {
                event.kind = SearchKind::chance;
                event.id = position_.random_outcome(rng_);
            } else {
                legal_.resize(facts_->num_actions);
                legal_.resize(position_.legal_actions(legal_.data()));
                if (legal_.size() > 1) return true;
                event.id = legal_[0];
                event.version = version_;
            }
            play(std::move(event));
        }
    }

    void begin_search(GroupMemory& memory) {
        searching_ = true;
        if (options_.whole_turns) {
            if (turns_.begin(position_, options_.search.max_bytes)) version_ = memory.version;
            return;
        }
        version_ = memory.version;
        full_ = options_.full_search_share >= 1 || rng_.uniform() < options_.full_search_share;
        SearchOptions search = options_.search;
        if (!full_) {
            search.num_simulations = options_.cheap_simulations;
            search.dirichlet_epsilon = 0;
            search.forced_playouts = 0;
            search.gumbel_scale = 0;
        }
        const uint64_t seed = rng_.next();
        EvaluationCache* cache = memory.cache.get();
        if (has_tree_ && options_.reuse_tree) {
            search_.begin_after(played_, memory.scratch, position_, search, seed, version_, cache);
        } else {
            search_.begin(position_, search, seed, version_, cache);
        }
        played_.clear();
        has_tree_ = true;
    }

    void decide() {
        const RootResult result =
            options_.whole_turns ? turns_.result(turn_sharpness()) : search_.result();
        Event event;
        event.kind = full_ ? SearchKind::full : SearchKind::cheap;
        event.version = version_;
        event.num_simulations = result.num_simulations;
        event.outcomes_to_move = quantise_outcomes(result.outcomes_to_move);
        if (full_) {
            event.surprise = quantise(result.surprise, kSurpriseUnit);
            event.policy = quantise_policy(result.actions, result.target);
        }
        event.id = choose(result);
        num_simulations_ += result.num_simulations;
        tree_bytes_ = std::max(tree_bytes_, result.num_bytes);
        ++num_decisions_;
        ++decisions_in_game_;
        searching_ = false;
        play(std::move(event));
    }

    bool search_gathers(uint8_t* observation) {
        slot_ = search_.gather(observation);
        return slot_ >= 0;
    }

    // As a Gumbel search weighs values against logits after one visit each.
    float turn_sharpness() const {
        return (options_.search.gumbel_c_visit + 1) * options_.search.gumbel_c_scale;
    }

    Action choose(const RootResult& result) {
        const bool early = decisions_in_game_ < options_.temperature_drop_move;
        const float temperature = early ? options_.temperature : options_.final_temperature;
        const bool draws = options_.whole_turns || options_.search.root != RootKind::gumbel;
        if (!draws || temperature <= 0 || result.solved) return result.best_action;
        double sum = 0;
        std::vector<double> weights;
        for (const float share : result.target) {
            weights.push_back(share > 0 ? exact_exp(exact_log(share) / temperature) : 0);
            sum += weights.back();
        }
        double drawn = rng_.uniform() * sum;
        for (size_t i = 0; i < weights.size(); ++i) {
            drawn -= weights[i];
            if (drawn < 0) return result.actions[i];
        }
        return result.best_action;
    }

    void play(Event event) {
        const Mover mover = position_.to_move();
        position_.play(event.id);
        if (position_.to_move() != mover) turns_.forget();
        played_.push_back(event.id);
        episode_.events.push_back(std::move(event));
    }

    typename P::Options game_options_;
    OptionValues option_values_;
    const Facts* facts_;
    SelfPlayOptions options_;
    Search<P> search_;
    TurnSearch<P> turns_;
    Rng rng_;
    P position_;
    Episode episode_;
    std::vector<Action> played_, legal_;  // since the last search's root; scratch
    uint64_t sequence_, step_, version_ = 0;
    uint64_t num_simulations_ = 0, num_decisions_ = 0, tree_bytes_ = 0;
    uint32_t decisions_in_game_ = 0;
    int slot_ = -1;
    bool searching_ = false, full_ = true, has_tree_ = false;
};

}  // namespace zf
