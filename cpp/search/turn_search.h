// A decision by whole turns: every position in which the player to move can end its turn is
// evaluated once, and an action is worth the best end it leads to. For games in which nothing is
// hidden and a turn is several decisions, whose ends a tree search with few simulations hardly
// sees.
//
//     search.begin(position, max_bytes);
//     while (!search.finished())
//         if (search.gather(observation)) search.absorb(evaluate(observation));
//     RootResult result = search.result(sharpness);
//
// What was found holds for all decisions of the turn, until `forget`: they ask for nothing more. No
// position of a turn may come again within it.
#pragma once

#include "base/hash.h"
#include "games/game.h"
#include "search/evaluation.h"
#include "search/root.h"

namespace zf {

template <Game P>
class TurnSearch {
  public:
    // `facts` must outlive the search.
    explicit TurnSearch(const Facts& facts)
        : facts_(&facts), outcomes_(facts), observation_(facts.observation_bytes) {}

    // Starts on a position in which a player decides. False where it continues with what is known
    // of the turn. Where the turn has more positions than memory may be had for, those that are not
    // followed up are evaluated as they are.
    bool begin(const P& root, uint64_t max_bytes) {
        root_ = find(root);
        num_evaluated_ = 0;
        if (root_ != kNoIndex && nodes_[root_].num_ways > 0) return false;
        forget();
        player_ = root.to_move();
        root_ = add(root);
        expand_all(std::min<uint64_t>(max_bytes / sizeof(Node), kMaxTreeItems));
        return true;
    }

    // A new turn: nothing that was found is of use.
    void forget() {
        nodes_.clear();
        ways_.clear();
        to_evaluate_.clear();
        from_the_end_.clear();
        table_.assign(table_.size(), kNoIndex);
    }

    bool finished() const { return to_evaluate_.empty(); }
    uint32_t num_simulations() const { return num_evaluated_; }

    // Writes the observation of an end that is not evaluated yet; false where there is none.
    bool gather(uint8_t* observation) {
        if (finished()) return false;
        leaf_position().observe(leaf_observer(), observation);
        return true;
    }

    // The evaluation of what `gather` gave. False, and it is still to be evaluated, where a number
    // in it is not finite.
    bool absorb(const Evaluation& evaluation) {
        if (!all_finite(evaluation.outcomes_observer, outcomes_.count())) return false;
        Node& end = nodes_[to_evaluate_.back()];
        if (leaf_observer() == player_) {
            std::copy_n(evaluation.outcomes_observer, outcomes_.count(), end.outcomes_player);
        } else {
            outcomes_.turn_round(evaluation.outcomes_observer, end.outcomes_player);
        }
        end.value_player = outcomes_.mean(end.outcomes_player);
        to_evaluate_.pop_back();
        ++num_evaluated_;
        if (finished()) find_best_ends();
        return true;
    }

    // An end is observed by whoever acts next, since that is where values are learnt.
    const P& leaf_position() const { return nodes_[to_evaluate_.back()].position; }
    int leaf_observer() const { return observer_of(leaf_position()); }

    // Needs a search that is finished. The policy is a softmax of the actions' values, divided by
    // the largest reward, times `sharpness`; there are no priors to hold against it.
    RootResult result(float sharpness) const {
        RootResult result;
        const Node& root = nodes_[root_];
        const float largest = facts_->largest_reward();
        const Way* ways = &ways_[root.first_way];
        size_t best = 0;
        for (uint32_t i = 0; i < root.num_ways; ++i) {
            const float value = nodes_[ways[i].to].value_player;
            if (value > nodes_[ways[best].to].value_player) best = i;
            result.actions.push_back(ways[i].action);
            result.visits.push_back(1);
            result.values_to_move.push_back(largest * value);
            result.policy.push_back(sharpness * value);
        }
        result.priors.assign(root.num_ways, 1 / float(root.num_ways));
        softmax(result.policy.data(), int(root.num_ways));
        result.target = result.policy;
        result.best_action = ways[best].action;
        result.value_to_move = largest * root.value_player;
        result.outcomes_to_move.assign(root.outcomes_player,
                                       root.outcomes_player + outcomes_.count());
        result.num_simulations = num_evaluated_;
        result.num_bytes = nodes_.capacity() * sizeof(Node) + ways_.capacity() * sizeof(Way) +
                           table_.capacity() * sizeof(uint32_t);
        return result;
    }

  private:
    static constexpr size_t kLeastTable = 64;

    // A position of the turn, by what is seen of it: however it is reached, it is there once.
    struct Node {
        P position;
        Hash128 key;
        uint32_t first_way = 0, num_ways = 0;  // none at an end of the turn
        float value_player = 0;                // in the view of who searches, scaled to 1
        float outcomes_player[kMaxOutcomes] = {};
        bool is_end = false;
    };
    struct Way {
        Action action;
        uint32_t to;
    };

    int observer_of(const P& position) const {
        return position.to_move() == kChance ? position.roller() : position.to_move();
    }

    Hash128 key_of(const P& position) {
        const bool over = position.to_move() == kOver;
        const int observer = over ? int(player_) : observer_of(position);
        position.observe(observer, observation_.data());
        const int kind = over ? 2 : position.to_move() == kChance ? 4 : 0;
        return hash_bytes(observation_, uint64_t(observer + kind));
    }

    uint32_t find(const P& position) {
        return table_.empty() ? kNoIndex : table_[place_of(key_of(position))];
    }

    // Where a key is in the table, or would be.
    size_t place_of(const Hash128& key) const {
        size_t place = key.low & (table_.size() - 1);
        while (table_[place] != kNoIndex && !(nodes_[table_[place]].key.low == key.low &&
                                              nodes_[table_[place]].key.high == key.high))
            place = (place + 1) & (table_.size() - 1);
        return place;
    }

    // The node of a position; where it is new it is noted what is to be done with it.
    uint32_t add(const P& position) {
        if (table_.size() < 2 * (nodes_.size() + 1)) grow_table();
        const Hash128 key = key_of(position);
        const size_t place = place_of(key);
        if (table_[place] != kNoIndex) return table_[place];
        const uint32_t index = uint32_t(nodes_.size());
        table_[place] = index;
        nodes_.push_back({position, key});
        if (position.to_move() == kOver) {
            Node& end = nodes_.back();
            const int outcome = position.outcome(player_);
            end.is_end = true;
            end.outcomes_player[outcome] = 1;
            end.value_player = outcomes_.scaled_reward(outcome);
        } else if (position.to_move() != player_) {
            end_at(index);
        }
        return index;
    }

    void end_at(uint32_t index) {
        nodes_[index].is_end = true;
        to_evaluate_.push_back(index);
    }

    void grow_table() {
        table_.assign(std::max(kLeastTable, 2 * table_.size()), kNoIndex);
        for (uint32_t i = 0; i < nodes_.size(); ++i) table_[place_of(nodes_[i].key)] = i;
    }

    // Finds all positions of the turn. Those within it are listed in `from_the_end_` after all that
    // they lead to.
    void expand_all(uint64_t max_nodes) {
        std::vector<std::pair<uint32_t, uint32_t>> path;  // nodes, with the way to be followed next
        const auto enter = [&](uint32_t index) {
            if (nodes_[index].is_end || nodes_[index].num_ways > 0) return;
            const bool full = nodes_.size() >= max_nodes || ways_.size() >= kMaxTreeItems;
            if (index != root_ && full) return end_at(index);
            legal_.resize(facts_->num_actions);
            legal_.resize(nodes_[index].position.legal_actions(legal_.data()));
            nodes_[index].first_way = uint32_t(ways_.size());
            nodes_[index].num_ways = uint32_t(legal_.size());
            for (const Action action : legal_) {
                P next = nodes_[index].position;
                next.play(action);
                ways_.push_back({action, add(next)});
            }
            path.emplace_back(index, 0);
        };
        enter(root_);
        while (!path.empty()) {
            auto& [index, next] = path.back();
            if (next < nodes_[index].num_ways) {
                enter(ways_[nodes_[index].first_way + next++].to);
            } else {
                from_the_end_.push_back(index);
                path.pop_back();
            }
        }
        if (finished()) find_best_ends();
    }

    // Each position of the turn takes over the best that it leads to.
    void find_best_ends() {
        for (const uint32_t index : from_the_end_) {
            Node& node = nodes_[index];
            const Way* ways = &ways_[node.first_way];
            const Node* best = &nodes_[ways[0].to];
            for (uint32_t i = 1; i < node.num_ways; ++i)
                if (nodes_[ways[i].to].value_player > best->value_player)
                    best = &nodes_[ways[i].to];
            node.value_player = best->value_player;
            std::copy_n(best->outcomes_player, kMaxOutcomes, node.outcomes_player);
        }
    }

    const Facts* facts_;
    OutcomeTable outcomes_;
    std::vector<uint8_t> observation_;  // scratch
    std::vector<Action> legal_;         // scratch
    std::vector<Node> nodes_;
    std::vector<Way> ways_;
    std::vector<uint32_t> table_;         // by key, open addressing; kNoIndex where free
    std::vector<uint32_t> to_evaluate_;   // ends
    std::vector<uint32_t> from_the_end_;  // positions within the turn
    uint32_t root_ = kNoIndex, num_evaluated_ = 0;
    Mover player_ = 0;
};

}  // namespace zf
