// Games that are searched together: their leaves form one batch. A player plays one game after
// another against itself, a leaf at a time; a group has many players. Where an opponent plays one
// seat, a batch holds leaves of one network's searches, and the two take turns.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "search/evaluators.h"
#include "selfplay/played_game.h"

namespace zf {

// ---- one player

template <Game P>
class SelfPlayer {
  public:
    // The games of this player are numbered first_sequence, first_sequence + step, …, below
    // end_sequence.
    SelfPlayer(const typename P::Options& game_options, const OptionValues& option_values,
               const Facts& facts, const SelfPlayOptions& options, uint64_t first_sequence,
               uint64_t step, uint64_t end_sequence)
        : game_(game_options, option_values, facts, options),
          sequence_(first_sequence),
          step_(step),
          end_sequence_(end_sequence) {
        if (options.opponent) opponent_share_ = options.opponent_share;
        opponent_seed_ = derive_seed(derive_seed(options.seed, options.worker), kSeatsOfOpponent);
        if (!finished()) start();
    }

    // Plays until a leaf needs an evaluation; writes its observation. False if this call's share of
    // work is done without one (call again), or there are no more games. Calls `finish` with each
    // finished game.
    template <class Finish>
    bool gather(uint8_t* observation, GroupMemory& memory, Finish finish) {
        for (int turn = 0; turn < 8 && !finished(); ++turn) {
            if (!deciding_) {
                if (!go_to_search(memory, finish)) continue;
                deciding_ = true;
            }
            if (game_.decider().gather(observation)) return true;
            if (game_.decider().finished()) decide();
        }
        return false;
    }

    // Takes the evaluation of that leaf. False if a number in it is not finite.
    bool absorb(const Evaluation& evaluation) { return game_.decider().absorb(evaluation); }

    // Whether all its games are over.
    bool finished() const { return sequence_ >= end_sequence_; }

    const P& position() const { return game_.position(); }
    // Whether its leaf is of the opponent's search.
    bool leaf_of_opponent() const { return game_.opponent_decides(); }
    const P& leaf_position() const { return game_.decider().leaf_position(); }
    int leaf_observer() const { return game_.decider().leaf_observer(); }
    std::span<const Action> leaf_actions() const { return game_.decider().leaf_actions(); }
    uint64_t num_simulations() const {
        return num_simulations_ + (deciding_ ? game_.decider().num_simulations() : 0);
    }
    uint64_t num_decisions() const { return num_decisions_; }
    uint64_t tree_bytes() const { return tree_bytes_; }

  private:
    // Plays what needs no search. False if the game ended instead; the next one is then started.
    template <class Finish>
    bool go_to_search(GroupMemory& memory, Finish finish) {
        while (!game_.over()) {
            game_.plan(memory);
            if (game_.searches()) return true;
            game_.play(game_.planned());
        }
        finish(encode(game_.episode()));
        sequence_ += step_;
        if (!finished()) start();
        return false;
    }

    // With an opponent in its share of the games. Its seat alternates from game to game, and
    // between players, so that however long games take both seats are as frequent.
    void start() {
        const bool meets = opponent_share_ > 0 &&
                           Rng(derive_seed(opponent_seed_, sequence_)).uniform() < opponent_share_;
        game_.start(sequence_, meets ? int((sequence_ % step_ + sequence_ / step_) & 1) : -1);
    }

    // Plays by the result of the search: the decision, or the roll that it looked beyond.
    void decide() {
        const RootResult result = game_.decider().result();
        Event event = game_.searched(result);
        num_decisions_ += event.kind != SearchKind::chance;
        num_simulations_ += result.num_simulations;
        tree_bytes_ = std::max(tree_bytes_, result.num_bytes);
        deciding_ = false;
        game_.play(std::move(event));
    }

    static constexpr uint64_t kSeatsOfOpponent = 0x73656174;  // a seed of its own

    PlayedGame<P> game_;
    uint64_t opponent_seed_ = 0;
    float opponent_share_ = 0;
    uint64_t sequence_, step_, end_sequence_;
    uint64_t num_simulations_ = 0, num_decisions_ = 0, tree_bytes_ = 0;
    bool deciding_ = false;
};

// ---- a group of them

struct SelfPlayCounts {
    uint64_t num_simulations = 0, num_decisions = 0, num_leaves = 0, num_episodes = 0;
    uint64_t largest_tree_bytes = 0;
};

// The evaluation cache that all groups of a driver share; null if the options turn it off.
inline std::shared_ptr<EvaluationCache> make_cache(const SelfPlayOptions& options) {
    if (options.cache_bytes == 0) return nullptr;
    return std::make_shared<EvaluationCache>(options.cache_bytes);
}

// The size of a row of bits, one per action.
inline size_t mask_bytes(int num_actions) { return (size_t(num_actions) + 7) / 8; }

// A group of any game: what the driver and other languages hold.
class AnyGroup {
  public:
    virtual ~AnyGroup() = default;

    // Advances every game to its next leaf; then there are num_rows() observations to evaluate.
    // There may be none, if no game reached a leaf within its share of work.
    virtual void gather() = 0;
    virtual uint32_t num_rows() const = 0;
    virtual const uint8_t* observations() const = 0;
    // Whether the opponent's network is to evaluate them.
    virtual bool for_opponent() const = 0;
    // Which logits of each row will be read, as bits: bit a % 8 of byte a / 8 for action a. Writes
    // num_rows() rows of mask_bytes(num_actions).
    virtual void write_action_masks(uint8_t* masks) const = 0;
    // Takes the evaluations: rows of num_actions logits and of num_outcomes probabilities, in the
    // order of the observations; then gathers. Returns the first row with a number that is not
    // finite, or -1.
    virtual int64_t play_on(const float* policy_logits, const float* outcomes_observer,
                            uint64_t version) = 0;
    // Gathers, and evaluates by an evaluator of the core.
    virtual void step(CoreEvaluator& evaluator) = 0;
    // Episodes finished since the last call, encoded.
    virtual std::vector<std::vector<uint8_t>> take_episodes() = 0;
    virtual SelfPlayCounts counts() const = 0;
    // Whether all its games are over; never, unless the options say how many there are.
    virtual bool finished() const = 0;
    // The position of its first game, as text, for people who watch.
    virtual std::string watched_position() const = 0;
};

template <Game P>
class Group final : public AnyGroup {
  public:
    // Games of group g of G with N games each are numbered g * N + i, in steps of G * N, counted
    // from options.first_sequence. The cache may be null, or shared with groups of the same game
    // and weights.
    Group(const typename P::Options& game_options, const OptionValues& option_values,
          const Facts& facts, const SelfPlayOptions& options,
          std::shared_ptr<EvaluationCache> cache, uint32_t number, uint32_t num_groups,
          uint32_t num_games)
        : facts_(&facts), memory_(std::move(cache), options.version) {
        batches_[0].observations.resize(uint64_t(num_games) * facts.observation_bytes);
        if (options.opponent) {
            batches_[1].observations.resize(uint64_t(num_games) * facts.observation_bytes);
            memory_.opponent_version |= options.opponent->version;
        }
        waiting_.resize(num_games);
        const uint64_t first = options.first_sequence;
        const uint64_t end = options.num_games > 0 ? first + options.num_games : UINT64_MAX;
        for (uint32_t i = 0; i < num_games; ++i)
            players_.emplace_back(game_options, option_values, facts, options,
                                  first + uint64_t(number) * num_games + i,
                                  uint64_t(num_groups) * num_games, end);
    }

    void gather() override {
        for (uint32_t i = 0; i < players_.size(); ++i)
            if (!waiting_[i].in) gather_from(i);
        take_turns();
    }

    // Each game absorbs and gathers at once, so that its tree is loaded into the CPU cache once.
    int64_t play_on(const float* policy_logits, const float* outcomes_observer,
                    uint64_t version) override {
        if (batch_ == &batches_[1]) {
            memory_.opponent_version = GroupMemory::kOfOpponent | version;
        } else {
            memory_.version = version;
        }
        const Batch* answered = batch_;
        batch_->players.clear();
        for (uint32_t i = 0; i < players_.size(); ++i) {
            if (waiting_[i].in == answered) {
                const uint32_t r = waiting_[i].row;
                const Evaluation evaluation{policy_logits + r * facts_->num_actions,
                                            outcomes_observer + r * facts_->outcomes.size()};
                if (!players_[i].absorb(evaluation)) return int64_t(r);
                waiting_[i].in = nullptr;
            }
            if (!waiting_[i].in) gather_from(i);
        }
        take_turns();
        return -1;
    }

    void step(CoreEvaluator& evaluator) override {
        gather();
        for (Batch& batch : batches_) {
            for (size_t r = 0; r < batch.players.size(); ++r) {
                SelfPlayer<P>& player = players_[batch.players[r]];
                player.absorb(
                    evaluator.evaluate(player.leaf_position(), player.leaf_observer(),
                                       {row(batch, r), size_t(facts_->observation_bytes)}));
                waiting_[batch.players[r]].in = nullptr;
            }
            batch.players.clear();
        }
    }

    uint32_t num_rows() const override { return uint32_t(batch_->players.size()); }
    const uint8_t* observations() const override { return batch_->observations.data(); }
    bool for_opponent() const override { return batch_ == &batches_[1]; }
    void write_action_masks(uint8_t* masks) const override {
        const size_t row_bytes = mask_bytes(facts_->num_actions);
        const std::vector<uint32_t>& rows = batch_->players;
        std::fill_n(masks, rows.size() * row_bytes, uint8_t(0));
        for (size_t r = 0; r < rows.size(); ++r)
            for (const Action action : players_[rows[r]].leaf_actions())
                masks[r * row_bytes + action / 8] |= uint8_t(1u << action % 8);
    }
    std::vector<std::vector<uint8_t>> take_episodes() override {
        num_episodes_ += episodes_.size();
        return std::exchange(episodes_, {});
    }
    SelfPlayCounts counts() const override {
        SelfPlayCounts counts;
        counts.num_leaves = num_leaves_;
        counts.num_episodes = num_episodes_;
        for (const SelfPlayer<P>& player : players_) {
            counts.num_simulations += player.num_simulations();
            counts.num_decisions += player.num_decisions();
            counts.largest_tree_bytes = std::max(counts.largest_tree_bytes, player.tree_bytes());
        }
        return counts;
    }
    bool finished() const override {
        return std::all_of(players_.begin(), players_.end(),
                           [](const SelfPlayer<P>& player) { return player.finished(); });
    }
    std::string watched_position() const override { return players_[0].position().to_text(); }

  private:
    // Leaves for one network.
    struct Batch {
        std::vector<uint8_t> observations;
        std::vector<uint32_t> players;  // which each row belongs to
    };
    // Where the leaf of a player waits for its evaluation.
    struct Waiting {
        const Batch* in = nullptr;
        uint32_t row = 0;
    };

    void gather_from(uint32_t player) {
        const auto finish = [this](std::vector<uint8_t> bytes) {
            episodes_.push_back(std::move(bytes));
        };
        // Whose leaf it is, is known after it is written.
        uint8_t* const written = row(batches_[0], batches_[0].players.size());
        if (!players_[player].gather(written, memory_, finish)) return;
        Batch& batch = batches_[players_[player].leaf_of_opponent()];
        const uint32_t number = uint32_t(batch.players.size());
        if (&batch != &batches_[0])
            std::copy_n(written, facts_->observation_bytes, row(batch, number));
        batch.players.push_back(player);
        waiting_[player] = {&batch, number};
        ++num_leaves_;
    }

    // The other network's batch is next, if it has leaves.
    void take_turns() {
        Batch& other = batches_[batch_ == &batches_[0]];
        if (!other.players.empty()) batch_ = &other;
    }

    uint8_t* row(Batch& batch, size_t number) {
        return batch.observations.data() + number * facts_->observation_bytes;
    }

    const Facts* facts_;
    GroupMemory memory_;
    std::vector<SelfPlayer<P>> players_;
    std::array<Batch, 2> batches_;  // of the network's own leaves, and of the opponent's
    Batch* batch_ = &batches_[0];   // the next to evaluate
    std::vector<Waiting> waiting_;  // by player
    std::vector<std::vector<uint8_t>> episodes_;
    uint64_t num_leaves_ = 0, num_episodes_ = 0;
};

}  // namespace zf
