// The root of a search: Dirichlet noise (AlphaZero), forced playouts and policy-target pruning
// (KataGo) or Gumbel, and the result of the search.
#pragma once

#include "search/gumbel.h"
#include "search/options.h"
#include "search/simulation.h"
#include "search/tree.h"

namespace zf {

// The result of a search. Actions are the legal ones, ascending (chance outcomes at a chance root).
struct RootResult {
    std::vector<Action> actions;
    std::vector<uint32_t> visits;
    std::vector<float> values_to_move;  // expected reward; 0 where neither visited nor proven
    std::vector<float> priors;          // before noise
    std::vector<float> policy;          // PUCT: share of visits; Gumbel: improved policy
    std::vector<float> target;  // policy to train on and to sample from: forced playouts pruned,
                                // without actions that proofs rule out
    std::vector<float> outcomes_to_move;  // distribution over the game's outcomes
    std::vector<Action> principal_variation;
    Action best_action = 0;
    float value_to_move = 0;  // expected reward
    float surprise = 0;       // Kullback-Leibler divergence of target from priors
    uint32_t num_simulations = 0;
    uint32_t depth = 0;
    uint64_t num_bytes = 0;
    bool solved = false;        // value_to_move is exact
    uint32_t plies_to_end = 0;  // where solved: of the shortest proven win or the longest loss; 0
                                // where not counted
    bool memory_full = false;   // ended early: max_bytes reached
};

class SearchRoot {
  public:
    // Makes an evaluated node the root; `actions` are its legal actions (or chance outcomes),
    // ascending. `player` searches: every `..._to_move` here is in its view.
    void prepare(Tree& tree, uint32_t index, std::span<const Action> actions, int player,
                 const SearchOptions& options, const SelectionRule& rule, uint64_t seed);

    // The edge that the next simulation takes. Precondition: a player is to move at the root.
    uint32_t select(Tree& tree, uint32_t simulation);

    // Outcome distributions of the simulations, by edge of the root.
    RootOutcomes& outcomes() { return outcomes_; }

    // Fills in the result from the tree. Values are multiplied by `largest_reward`.
    void report(const Tree& tree, const OutcomeTable& table, float largest_reward,
                RootResult& result);

  private:
    size_t number_of(Action action) const {
        return size_t(std::lower_bound(actions_.begin(), actions_.end(), action) -
                      actions_.begin());
    }

    float evaluation_to_move(const Tree& tree) const {
        return sign(player_) * tree.node(index_).evaluation_first_player;
    }

    void read_priors_of(const Tree& tree);

    void make_all_edges(Tree& tree);

    // Mixes Dirichlet noise into the priors, of edges and of unvisited slots.
    void add_dirichlet_noise(Tree& tree, Rng& rng);

    // Forced playouts: the least visits of an action, so that noise has an effect.
    float forced_visits(const Edge& edge, const Node& node) const {
        return exact_sqrt(options_.forced_playouts * edge.weight * float(node.visits));
    }
    uint32_t forced_edge(const Tree& tree) const;

    // Whether the root is proven won, but not at once: the rest of the budget seeks a shorter win.
    bool seeks_shorter_win(const Tree& tree) const;

    void read_statistics(const Tree& tree);

    // The root's value and outcomes. Solved: those of its best action (of a chance node: the
    // expectation). Else the mean over actions, weighted by the policy: for PUCT, the mean over
    // simulations; for Gumbel not, since sequential halving spends most simulations on candidates
    // that it drops. Proofs deeper in the tree and visits of a reused tree give values but no
    // outcomes, so the outcomes are shifted to the value.
    void report_value(const Tree& tree, const OutcomeTable& table, float total, RootResult& result);

    void set_shares_of_solved(const Tree& tree, Action best);

    // Fills in_play_: the actions that proofs leave for play and target. At a solved root, those of
    // its value: the shortest wins, the longest losses or the draws; else all that are not proven
    // lost.
    void read_proofs(const Tree& tree);

    void choose_by_gumbel(const Tree& tree, RootResult& result);

    // The action in play with most visits, then value (or prior, without visits).
    void choose_by_visits(const Tree& tree, float total, RootResult& result);

    // Normalises weights over the actions in play.
    void keep_in_play(std::vector<float>& weights) const;

    // Policy-target pruning: removes forced playouts from every action but the best, as long as
    // PUCT would not have chosen it with fewer visits. A single remaining visit is dropped.
    void prune(const Tree& tree, Action best, std::vector<float>& visits) const;

    // The best action, then the most visited line down to the first chance node. A solved node
    // continues by an action that decides it, so a proven win ends won, in the fewest plies proven.
    void read_principal_variation(const Tree& tree, RootResult& result) const;

    // The most visited edge of a node, at a solved node of those that decide it; kNoIndex without
    // visits.
    static uint32_t most_visited(const Tree& tree, const Node& node);

    uint32_t index_ = kNoIndex;
    Mover player_ = 0;
    SearchOptions options_;
    SelectionRule rule_;
    GumbelRoot gumbel_;
    std::vector<Action> actions_;
    std::vector<float> priors_;  // before noise
    std::vector<uint32_t> visits_;
    std::vector<float> values_;  // in the view of player_, divided by the largest reward
    std::vector<uint8_t> in_play_;
    std::vector<float> shares_;  // weight of each action's value in the root's
    RootOutcomes outcomes_;
};

}  // namespace zf
