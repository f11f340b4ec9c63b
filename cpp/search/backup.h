// How the result of a simulation is counted on the nodes and edges it went through.
#pragma once

#include "search/selection.h"
#include "search/tree.h"

namespace zf {

struct PathStep {
    uint32_t node;
    uint32_t edge;                   // number among the node's edges
    float provisional_first_player;  // see count_provisionally
};

// Marks a node solved if its edges decide it: a won action, or all of them solved. A chance node is
// worth the expectation of its outcomes; where all are worth the same that value itself, which a
// sum of rounded weights would miss.
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

// In how many plies the game is over from a solved node: by its shortest proven win or its longest
// loss, where chance moves by the longest outcome. Of its edges those worth less do not count.
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

// Whether a solved decision node, over in so many plies, continues by this edge: one that is worth
// what the node is, of wins a shortest, of losses a longest. Draws are all alike.
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
    if (!solved) mean_first_player += by;  // an exact value stays
}

// Passes proofs up the path, from its last edge, as far as they decide nodes. All visits of an edge
// that is solved count as exact from then on, those of before too: the means above it are moved by
// what that changes in their sums, up to where a node is solved itself.
inline void pass_up_proofs(Tree& tree, std::span<const PathStep> path) {
    float change = 0;  // of the sum of all values that went through the edge
    for (size_t i = path.size(); i-- > 0;) {
        Node& node = tree.node(path[i].node);
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

// Counts one visit of this value on every step.
inline void count_visit(Tree& tree, std::span<const PathStep> path, float value_first_player) {
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

// With several leaves out at once a visit is counted on the way down, as a loss for whoever chose
// it (a roll of dice: as what it was worth before), so that the next simulation looks elsewhere.
inline void count_provisionally(Tree& tree, PathStep& step) {
    const Node& node = tree.node(step.node);
    step.provisional_first_player = node.kind == NodeKind::chance
                                        ? tree.edge(node, step.edge).mean_first_player
                                        : -sign(node.mover);
    count_visit(tree, {&step, 1}, step.provisional_first_player);
}

// Puts the true value in the place of the provisional one. Where an edge within the path was solved
// meanwhile, its visits count as exact already, this one too, and the sums above have moved by the
// exact value less its provisional one: what is left there is the provisional one.
inline void settle(Tree& tree, std::span<const PathStep> path, float value_first_player) {
    for (size_t i = path.size(); i-- > 0;) {
        const PathStep& step = path[i];
        Node& node = tree.node(step.node);
        Edge& edge = tree.edge(node, step.edge);
        if (edge.solved && i + 1 < path.size()) value_first_player = step.provisional_first_player;
        const float change = value_first_player - step.provisional_first_player;
        move_mean(edge.mean_first_player, edge.solved, change / float(edge.visits));
        move_mean(node.mean_first_player, node.solved, change / float(node.visits));
    }
}

// Takes a provisional visit back: the simulation ran into a leaf that is out already.
inline void take_back(Tree& tree, std::span<const PathStep> path) {
    for (const PathStep& step : path) {
        Node& node = tree.node(step.node);
        Edge& edge = tree.edge(node, step.edge);
        --edge.visits;
        --node.visits;
        if (edge.visits == 0) {
            move_mean(edge.mean_first_player, edge.solved, -edge.mean_first_player);
        } else {
            const float gap = edge.mean_first_player - step.provisional_first_player;
            move_mean(edge.mean_first_player, edge.solved, gap / float(edge.visits));
        }
        const float gap = node.mean_first_player - step.provisional_first_player;
        move_mean(node.mean_first_player, node.solved, gap / float(node.visits));
    }
}

}  // namespace zf
