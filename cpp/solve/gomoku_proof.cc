#include "solve/gomoku_proof.h"

#include <algorithm>

namespace zf {

int32_t GomokuProof::add(Action action, std::span<const Reply> its_replies, int32_t otherwise) {
    Node node{action, otherwise, int32_t(replies.size()), int32_t(its_replies.size())};
    replies.insert(replies.end(), its_replies.begin(), its_replies.end());
    nodes.push_back(node);
    return int32_t(nodes.size()) - 1;
}

int GomokuProof::plies(int32_t number) const {
    const Node& node = nodes[size_t(number)];
    if (node.otherwise == kNone && node.num_replies == 0) return 1;
    int most = node.otherwise == kNone ? 0 : plies(node.otherwise);
    for (const Reply& reply : replies_of(node)) most = std::max(most, plies(reply.answer));
    return most + 2;
}

std::vector<Action> GomokuProof::line() const {
    std::vector<Action> line;
    for (int32_t at = root; at != kNone;) {
        const Node& node = nodes[size_t(at)];
        line.push_back(node.action);
        const Reply* longest = nullptr;
        int most = 0;
        for (const Reply& reply : replies_of(node))
            if (const int length = plies(reply.answer); length > most) {
                most = length;
                longest = &reply;
            }
        if (!longest) break;
        line.push_back(longest->action);
        at = longest->answer;
    }
    return line;
}

namespace {

class Verifier {
  public:
    Verifier(const GomokuProof& proof, int winner) : proof_(proof), winner_(winner) {}

    // The winner is to move. Plies to its win; 0: not proven.
    int after_reply(const Gomoku& position, int32_t number) const {
        if (number < 0 || size_t(number) >= proof_.nodes.size()) return 0;
        const GomokuProof::Node& node = proof_.nodes[size_t(number)];
        if (position.to_move() != winner_ || !position.is_free(node.action)) return 0;
        Gomoku after = position;
        after.play(node.action);
        if (after.to_move() == kOver) return after.outcome(winner_) == kWin ? 1 : 0;
        const int rest = against_all(after, node);
        return rest == 0 ? 0 : rest + 1;
    }

    // The loser is to move. Plies until it has lost, by the replies that last longest.
    int against_all(const Gomoku& position, const GomokuProof::Node& node) const {
        if (const int plies = against_one_winning_cell(position, node)) return plies;
        Action actions[kMaxCells];
        const int count = position.legal_actions(actions);
        int most = 0;
        for (int i = 0; i < count; ++i) {
            const GomokuProof::Reply* reply = proof_.find_reply(node, actions[i]);
            const int plies = against(position, actions[i], reply ? reply->answer : node.otherwise);
            if (plies == 0) return 0;
            most = std::max(most, plies);
        }
        return most;
    }

  private:
    static constexpr int kMaxCells = 361;

    int against(const Gomoku& position, Action reply, int32_t answer) const {
        Gomoku after = position;
        after.play(reply);
        if (after.to_move() == kOver) return 0;
        const int plies = after_reply(after, answer);
        return plies == 0 ? 0 : plies + 1;
    }

    // The same for the commonest node, faster: the answer to all but one reply wins at once, and
    // the loser cannot win at once. A stone of the loser elsewhere does not undo a line, so one of
    // those replies stands for all. 0: not such a node, or not proven.
    int against_one_winning_cell(const Gomoku& position, const GomokuProof::Node& node) const {
        if (node.otherwise == GomokuProof::kNone || node.num_replies != 1) return 0;
        const GomokuProof::Reply& only = proof_.replies_of(node)[0];
        if (size_t(node.otherwise) >= proof_.nodes.size() || position.may_win_at_once() ||
            proof_.nodes[size_t(node.otherwise)].action != only.action)
            return 0;
        if (!position.is_free(only.action)) return 0;
        Action other = 0;
        while (other < kMaxCells && (other == only.action || !position.is_free(other))) ++other;
        if (other == kMaxCells) return 0;
        if (against(position, other, node.otherwise) != 2) return 0;
        return against(position, only.action, only.answer);
    }

    const GomokuProof& proof_;
    int winner_;
};

}  // namespace

int verify_win(const Gomoku& position, const GomokuProof& proof) {
    if (!proof.found() || position.to_move() == kOver) return 0;
    return Verifier(proof, position.to_move()).after_reply(position, proof.root);
}

int verify_loss(const Gomoku& position, const GomokuProof& proof) {
    if (!proof.found() || position.to_move() == kOver) return 0;
    return Verifier(proof, 1 - position.to_move())
        .against_all(position, proof.nodes[size_t(proof.root)]);
}

}  // namespace zf
