// Threat search in Gomoku: wins in which the opponent never gets a free move.
//
// A four threatens to complete a line with the next stone; a three threatens to win by fours.
// Searched are first fours only (VCF, victory by continuous fours), in which each reply is forced,
// then fours and threes (VCT, victory by continuous threats), with more threes step by step.
// Replies to a three: had the opponent passed, fours would win. A reply can matter only if it is a
// four itself, lies on a cell of that win, or gives the opponent a four together with the replies
// in it; each of those is searched, and the win by fours answers all others (the relevance zone of
// lambda search, Thomsen 2000).
//
// The search only proposes proofs; gomoku_proof.h verifies them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "games/gomoku.h"
#include "solve/gomoku_lines.h"
#include "solve/gomoku_proof.h"

namespace zf {

// Bounds of one search; what is reached first ends it.
struct GomokuLimits {
    uint64_t max_nodes = 1'000'000;  // stones placed by the attacker
    int max_depth = 20;              // 0: fours only; a three takes 2, a four among threes 1
};

class GomokuThreats {
  public:
    // The table takes 8 bytes << table_bits. `poll` is called now and then during long searches;
    // what it throws ends them.
    explicit GomokuThreats(const Gomoku::Options& options, int table_bits = 16,
                           std::function<void()> poll = {});

    // A proof that the player to move wins. Not found where it could not be proven.
    GomokuProof find_win(const Gomoku& position, const GomokuLimits& limits);
    // A proof that the player to move loses, with the opponent's fours and threes.
    GomokuProof find_loss(const Gomoku& position, const GomokuLimits& limits);
    // The opponent's win if the player to move passed: not a proof of this position, but one of
    // many positions after its next action.
    GomokuProof find_threat(const Gomoku& position, const GomokuLimits& limits);

    // Of all searches so far.
    uint64_t num_nodes() const { return num_nodes_; }

  private:
    static constexpr int32_t kNone = GomokuProof::kNone;
    using Cells = std::vector<uint16_t>;
    struct Four {
        uint16_t cell;
        bool is_double;  // leaves two cells to close
    };

    void begin(const Gomoku& position, const GomokuLimits& limits);
    int32_t deepen(int attacker, const GomokuLimits& limits);

    // The attacker is to move. Each gives a node of proof_, kNone where it finds no win.
    int32_t win_by_fours(int attacker);
    int32_t win_by_threats(int attacker, int depth);
    // Plays a four, then the forced reply; `go_on` searches what follows.
    template <class GoOn>
    int32_t play_four(int attacker, int cell, const GoOn& go_on);
    // The defender is to move and the attacker has just played `cell` without making a four.
    int32_t win_by_three(int attacker, int cell, int depth);
    // The defender is to move: the attacker's win against every reply, as a node with `action`.
    int32_t win_against_all(int attacker, Action action, int depth);

    void find_fours(int player, std::vector<Four>& fours);
    void find_threes(int player, Cells& threes);
    // Replies that may matter to the win by fours at `node` after a pass.
    void find_zone(int attacker, int32_t node, Cells& zone);
    void add_zone_of(int attacker, int32_t node, Cells& zone);

    bool spent() const { return num_nodes_ >= last_node_; }
    bool count_node();
    // Whether searches of this position failed at this depth or deeper.
    bool known_to_fail(int attacker, int depth) const;
    void remember_failure(int attacker, int depth);
    uint64_t key(int attacker) const { return mix64(lines_.hash() + uint64_t(attacker)); }

    void cut_back(size_t num_nodes, size_t num_replies) {
        proof_.nodes.resize(num_nodes);
        proof_.replies.resize(num_replies);
    }

    GomokuLines lines_;
    std::vector<uint64_t> failures_;  // key, its low bits replaced by depth + 1
    std::function<void()> poll_;
    GomokuProof proof_;
    std::vector<uint32_t> marks_;  // by cell; equal to mark_: seen
    uint32_t mark_ = 0;
    uint64_t num_nodes_ = 0, last_node_ = 0, last_of_fours_ = 0;
    bool more_at_depth_ = false;  // whether the last depth was too small for something
};

}  // namespace zf
