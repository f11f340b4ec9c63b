// Backup: the value of a simulation, virtual losses and proofs on the nodes and edges of its path.
//
// Proofs follow MCTS-Solver (Winands, Björnsson and Saito, 2008), extended to draws and chance
// nodes.
#pragma once

#include "search/selection.h"
#include "search/tree.h"

namespace zf {

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
// by the change of their sums, up to the first node that is solved itself.
inline void backup_proofs(Tree& tree, std::span<const PathStep> path) {
    float change = 0;  // of the sum of all values backed up through the edge
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

}  // namespace zf
