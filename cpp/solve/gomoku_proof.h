// A proof that a player wins a position of Gomoku, and its verifier.
//
// A proof is a tree: the winner's action, then what the winner does after each reply. Replies
// that change nothing share one answer, `otherwise`. The verifier knows only the rules of the game
// and plays the tree out against every legal reply, so a wrong tree, wherever it comes from, is
// refused. It shares no code with the searches that make proofs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "games/gomoku.h"

namespace zf {

class GomokuProof {
  public:
    static constexpr int32_t kNone = -1;

    struct Reply {
        Action action;
        int32_t answer;  // a node
    };
    struct Node {
        Action action;              // of the winner; unused where the loser is to move at the root
        int32_t otherwise = kNone;  // the answer to all other replies; none where the game is over
        int32_t first_reply = 0, num_replies = 0;
    };

    std::vector<Node> nodes;
    std::vector<Reply> replies;
    int32_t root = kNone;

    bool found() const { return root != kNone; }
    std::span<const Reply> replies_of(const Node& node) const {
        return {replies.data() + node.first_reply, size_t(node.num_replies)};
    }
    const Reply* find_reply(const Node& node, Action action) const {
        for (const Reply& reply : replies_of(node))
            if (reply.action == action) return &reply;
        return nullptr;
    }

    // Adds a node with its replies; gives its number.
    int32_t add(Action action, std::span<const Reply> its_replies, int32_t otherwise);

    // The root's action and the replies that last longest, to the end of the game.
    std::vector<Action> line() const;

  private:
    int plies(int32_t node) const;
};

// Plies until the player to move has won, against every defence; 0 where the proof does not prove
// it.
int verify_win(const Gomoku& position, const GomokuProof& proof);

// Plies until the player to move has lost, whatever it plays; 0 where the proof does not prove it.
int verify_loss(const Gomoku& position, const GomokuProof& proof);

}  // namespace zf
