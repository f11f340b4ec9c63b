// One simulation of a search: selection on its way down the tree, the evaluation of its leaf, and
// the backup of its value along its path.
//
// Values in the tree are in player 0's view; each function converts them once into the mover's.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "base/exact_math.h"
#include "base/hash.h"
#include "base/random.h"
#include "games/game.h"
#include "search/cache.h"
#include "search/evaluation.h"
#include "search/tree.h"

namespace zf {

// ---- selection: which edge a simulation takes at a node

struct SelectionRule {
    float c_puct = 0;
    float fpu_reduction = 0;
};

// Converts a value between the first player's view and this player's.
inline float sign(Mover mover) { return mover == 0 ? 1.0f : -1.0f; }

// First-play urgency: the value of an unvisited action, reduced from its parent's.
inline float first_play_urgency_to_move(const Node& node, float visited_prior,
                                        const SelectionRule& rule) {
    const float reduction = rule.fpu_reduction * exact_sqrt(visited_prior < 0 ? 0 : visited_prior);
    return std::max(-1.0f, sign(node.mover) * node.mean_first_player - reduction);
}

// PUCT (Rosin, 2011; AlphaZero): the edge of highest value plus prior-weighted exploration. The
// best unvisited action becomes an edge if it scores higher. Edges that are proven lost (with
// `only_open`, all solved ones) are taken only if nothing else is left.
inline uint32_t select_puct(Tree& tree, uint32_t index, const SelectionRule& rule,
                            bool only_open = false) {
    const Node& node = tree.node(index);
    const float view = sign(node.mover);
    const float scale = rule.c_puct * exact_sqrt(float(node.visits));
    uint32_t best = kNoIndex, best_closed = kNoIndex;
    float best_score = 0, best_closed_score = 0;
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        const float value = view * edge.mean_first_player;
        const float score = value + scale * edge.weight / float(1 + edge.visits);
        if (edge.solved && (only_open || value == -1)) {
            if (best_closed == kNoIndex || score > best_closed_score)
                best_closed = i, best_closed_score = score;
        } else if (best == kNoIndex || score > best_score) {
            best = i, best_score = score;
        }
    }
    if (node.num_unvisited > 0) {
        const float urgency = first_play_urgency_to_move(node, node.visited_prior, rule);
        if (best == kNoIndex || urgency + scale * tree.best_prior(node) > best_score)
            return tree.visit_best_slot(index);
    }
    return best == kNoIndex ? best_closed : best;
}

// Visits chance outcomes in proportion to their probability (stratified sampling): outcome i is due
// at the times (k + phase_i) / p_i, and the earliest is next. Phases are random, so that few visits
// are a fair sample. They depend on `stream` alone (the seed and the dice on the path, not the
// actions): common random numbers, so that alternative actions meet the same dice.
inline uint32_t select_chance(const Tree& tree, uint32_t index, uint64_t stream) {
    const Node& node = tree.node(index);
    uint64_t earliest = ~0ULL;  // time (its bits sort as it does), then the edge
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        const float phase = float(mix64(stream + edge.action) >> 40) * 0x1.0p-24f;
        const float due = (float(edge.visits) + phase) / edge.weight;
        earliest = std::min(earliest, uint64_t(std::bit_cast<uint32_t>(due)) << 32 | i);
    }
    return uint32_t(earliest);
}

// Information-set MCTS: an opponent chooses among the actions that are legal in the sampled hidden
// state, by values pooled over all samples and the priors of this one. Exploration counts, per
// action, the visits in which it was available.
inline uint32_t select_pooled(Tree& tree, uint32_t index, std::span<const Action> legal,
                              std::span<const Half> priors, const SelectionRule& rule) {
    float visited_prior = 0;
    for (size_t i = 0; i < legal.size(); ++i) {
        uint32_t at = tree.find_edge(tree.node(index), legal[i]);
        if (at == kNoIndex) at = tree.add_edge(index, legal[i], 0);
        Edge& edge = tree.edge(tree.node(index), at);
        edge.weight = from_half(priors[i]);
        if (edge.visits > 0) visited_prior += edge.weight;
    }
    const Node& node = tree.node(index);
    const float urgency = first_play_urgency_to_move(node, visited_prior, rule);
    uint32_t best = kNoIndex;
    float best_score = 0;
    for (const Action action : legal) {
        const uint32_t at = tree.find_edge(node, action);
        Edge& edge = tree.edge(node, at);
        ++edge.available;
        const float value = edge.visits == 0 ? urgency : sign(node.mover) * edge.mean_first_player;
        const float score = value + rule.c_puct * edge.weight * exact_sqrt(float(edge.available)) /
                                        float(1 + edge.visits);
        if (best == kNoIndex || score > best_score) best = at, best_score = score;
    }
    return best;
}

// ---- backup: the value of a simulation, virtual losses and proofs on the nodes and edges of its
// path
//
// Proofs follow MCTS-Solver (Winands, Björnsson and Saito, 2008), extended to draws and chance
// nodes.

struct PathStep {
    uint32_t node;
    uint32_t edge;               // number among the node's edges
    float virtual_first_player;  // see add_virtual_loss
};

// Marks a node solved if its edges decide it: one wins, or all are solved. The value of a chance
// node is the expectation over its outcomes. If they all have the same value, it is exactly that
// value, which a sum of rounded weights would miss.
inline bool solve(const Tree& tree, Node& node) {
    if (node.solved) return true;
    const bool chance = node.kind == NodeKind::chance;
    float exact =
        chance ? 0 : -2;  // in the mover's view, but at chance nodes in the first player's
    bool all = node.num_unvisited == 0, alike = true;
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        all &= edge.solved;
        if (chance) {
            exact += edge.weight * edge.mean_first_player;
            alike &= edge.mean_first_player == tree.edge(node, 0).mean_first_player;
        } else if (edge.solved) {
            exact = std::max(exact, sign(node.mover) * edge.mean_first_player);
        }
    }
    const bool won = !chance && exact == 1;
    if (!won && !all) return false;
    if (chance && alike) exact = tree.edge(node, 0).mean_first_player;
    node.solved = true;
    node.mean_first_player = chance ? exact : sign(node.mover) * exact;
    return true;
}

// Plies to the end of the game from a solved node: by its shortest proven win or its longest loss;
// at a chance node, by its longest outcome. Edges of lower value do not count.
inline uint8_t proof_plies(const Tree& tree, const Node& node) {
    const bool chance = node.kind == NodeKind::chance;
    const bool won = !chance && sign(node.mover) * node.mean_first_player > 0;
    uint8_t plies = won ? kMaxProofPlies : 0;
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        if (!edge.solved || (!chance && edge.mean_first_player != node.mean_first_player)) continue;
        plies = won ? std::min(plies, edge.plies_to_end) : std::max(plies, edge.plies_to_end);
    }
    return plies;
}

// Whether a solved decision node that ends in `plies` continues by this edge: its value is the
// node's, and it is a shortest win or a longest loss. Draws are all equal.
inline bool decides(const Node& node, const Edge& edge, uint8_t plies) {
    return edge.solved && edge.mean_first_player == node.mean_first_player &&
           (edge.mean_first_player == 0 || edge.plies_to_end == plies);
}

// Marks an edge solved, with the plies from its node to the end of the game.
inline void set_solved(Edge& edge, float exact_first_player, uint32_t plies_to_end) {
    edge.solved = true;
    edge.mean_first_player = exact_first_player;
    edge.plies_to_end = uint8_t(std::min<uint32_t>(plies_to_end, kMaxProofPlies));
}

inline void move_mean(float& mean_first_player, bool solved, float by) {
    if (!solved) mean_first_player += by;  // a proven value stays
}

// Backs proofs up the path, from its last edge, as far as they decide nodes. Once an edge is
// solved, all its visits count as the proven value, earlier ones included: the means above it move
// by the change of their sums, up to the first node that is solved itself. A node where something
// is hidden keeps its means: what is below is proven for some hidden states only.
inline void backup_proofs(Tree& tree, std::span<const PathStep> path) {
    float change = 0;  // of the sum of all values backed up through the edge
    for (size_t i = path.size(); i-- > 0;) {
        Node& node = tree.node(path[i].node);
        if (!node.provable) return;
        Edge& edge = tree.edge(node, path[i].edge);
        if (edge.solved) {
            change = 0;
        } else if (i + 1 < path.size() && tree.node(path[i + 1].node).solved) {
            const Node& child = tree.node(path[i + 1].node);
            change = float(edge.visits) * (child.mean_first_player - edge.mean_first_player);
            set_solved(edge, child.mean_first_player, 1u + proof_plies(tree, child));
        } else {
            edge.mean_first_player += change / float(edge.visits);
        }
        const bool decided = edge.solved && solve(tree, node);
        if (!decided && change == 0) return;
        move_mean(node.mean_first_player, node.solved, change / float(node.visits));
    }
}

// Backs up one visit of this value along the path.
inline void backup_value(Tree& tree, std::span<const PathStep> path, float value_first_player) {
    for (const PathStep& step : path) {
        Node& node = tree.node(step.node);
        Edge& edge = tree.edge(node, step.edge);
        ++edge.visits;
        ++node.visits;
        move_mean(edge.mean_first_player, edge.solved,
                  (value_first_player - edge.mean_first_player) / float(edge.visits));
        move_mean(node.mean_first_player, node.solved,
                  (value_first_player - node.mean_first_player) / float(node.visits));
    }
}

// Virtual loss (Chaslot, Winands and van den Herik, 2008): with several leaves in flight, the
// descent counts a visit as a loss for the mover (at a chance node: as the edge's mean), so that
// the next simulation goes elsewhere.
inline void add_virtual_loss(Tree& tree, PathStep& step) {
    const Node& node = tree.node(step.node);
    step.virtual_first_player = node.kind == NodeKind::chance
                                    ? tree.edge(node, step.edge).mean_first_player
                                    : -sign(node.mover);
    backup_value(tree, {&step, 1}, step.virtual_first_player);
}

// Replaces the virtual loss by the true value. If an edge within the path was solved meanwhile, all
// its visits already count as the proven value, this one included, and the sums above it have moved
// by the proven value minus the virtual one: what remains to be replaced there is the virtual
// value.
inline void replace_virtual_loss(Tree& tree, std::span<const PathStep> path,
                                 float value_first_player) {
    for (size_t i = path.size(); i-- > 0;) {
        const PathStep& step = path[i];
        Node& node = tree.node(step.node);
        Edge& edge = tree.edge(node, step.edge);
        if (edge.solved && i + 1 < path.size()) value_first_player = step.virtual_first_player;
        const float change = value_first_player - step.virtual_first_player;
        move_mean(edge.mean_first_player, edge.solved, change / float(edge.visits));
        move_mean(node.mean_first_player, node.solved, change / float(node.visits));
    }
}

// Removes a virtual loss: the simulation reached a leaf that is already in flight.
inline void remove_virtual_loss(Tree& tree, std::span<const PathStep> path) {
    for (const PathStep& step : path) {
        Node& node = tree.node(step.node);
        Edge& edge = tree.edge(node, step.edge);
        --edge.visits;
        --node.visits;
        if (edge.visits == 0) {
            move_mean(edge.mean_first_player, edge.solved, -edge.mean_first_player);
        } else {
            const float gap = edge.mean_first_player - step.virtual_first_player;
            move_mean(edge.mean_first_player, edge.solved, gap / float(edge.visits));
        }
        const float gap = node.mean_first_player - step.virtual_first_player;
        move_mean(node.mean_first_player, node.solved, gap / float(node.visits));
    }
}

// ---- the simulation

template <Game P>
struct Simulation {
    enum class State : uint8_t { free, descending, in_flight };
    // What a leaf is evaluated for: a new node (with priors if the observer is to move there), or
    // only the priors of an opponent's node for the sampled hand.
    enum class Purpose : uint8_t { expand, priors };

    explicit Simulation(const P& root) : position(root) {}

    void read_legal(int num_actions) {
        legal.resize(num_actions);
        legal.resize(position.legal_actions(legal.data()));
    }

    P position;
    std::vector<PathStep> path;
    std::vector<Action> legal;  // actions that need priors
    Evaluated evaluated;
    Hash128 key;
    uint32_t node = kNoIndex;  // kNoIndex: a node yet to be made
    uint64_t dice_stream = 0;  // of the seed and the dice on the path
    float value_first_player = 0;
    float outcomes_player[kMaxOutcomes] = {};  // the searching player's view; mean = the value
    int observer = 0;
    State state = State::free;
    Purpose purpose = Purpose::expand;
    bool has_priors = false;  // `evaluated` holds the priors of the opponent's node `node`
};

// ---- the evaluation of its leaf: from the cache, or from an evaluator and then cached

template <Game P>
class LeafAnswers {
  public:
    // `facts` must outlive it.
    explicit LeafAnswers(const Facts& facts)
        : facts_(&facts),
          num_outcomes_(int(facts.outcomes.size())),
          observation_(facts.observation_bytes) {}

    // `version` is that of the weights that evaluate. The cache may be null: then only opponents'
    // priors are cached.
    void begin(uint32_t num_simulations, uint64_t version, EvaluationCache* cache) {
        version_ = version;
        cache_ = cache;
        if (facts_->hidden && !cache && !own_cache_)
            own_cache_.emplace(std::min(kMaxOwnCacheBytes, num_simulations * 512ULL));
    }

    // Looks up the priors of an opponent's node for the sampled hand.
    bool find_priors(Simulation<P>& simulation) {
        simulation.position.observe(simulation.observer, observation_.data());
        simulation.key = EvaluationCache::key(observation_, simulation.legal, version_);
        return prior_cache()->find(simulation.key, num_outcomes_, simulation.evaluated);
    }

    // Writes the leaf's observation; true on a cache hit.
    bool find(Simulation<P>& simulation, uint8_t* observation) {
        simulation.position.observe(simulation.observer, observation);
        if (is_for_priors(simulation) || !cache_) return false;  // find_priors already missed
        simulation.key = EvaluationCache::key({observation, size_t(facts_->observation_bytes)},
                                              simulation.legal, version_);
        return cache_->find(simulation.key, num_outcomes_, simulation.evaluated);
    }

    // Reads an evaluation. False, and nothing is cached, if a number is not finite.
    bool take(const Evaluation& evaluation, Simulation<P>& simulation) {
        const float* outcomes = evaluation.outcomes_observer;
        std::copy_n(outcomes, num_outcomes_, simulation.evaluated.outcomes_observer);
        if (!all_finite(outcomes, num_outcomes_) ||
            !read_priors(evaluation.policy_logits, simulation.legal, scratch_,
                         simulation.evaluated.priors))
            return false;
        EvaluationCache* cache = is_for_priors(simulation) ? prior_cache() : cache_;
        if (cache) cache->store(simulation.key, num_outcomes_, simulation.evaluated);
        return true;
    }

  private:
    static constexpr unsigned long long kMaxOwnCacheBytes = 1 << 24;

    static bool is_for_priors(const Simulation<P>& simulation) {
        return simulation.purpose == Simulation<P>::Purpose::priors;
    }
    EvaluationCache* prior_cache() { return cache_ ? cache_ : &*own_cache_; }

    const Facts* facts_;
    int num_outcomes_;
    std::vector<uint8_t> observation_;  // scratch
    std::vector<float> scratch_;
    EvaluationCache* cache_ = nullptr;
    std::optional<EvaluationCache> own_cache_;  // for opponents' priors, without a shared cache
    uint64_t version_ = 0;
};

}  // namespace zf
