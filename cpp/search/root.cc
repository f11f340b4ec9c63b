#include "search/root.h"

namespace zf {

void SearchRoot::prepare(Tree& tree, uint32_t index, std::span<const Action> actions, int player,
                         const SearchOptions& options, const SelectionRule& rule, uint64_t seed) {
    index_ = index;
    actions_.assign(actions.begin(), actions.end());
    player_ = Mover(player);
    options_ = options;
    rule_ = rule;
    read_priors_of(tree);
    if (tree.node(index).kind == NodeKind::chance) return;
    Rng rng(seed);
    if (options.root == RootKind::gumbel) {
        make_all_edges(tree);
        gumbel_.begin(priors_, options, rng);
    } else if (options.dirichlet_epsilon > 0 && actions_.size() > 1) {
        add_dirichlet_noise(tree, rng);
    }
}

uint32_t SearchRoot::select(Tree& tree, uint32_t simulation) {
    if (options_.root == RootKind::gumbel) {  // its edges are in the order of its actions
        read_statistics(tree);
        return gumbel_.select(simulation, visits_, values_, evaluation_to_move(tree));
    }
    const uint32_t forced = options_.forced_playouts > 0 ? forced_edge(tree) : kNoIndex;
    return forced == kNoIndex ? select_puct(tree, index_, rule_, seeks_shorter_win(tree)) : forced;
}

void SearchRoot::report(const Tree& tree, const OutcomeTable& table, float largest_reward,
                        RootResult& result) {
    const Node& node = tree.node(index_);
    read_statistics(tree);
    result.actions = actions_;
    result.priors = priors_;
    result.visits = visits_;
    float total = 0;
    for (size_t i = 0; i < actions_.size(); ++i) {
        result.values_to_move.push_back(largest_reward * values_[i]);
        total += float(visits_[i]);
    }
    result.solved = node.solved;
    const uint8_t plies = node.solved ? proof_plies(tree, node) : 0;
    if (plies < kMaxProofPlies) result.plies_to_end = plies;
    read_proofs(tree);
    if (options_.root == RootKind::gumbel && node.kind == NodeKind::decision) {
        choose_by_gumbel(tree, result);
    } else {
        choose_by_visits(tree, total, result);
    }
    report_value(tree, table, total, result);
    result.value_to_move *= largest_reward;
    for (size_t i = 0; i < actions_.size(); ++i)
        if (result.target[i] > 0)
            result.surprise +=
                result.target[i] * float(exact_log(result.target[i] / result.priors[i]));
    result.surprise = std::max(0.0f, result.surprise);  // halves do not add up to 1 exactly
    read_principal_variation(tree, result);
}

void SearchRoot::read_priors_of(const Tree& tree) {
    const Node& node = tree.node(index_);
    priors_.assign(actions_.size(), 0);
    for (uint32_t i = 0; i < node.num_edges; ++i)
        priors_[number_of(tree.edge(node, i).action)] = tree.edge(node, i).weight;
    for (uint32_t slot = 0; slot < node.num_slots; ++slot)
        if (tree.slot_prior(node, slot) > 0)
            priors_[number_of(tree.slot_action(node, slot))] = tree.slot_prior(node, slot);
}

void SearchRoot::make_all_edges(Tree& tree) {
    for (uint32_t slot = 0; slot < tree.node(index_).num_slots; ++slot)
        if (tree.slot_prior(tree.node(index_), slot) > 0) tree.visit_slot(index_, slot);
}

void SearchRoot::add_dirichlet_noise(Tree& tree, Rng& rng) {
    const size_t count = actions_.size();
    const double alpha =
        options_.dirichlet_alpha > 0 ? options_.dirichlet_alpha : 10.0 / double(count);
    std::vector<double> noise(count);
    double sum = 0;
    for (double& each : noise) sum += each = rng.gamma(alpha);
    const auto mixed = [&](Action action) {
        const size_t at = number_of(action);
        const float share = sum > 0 ? float(noise[at] / sum) : 1.0f / float(count);
        const float epsilon = options_.dirichlet_epsilon;
        return (1 - epsilon) * priors_[at] + epsilon * share;
    };
    Node& node = tree.node(index_);
    node.visited_prior = 0;
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        Edge& edge = tree.edge(node, i);
        node.visited_prior += edge.weight = mixed(edge.action);
    }
    for (uint32_t slot = 0; slot < node.num_slots; ++slot)
        if (tree.slot_prior(node, slot) > 0)
            tree.set_slot_prior(node, slot, mixed(tree.slot_action(node, slot)));
    if (node.num_unvisited > 0) tree.find_best_slot(node);
}

uint32_t SearchRoot::forced_edge(const Tree& tree) const {
    const Node& node = tree.node(index_);
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        if (edge.visits > 0 && !edge.solved && float(edge.visits) < forced_visits(edge, node))
            return i;
    }
    return kNoIndex;
}

bool SearchRoot::seeks_shorter_win(const Tree& tree) const {
    const Node& node = tree.node(index_);
    return node.solved && sign(player_) * node.mean_first_player > 0 && proof_plies(tree, node) > 1;
}

void SearchRoot::read_statistics(const Tree& tree) {
    const Node& node = tree.node(index_);
    visits_.assign(actions_.size(), 0);
    values_.assign(actions_.size(), 0);
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        const size_t at = number_of(edge.action);
        visits_[at] = edge.visits;
        values_[at] = sign(player_) * edge.mean_first_player;
    }
}

void SearchRoot::report_value(const Tree& tree, const OutcomeTable& table, float total,
                              RootResult& result) {
    const Node& node = tree.node(index_);
    float evaluation_share = 0;
    if (node.solved) {
        set_shares_of_solved(tree, result.best_action);
    } else if (options_.root == RootKind::gumbel && node.kind == NodeKind::decision) {
        evaluation_share = gumbel_.value_shares(visits_, result.policy, shares_);
    } else if (total > 0) {
        shares_.assign(visits_.begin(), visits_.end());
        for (float& share : shares_) share /= total;
    } else {
        shares_.assign(actions_.size(), 0);
        evaluation_share = 1;
    }
    float value = evaluation_share * evaluation_to_move(tree), sum = evaluation_share;
    float mixed[kMaxOutcomes] = {}, found[kMaxOutcomes];
    for (int i = 0; i < table.count(); ++i) mixed[i] = evaluation_share * outcomes_.evaluated()[i];
    for (uint32_t at = 0; at < node.num_edges; ++at) {
        const Edge& edge = tree.edge(node, at);
        const size_t number = number_of(edge.action);
        const float share = shares_[number];
        if (share == 0) continue;
        value += share * values_[number];
        if (edge.solved) {
            if (!outcomes_.proven(at, found)) table.with_mean(values_[number], found);
        } else if (!outcomes_.mean_of(at, found)) {
            continue;  // all visits are of a reused tree or still in flight
        }
        sum += share;
        for (int i = 0; i < table.count(); ++i) mixed[i] += share * found[i];
    }
    result.value_to_move = node.solved ? sign(player_) * node.mean_first_player : value;
    result.outcomes_to_move.assign(mixed, mixed + table.count());
    if (sum == 0) return table.with_mean(value, result.outcomes_to_move.data());
    for (float& each : result.outcomes_to_move) each /= sum;
    table.move_mean_to(result.value_to_move, result.outcomes_to_move.data());
}

void SearchRoot::set_shares_of_solved(const Tree& tree, Action best) {
    const Node& node = tree.node(index_);
    shares_.assign(actions_.size(), 0);
    if (node.kind == NodeKind::decision) shares_[number_of(best)] = 1;
    for (uint32_t i = 0; node.kind == NodeKind::chance && i < node.num_edges; ++i)
        shares_[number_of(tree.edge(node, i).action)] = tree.edge(node, i).weight;
}

void SearchRoot::read_proofs(const Tree& tree) {
    const Node& node = tree.node(index_);
    const uint8_t plies = node.solved ? proof_plies(tree, node) : 0;
    in_play_.assign(actions_.size(), !node.solved);
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        uint8_t& in_play = in_play_[number_of(edge.action)];
        if (node.kind == NodeKind::chance) {
            in_play = true;
        } else if (edge.solved) {
            in_play = node.solved ? decides(node, edge, plies)
                                  : sign(player_) * edge.mean_first_player != -1;
        }
    }
}

void SearchRoot::choose_by_gumbel(const Tree& tree, RootResult& result) {
    const float evaluation = evaluation_to_move(tree);
    if (tree.node(index_).solved) {  // by actions of equal value, some perhaps unvisited
        result.policy = priors_;
        keep_in_play(result.policy);
    } else {
        gumbel_.improved_policy(visits_, values_, evaluation, in_play_, result.policy);
    }
    result.target = result.policy;
    result.best_action = actions_[gumbel_.best(visits_, values_, evaluation, in_play_)];
}

void SearchRoot::choose_by_visits(const Tree& tree, float total, RootResult& result) {
    result.policy = result.priors;
    for (size_t i = 0; total > 0 && i < actions_.size(); ++i)
        result.policy[i] = float(visits_[i]) / total;
    const auto better = [&](size_t a, size_t b) {
        if (in_play_[a] != in_play_[b]) return in_play_[a] > in_play_[b];
        if (visits_[a] != visits_[b]) return visits_[a] > visits_[b];
        return visits_[a] > 0 ? values_[a] > values_[b] : priors_[a] > priors_[b];
    };
    size_t best = 0;
    for (size_t i = 1; i < actions_.size(); ++i)
        if (better(i, best)) best = i;
    result.best_action = actions_[best];
    result.target.assign(visits_.begin(), visits_.end());
    if (visits_[best] == 0) {
        result.target = priors_;
    } else if (options_.forced_playouts > 0) {
        prune(tree, actions_[best], result.target);
    }
    keep_in_play(result.target);
}

void SearchRoot::keep_in_play(std::vector<float>& weights) const {
    float sum = 0;
    for (size_t i = 0; i < actions_.size(); ++i) sum += weights[i] = in_play_[i] ? weights[i] : 0;
    for (float& weight : weights) weight /= sum;
}

void SearchRoot::prune(const Tree& tree, Action best, std::vector<float>& visits) const {
    const Node& node = tree.node(index_);
    const float scale = rule_.c_puct * exact_sqrt(float(node.visits));
    const auto score = [&](const Edge& edge, float visits) {
        return sign(node.mover) * edge.mean_first_player + scale * edge.weight / (1 + visits);
    };
    const Edge& most = tree.edge(node, tree.find_edge(node, best));
    const float bar = score(most, float(most.visits));
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        if (&edge == &most) continue;
        float& kept = visits[number_of(edge.action)];
        const float least = kept - forced_visits(edge, node);
        while (kept > least && kept > 0 && score(edge, kept - 1) < bar) --kept;
        if (kept <= 1) kept = 0;
    }
}

void SearchRoot::read_principal_variation(const Tree& tree, RootResult& result) const {
    uint32_t index = index_;
    while (index != kNoIndex && tree.node(index).kind != NodeKind::chance) {
        const Node& node = tree.node(index);
        const uint32_t at =
            index == index_ ? tree.find_edge(node, result.best_action) : most_visited(tree, node);
        if (at == kNoIndex) break;
        const Edge& edge = tree.edge(node, at);
        result.principal_variation.push_back(edge.action);
        index = edge.child;
        for (uint32_t other = index; other != kNoIndex; other = tree.node(other).next_sibling)
            if (tree.node(other).visits > tree.node(index).visits) index = other;
    }
    // An unvisited action may be best if all visited ones are proven lost.
    if (result.principal_variation.empty() && tree.node(index_).kind != NodeKind::chance)
        result.principal_variation.push_back(result.best_action);
}

uint32_t SearchRoot::most_visited(const Tree& tree, const Node& node) {
    const uint8_t plies = node.solved ? proof_plies(tree, node) : 0;
    uint32_t best = kNoIndex;
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        const Edge& edge = tree.edge(node, i);
        const bool fits = !node.solved || decides(node, edge, plies);
        if (fits && edge.visits > (best == kNoIndex ? 0 : tree.edge(node, best).visits)) best = i;
    }
    return best;
}

}  // namespace zf
