// Which edge a simulation takes at a node.
//
// Values in the tree have the view of player 0; each of these turns them into the mover's view
// once.
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

// Turns a value between the first player's view and this player's.
inline float sign(Mover mover) { return mover == 0 ? 1.0f : -1.0f; }

// What an action not yet tried is thought to be worth to the mover.
inline float untried_value_to_move(const Node& node, float tried_prior, const SelectionRule& rule) {
    const float reduction = rule.fpu_reduction * exact_sqrt(tried_prior < 0 ? 0 : tried_prior);
    return std::max(-1.0f, sign(node.mover) * node.mean_first_player - reduction);
}

// PUCT: the edge of best value plus prior-weighted exploration. The best action not yet tried is
// made an edge if it is better than all that were. Edges proven lost, or all that are proven where
// `only_open`, are taken only if nothing else is left.
inline uint32_t select_action(Tree& tree, uint32_t index, const SelectionRule& rule,
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
        const float untried = untried_value_to_move(node, node.visited_prior, rule);
        if (best == kNoIndex || untried + scale * tree.best_prior(node) > best_score)
            return tree.visit_best_slot(index);
    }
    return best == kNoIndex ? best_closed : best;
}

// Visits outcomes in proportion to their probability: outcome i has its visits at the times
// (k + phase_i) / p_i, and the earliest that is due comes next. The phases are random, so that few
// visits are a fair sample; they depend on `stream` alone (the seed and the dice on the way here,
// not the actions), so that alternatives meet the same dice.
inline uint32_t select_chance(const Tree& tree, uint32_t index, uint64_t stream) {
    const Node& node = tree.node(index);
    uint64_t earliest = ~0ULL;  // the time, whose bits are ordered as it is, then the edge's number
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        const float phase = float(mix64(stream + edge.action) >> 40) * 0x1.0p-24f;
        const float due = (float(edge.visits) + phase) / edge.weight;
        earliest = std::min(earliest, uint64_t(std::bit_cast<uint32_t>(due)) << 32 | i);
    }
    return uint32_t(earliest);
}

// An opponent's choice among what is legal in the hidden state that was drawn, by values pooled
// over all states drawn so far and the priors of this one. Exploration counts, for each action, the
// visits in which it was available.
inline uint32_t select_pooled(Tree& tree, uint32_t index, std::span<const Action> legal,
                              std::span<const Half> priors, const SelectionRule& rule) {
    float tried_prior = 0;
    for (size_t i = 0; i < legal.size(); ++i) {
        uint32_t at = tree.find_edge(tree.node(index), legal[i]);
        if (at == kNoIndex) at = tree.add_edge(index, legal[i], 0);
        Edge& edge = tree.edge(tree.node(index), at);
        edge.weight = from_half(priors[i]);
        if (edge.visits > 0) tried_prior += edge.weight;
    }
    const Node& node = tree.node(index);
    const float untried = untried_value_to_move(node, tried_prior, rule);
    uint32_t best = kNoIndex;
    float best_score = 0;
    for (const Action action : legal) {
        const uint32_t at = tree.find_edge(node, action);
        Edge& edge = tree.edge(node, at);
        ++edge.available;
        const float value = edge.visits == 0 ? untried : sign(node.mover) * edge.mean_first_player;
        const float score = value + rule.c_puct * edge.weight * exact_sqrt(float(edge.available)) /
                                        float(1 + edge.visits);
        if (best == kNoIndex || score > best_score) best = at, best_score = score;
    }
    return best;
}

}  // namespace zf
