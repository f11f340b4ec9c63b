#include "solve/gomoku.h"

#include <algorithm>
#include <array>

namespace zf {
namespace {

using Actions = std::array<Action, GomokuLines::kMaxCells>;

ProvenValue value_of(int outcome, int plies) {
    ProvenValue value;
    value.outcomes_to_move[outcome] = 1;
    value.plies_to_end = uint32_t(plies);
    return value;
}

int outcome_of(int score) { return score > 0 ? kWin : score < 0 ? kLoss : kDraw; }

int num_empty(const Gomoku& position) {
    Actions actions;
    return position.legal_actions(actions.data());
}

// Copies a proof's nodes behind those of another; gives the number of its root there.
int32_t append(const GomokuProof& from, GomokuProof& to) {
    const int32_t nodes = int32_t(to.nodes.size()), replies = int32_t(to.replies.size());
    for (GomokuProof::Node node : from.nodes) {
        if (node.otherwise != GomokuProof::kNone) node.otherwise += nodes;
        node.first_reply += replies;
        to.nodes.push_back(node);
    }
    for (const GomokuProof::Reply& reply : from.replies)
        to.replies.push_back({reply.action, reply.answer + nodes});
    return from.root + nodes;
}

}  // namespace

GomokuSolver::GomokuSolver(const Gomoku::Options& options, const GomokuEffort& effort,
                           int table_bits, std::function<void()> poll)
    : effort_(effort), threats_(options, table_bits, poll), endgame_(options, table_bits, poll) {}

std::optional<ProvenValue> GomokuSolver::solve_leaf(const Gomoku& position) {
    const int empty = num_empty(position);
    if (empty <= effort_.leaf_endgame_cells)
        if (const auto score = endgame_.score(position, effort_.leaf_endgame_nodes))
            return value_of(outcome_of(*score), GomokuEndgame::plies_to_end(empty, *score));
    const GomokuLimits limits{.max_nodes = effort_.leaf_nodes, .max_depth = effort_.leaf_depth};
    if (const auto won = proven_win(position, limits)) return won;
    return proven_loss(position, limits);
}

ProvenRoot GomokuSolver::solve_root(const Gomoku& position) {
    ProvenRoot root;
    if (solve_endgame_root(position, root)) return root;
    if (const auto won = proven_win(position, {.max_nodes = effort_.root_nodes})) {
        root.actions.push_back({win_, *won});
        root.decided = true;
        return root;
    }
    const GomokuProof threat = threats_.find_threat(position, {.max_nodes = effort_.root_nodes});
    if (!threat.found()) return root;
    Actions actions;
    const int count = position.legal_actions(actions.data());
    for (int i = 0; i < count; ++i) {
        Gomoku after = position;
        after.play(actions[size_t(i)]);
        if (after.to_move() == kOver) continue;
        int plies = verify_win(after, threat);
        if (plies == 0)
            if (const auto won = proven_win(after, {.max_nodes = effort_.action_nodes}))
                plies = int(won->plies_to_end);
        if (plies > 0) root.actions.push_back({actions[size_t(i)], value_of(kLoss, plies + 1)});
    }
    root.decided = int(root.actions.size()) == count;
    return root;
}

bool GomokuSolver::solve_endgame_root(const Gomoku& position, ProvenRoot& root) {
    Actions actions;
    const int count = position.legal_actions(actions.data());
    if (count > effort_.endgame_cells) return false;
    for (int i = 0; i < count; ++i) {
        Gomoku after = position;
        after.play(actions[size_t(i)]);
        if (after.to_move() == kOver) {
            root.actions.push_back(
                {actions[size_t(i)], value_of(after.outcome(position.to_move()), 1)});
            continue;
        }
        const auto score = endgame_.score(after, effort_.endgame_nodes);
        if (!score) {
            root.actions.clear();
            return false;
        }
        root.actions.push_back(
            {actions[size_t(i)],
             value_of(outcome_of(-*score), 1 + GomokuEndgame::plies_to_end(count - 1, *score))});
    }
    root.decided = true;
    return true;
}

std::optional<ProvenValue> GomokuSolver::proven_win(const Gomoku& position,
                                                    const GomokuLimits& limits) {
    const GomokuProof proof = threats_.find_win(position, limits);
    if (!proof.found()) return {};
    const int plies = verify_win(position, proof);
    if (plies == 0) {
        ++num_refused_;
        return {};
    }
    win_ = proof.nodes[size_t(proof.root)].action;
    return value_of(kWin, plies);
}

std::optional<ProvenValue> GomokuSolver::proven_loss(const Gomoku& position,
                                                     const GomokuLimits& limits) {
    const GomokuProof proof = threats_.find_loss(position, limits);
    if (!proof.found()) return {};
    const int plies = verify_loss(position, proof);
    if (plies == 0) {
        ++num_refused_;
        return {};
    }
    return value_of(kLoss, plies);
}

std::vector<Action> GomokuSolver::threats(const Gomoku& position, const GomokuLimits& limits) {
    const GomokuProof proof = threats_.find_win(position, limits);
    if (!proof.found()) return {};
    if (verify_win(position, proof) == 0) {
        ++num_refused_;
        return {};
    }
    return proof.line();
}

bool GomokuSolver::verify_line(const Gomoku& position, std::span<const Action> line,
                               const GomokuLimits& limits) {
    GomokuProof proof;
    proof.root = prove_line(position, line, limits, proof);
    return verify_win(position, proof) > 0;
}

std::optional<int> GomokuSolver::endgame_score(const Gomoku& position) {
    if (num_empty(position) > effort_.endgame_cells) return {};
    return endgame_.score(position, effort_.endgame_nodes);
}

int32_t GomokuSolver::prove_line(const Gomoku& position, std::span<const Action> line,
                                 const GomokuLimits& limits, GomokuProof& proof) {
    Actions actions;
    const int count = position.legal_actions(actions.data());
    if (line.empty() || !std::binary_search(actions.begin(), actions.begin() + count, line[0]))
        return GomokuProof::kNone;
    Gomoku after = position;
    after.play(line[0]);
    if (after.to_move() == kOver)
        return line.size() == 1 ? proof.add(line[0], {}, GomokuProof::kNone) : GomokuProof::kNone;
    return prove_answers(after, line, limits, proof);
}

// `position` is that after the line's first action.
int32_t GomokuSolver::prove_answers(const Gomoku& position, std::span<const Action> line,
                                    const GomokuLimits& limits, GomokuProof& proof) {
    Actions actions;
    const int count = position.legal_actions(actions.data());
    if (line.size() < 3 || !std::binary_search(actions.begin(), actions.begin() + count, line[1]))
        return GomokuProof::kNone;
    std::vector<GomokuProof::Reply> replies;
    for (int i = 0; i < count; ++i) {
        const Action action = actions[size_t(i)];
        Gomoku after = position;
        after.play(action);
        if (after.to_move() == kOver) return GomokuProof::kNone;
        if (action == line[1]) {
            replies.push_back({action, prove_line(after, line.subspan(2), limits, proof)});
        } else {
            const GomokuProof answer = threats_.find_win(after, limits);
            if (!answer.found()) return GomokuProof::kNone;
            replies.push_back({action, append(answer, proof)});
        }
        if (replies.back().answer == GomokuProof::kNone) return GomokuProof::kNone;
    }
    return proof.add(line[0], replies, GomokuProof::kNone);
}

std::unique_ptr<LeafSolver<Gomoku>> make_gomoku_solver(const Gomoku::Options& options) {
    return std::make_unique<GomokuSolver>(options);
}

}  // namespace zf
