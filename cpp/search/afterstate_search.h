// Afterstate evaluation of whole turns, as in TD-Gammon (Tesauro, 1995): every position in which
// the player to move can end its turn is evaluated once, and the value of an action is that of the
// best afterstate it leads to. For games with perfect information whose turns have several
// decisions: a tree search with few simulations hardly reaches the end of a turn.
//
//     search.begin(position, max_bytes);
//     while (!search.finished())
//         if (search.gather(observation)) search.absorb(evaluate(observation));
//     RootResult result = search.result(sharpness);
//
// The values hold for all decisions of the turn, until `clear`: they need no further evaluation. No
// position may repeat within a turn.
//
// Started before a roll, the search looks a turn ahead: the value is the exact expectation over the
// rolls of the best afterstate of each.
#pragma once

#include "base/hash.h"
#include "games/game.h"
#include "search/evaluation.h"
#include "search/root.h"

namespace zf {

template <Game P>
class AfterstateSearch {
  public:
    // `facts` must outlive the search.
    explicit AfterstateSearch(const Facts& facts)
        : facts_(&facts), outcomes_(facts), observation_(facts.observation_bytes) {}

    // Starts on a position with a player or chance to move. False if the turn is already evaluated.
    // If the turn has more positions than max_bytes allows, those that are not expanded are
    // evaluated themselves.
    bool begin(const P& root, uint64_t max_bytes) {
        root_ = find(root);
        num_evaluated_ = 0;
        if (root_ != kNoIndex && nodes_[root_].num_edges > 0) return false;
        clear();
        player_ = Mover(observer_of(root));
        root_ = add(root);
        expand_all(std::min<uint64_t>(max_bytes / sizeof(Node), kMaxTreeItems));
        return true;
    }

    // A new turn: drops all positions.
    void clear() {
        nodes_.clear();
        edges_.clear();
        to_evaluate_.clear();
        postorder_.clear();
        table_.assign(table_.size(), kNoIndex);
    }

    bool finished() const { return to_evaluate_.empty(); }
    uint32_t num_simulations() const { return num_evaluated_; }

    // Writes the observation of an afterstate to evaluate; false if there is none left.
    bool gather(uint8_t* observation) {
        if (finished()) return false;
        leaf_position().observe(leaf_observer(), observation);
        return true;
    }

    // Takes the evaluation of what `gather` wrote. False, and it must be evaluated again, if a
    // number is not finite.
    bool absorb(const Evaluation& evaluation) {
        if (!all_finite(evaluation.outcomes_observer, outcomes_.count())) return false;
        Node& end = nodes_[to_evaluate_.back()];
        if (leaf_observer() == player_) {
            std::copy_n(evaluation.outcomes_observer, outcomes_.count(), end.outcomes_player);
        } else {
            outcomes_.flip_view(evaluation.outcomes_observer, end.outcomes_player);
        }
        end.value_player = outcomes_.mean(end.outcomes_player);
        to_evaluate_.pop_back();
        ++num_evaluated_;
        if (finished()) backup();
        return true;
    }

    // An afterstate is observed by the player who acts next: the value head trains on such rows.
    const P& leaf_position() const { return nodes_[to_evaluate_.back()].position; }
    int leaf_observer() const { return observer_of(leaf_position()); }
    // Only values are asked.
    std::span<const Action> leaf_actions() const { return {}; }

    // Precondition: finished. The policy is a softmax of `sharpness` times the actions' values,
    // divided by the largest reward; there are no priors. Before a roll there are no actions: the
    // value is that of the player about to roll.
    RootResult result(float sharpness) const {
        RootResult result;
        const Node& root = nodes_[root_];
        const float largest = facts_->largest_reward();
        result.value_to_move = largest * root.value_player;
        result.outcomes_to_move.assign(root.outcomes_player,
                                       root.outcomes_player + outcomes_.count());
        result.num_simulations = num_evaluated_;
        result.num_bytes = nodes_.capacity() * sizeof(Node) + edges_.capacity() * sizeof(Edge) +
                           table_.capacity() * sizeof(uint32_t);
        if (root.position.to_move() == kChance) return result;
        const Edge* edges = &edges_[root.first_edge];
        size_t best = 0;
        for (uint32_t i = 0; i < root.num_edges; ++i) {
            const float value = nodes_[edges[i].to].value_player;
            if (value > nodes_[edges[best].to].value_player) best = i;
            result.actions.push_back(edges[i].action);
            result.visits.push_back(1);
            result.values_to_move.push_back(largest * value);
            result.policy.push_back(sharpness * value);
        }
        result.priors.assign(root.num_edges, 1 / float(root.num_edges));
        softmax(result.policy.data(), int(root.num_edges));
        result.target = result.policy;
        result.best_action = edges[best].action;
        return result;
    }

  private:
    static constexpr size_t kMinTable = 64;

    // A position of the turn, keyed by its observation: transpositions share a node.
    struct Node {
        P position;
        Hash128 key;
        uint32_t first_edge = 0, num_edges = 0;  // none at an afterstate
        float value_player = 0;  // the searching player's view, divided by the largest reward
        float outcomes_player[kMaxOutcomes] = {};
        bool is_end = false;
    };
    struct Edge {
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

    // The place of a key in the table.
    size_t place_of(const Hash128& key) const {
        size_t place = key.low & (table_.size() - 1);
        while (table_[place] != kNoIndex && !(nodes_[table_[place]].key.low == key.low &&
                                              nodes_[table_[place]].key.high == key.high))
            place = (place + 1) & (table_.size() - 1);
        return place;
    }

    // The node of a position; a new one is scored, or listed for evaluation if it ends the turn.
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
        } else if (index > 0 && position.to_move() != player_) {  // the first is the root
            end_at(index);
        }
        return index;
    }

    void end_at(uint32_t index) {
        nodes_[index].is_end = true;
        to_evaluate_.push_back(index);
    }

    void grow_table() {
        table_.assign(std::max(kMinTable, 2 * table_.size()), kNoIndex);
        for (uint32_t i = 0; i < nodes_.size(); ++i) table_[place_of(nodes_[i].key)] = i;
    }

    // Expands all positions of the turn, and lists the inner ones in postorder.
    void expand_all(uint64_t max_nodes) {
        std::vector<std::pair<uint32_t, uint32_t>> path;  // nodes, with the edge to follow next
        const auto enter = [&](uint32_t index) {
            if (nodes_[index].is_end || nodes_[index].num_edges > 0) return;
            const bool full = nodes_.size() >= max_nodes || edges_.size() >= kMaxTreeItems;
            if (index != root_ && full) return end_at(index);
            list_moves(nodes_[index].position);
            nodes_[index].first_edge = uint32_t(edges_.size());
            nodes_[index].num_edges = uint32_t(legal_.size());
            for (const Action action : legal_) {
                P next = nodes_[index].position;
                next.play(action);
                edges_.push_back({action, add(next)});
            }
            path.emplace_back(index, 0);
        };
        enter(root_);
        while (!path.empty()) {
            auto& [index, next] = path.back();
            if (next < nodes_[index].num_edges) {
                enter(edges_[nodes_[index].first_edge + next++].to);
            } else {
                postorder_.push_back(index);
                path.pop_back();
            }
        }
        if (finished()) backup();
    }

    // What can be played, into `legal_`: actions, or before a roll its outcomes, with their
    // probabilities in `rolls_`.
    void list_moves(const P& position) {
        if (position.to_move() == kChance) {
            rolls_.resize(facts_->num_chance_outcomes);
            rolls_.resize(position.chance_outcomes(rolls_.data()));
            legal_.clear();
            for (const ChanceOutcome& roll : rolls_) legal_.push_back(roll.id);
        } else {
            legal_.resize(facts_->num_actions);
            legal_.resize(position.legal_actions(legal_.data()));
        }
    }

    // Values of all inner positions of the turn; only the root may be before a roll.
    void backup() {
        for (const uint32_t index : postorder_) {
            if (nodes_[index].position.to_move() == kChance) {
                backup_expectation(nodes_[index]);
            } else {
                backup_best(nodes_[index]);
            }
        }
    }

    void backup_best(Node& node) {
        const Edge* edges = &edges_[node.first_edge];
        const Node* best = &nodes_[edges[0].to];
        for (uint32_t i = 1; i < node.num_edges; ++i)
            if (nodes_[edges[i].to].value_player > best->value_player) best = &nodes_[edges[i].to];
        node.value_player = best->value_player;
        std::copy_n(best->outcomes_player, kMaxOutcomes, node.outcomes_player);
    }

    void backup_expectation(Node& node) {
        double sums[kMaxOutcomes] = {};
        for (uint32_t i = 0; i < node.num_edges; ++i) {
            const Node& rolled = nodes_[edges_[node.first_edge + i].to];
            for (int k = 0; k < outcomes_.count(); ++k)
                sums[k] += rolls_[i].probability * double(rolled.outcomes_player[k]);
        }
        for (int k = 0; k < outcomes_.count(); ++k) node.outcomes_player[k] = float(sums[k]);
        node.value_player = outcomes_.mean(node.outcomes_player);
    }

    const Facts* facts_;
    OutcomeTable outcomes_;
    std::vector<uint8_t> observation_;  // scratch
    std::vector<Action> legal_;         // scratch
    std::vector<ChanceOutcome> rolls_;  // of the root, where chance moves
    std::vector<Node> nodes_;
    std::vector<Edge> edges_;
    std::vector<uint32_t> table_;        // by key, open addressing; kNoIndex where free
    std::vector<uint32_t> to_evaluate_;  // afterstates
    std::vector<uint32_t> postorder_;    // inner positions of the turn
    uint32_t root_ = kNoIndex, num_evaluated_ = 0;
    Mover player_ = 0;
};

}  // namespace zf
