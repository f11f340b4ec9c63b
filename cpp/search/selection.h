// Selection: which edge a simulation takes at a node.
//
// Values in the tree are in player 0's view; each function converts them once into the mover's.
#pragma once

#include <algorithm>
#include <bit>

#include "base/exact_math.h"
#include "base/random.h"
#include "search/tree.h"

namespace zf {

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

}  // namespace zf
