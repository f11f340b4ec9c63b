// Which node of a tree a position belongs to.
//
// With perfect information each edge leads to one node. Else this is information-set MCTS (Cowling,
// Powley and Whitehouse, 2012): each simulation samples the hidden state, and an edge leads to one
// node per information set. The searcher's own nodes are keyed by what it has seen so far; its
// opponent's by what the opponent sees, or not at all if they are pooled. A node where nothing is
// hidden any more has a key that determines its position, so it can be proven.
#pragma once

#include <vector>

#include "base/hash.h"
#include "games/game.h"
#include "search/options.h"
#include "search/simulation.h"
#include "search/tree.h"

namespace zf {

template <Game P>
class PositionNodes {
  public:
    // `facts` must outlive it.
    explicit PositionNodes(const Facts& facts)
        : facts_(&facts), observation_(facts.observation_bytes) {}

    void begin(int searching_player, OpponentNodes opponent_nodes) {
        player_ = searching_player;
        opponent_nodes_ = opponent_nodes;
    }

    // A node for a position that is not over.
    uint32_t add(Tree& tree, const P& position) {
        const Mover mover = position.to_move();
        const NodeKind kind = mover == kChance      ? NodeKind::chance
                              : is_pooled(position) ? NodeKind::pooled
                                                    : NodeKind::decision;
        const uint32_t index =
            tree.add_node(kind, Mover(mover == kChance ? position.roller() : mover));
        tree.node(index).key = key_of(position);
        tree.node(index).provable = nothing_hidden(position, *facts_);
        return index;
    }

    // A new node for the position that an edge leads to.
    uint32_t add_child(Tree& tree, const PathStep& from, const P& position) {
        const uint32_t index = add(tree, position);
        Edge& edge = tree.edge(tree.node(from.node), from.edge);
        tree.node(index).next_sibling = edge.child;
        edge.child = index;
        return index;
    }

    // The node of the position that an edge leads to, or kNoIndex if there is none yet.
    uint32_t find_child(const Tree& tree, const Edge& edge, const P& position) {
        if (!facts_->hidden) return edge.child;
        const uint64_t key = key_of(position);
        uint32_t child = edge.child;
        while (child != kNoIndex && tree.node(child).key != key)
            child = tree.node(child).next_sibling;
        return child;
    }

  private:
    bool is_pooled(const P& position) const {
        const Mover mover = position.to_move();
        return opponent_nodes_ == OpponentNodes::pooled && mover != kChance && mover != player_ &&
               !nothing_hidden(position, *facts_);
    }

    uint64_t key_of(const P& position) {
        if (!facts_->hidden || is_pooled(position)) return 0;
        const bool chance = position.to_move() == kChance;
        if (chance && !nothing_hidden(position, *facts_)) return 0;
        position.observe(chance ? position.roller() : position.to_move(), observation_.data());
        return hash_bytes(observation_).low;
    }

    const Facts* facts_;
    std::vector<uint8_t> observation_;  // scratch
    int player_ = 0;                    // who searches
    OpponentNodes opponent_nodes_ = OpponentNodes::pooled;
};

}  // namespace zf
