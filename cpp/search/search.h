// One search: hands out leaves to be evaluated, takes the evaluations in, and says what to play.
//
//     search.begin(position, options, seed, version, &cache);
//     while (!search.finished())
//         if (int slot = search.gather(observation); slot >= 0)
//             search.absorb(slot, evaluate(observation));
//     RootResult result = search.result();
//
// It never calls a network, so the same code serves a GPU, a browser and a test. All values in the
// tree are in the view of player 0 (`..._first_player`), divided by the game's largest reward, so no
// sign is turned on the way up, whoever moves; a node turns them once, when it chooses.
//
// Where hands are hidden, each simulation draws a hidden state that the searching player (who is to
// move at the root) finds possible. The searcher's own nodes are told apart by what it has seen by
// then. An opponent's node chooses among what is legal in the drawn state, with priors from the
// opponent's own observation; every value comes from the searcher's observation.
#pragma once

#include <cmath>
#include <optional>

#include "games/game.h"
#include "search/cache.h"
#include "search/gumbel.h"
#include "search/options.h"
#include "search/tree.h"

namespace zf {

// What a search has found. Actions are the legal ones, ascending (chance outcomes at a chance root).
struct RootResult {
    std::vector<Action> actions;
    std::vector<uint32_t> visits;
    std::vector<float> values_to_move;       // expected reward; 0 where not visited
    std::vector<float> priors;               // before noise
    std::vector<float> policy;               // PUCT: share of visits; Gumbel: improved policy
    std::vector<float> target;               // policy to train on: without visits that only noise caused
    std::vector<float> outcomes_to_move;     // distribution over the game's outcomes
    std::vector<Action> principal_variation;
    Action best_action = 0;
    float value_to_move = 0;                 // expected reward
    float surprise = 0;                      // Kullback-Leibler divergence of target from priors
    uint32_t num_simulations = 0;
    uint32_t depth = 0;
    uint32_t num_nodes = 0;
    uint64_t num_bytes = 0;
    bool solved = false;                     // value_to_move is exact
    bool memory_full = false;                // ended early because max_bytes was reached
};

template <Game P>
class Search {
public:
    explicit Search(const Facts& facts) : facts_(&facts), outcomes_(facts) {}

    // Starts on a position that is not over, with an empty tree. The cache may be null; `version`
    // is that of the weights that evaluate. Draws and noise depend on `seed` alone.
    void begin(const P& root, const SearchOptions& options, uint64_t seed, uint64_t version, EvaluationCache* cache) {
        clear_tree(options);
        root_node_ = kNoIndex;
        restart(root, options, seed, version, cache);
    }

    // Like begin, but keeps what the last search knows of this position, which came about by `played`
    // (actions and chance outcomes) from the last root. PUCT on games without hidden state only;
    // else, and where the last search did not get there, the tree is empty. `scratch` is free memory.
    void begin_after(std::span<const Action> played, Tree& scratch, const P& root, const SearchOptions& options,
                     uint64_t seed, uint64_t version, EvaluationCache* cache) {
        uint32_t index = facts_->hidden || options.root == RootKind::gumbel ? kNoIndex : root_node_;
        for (const Action id : played) {
            if (index == kNoIndex) break;
            const uint32_t edge = tree_.find_edge(tree_.node(index), id);
            index = edge == kNoIndex ? kNoIndex : tree_.edge(tree_.node(index), edge).child;
        }
        if (index != kNoIndex && !tree_.node(index).evaluated) index = kNoIndex;
        if (index != kNoIndex) {
            tree_.copy_subtree(index, scratch);
            std::swap(tree_, scratch);
            if (tree_.num_bytes() > options.max_bytes / 2) index = kNoIndex;
        }
        if (index == kNoIndex) clear_tree(options);
        root_node_ = index == kNoIndex ? kNoIndex : 0;
        restart(root, options, seed, version, cache);
    }

    bool finished() const { return num_completed_ >= options_.num_simulations || (memory_full_ && num_out_ == 0); }
    bool memory_full() const { return memory_full_; }

    // Runs simulations until one needs an evaluation: writes the observation to be evaluated and
    // gives the number to answer it by. Gives -1 where there is none now: the budget is spent, all
    // leaves allowed are out, or very many simulations in a row ended without one.
    int gather(uint8_t* observation) {
        for (int pass = 0; pass < kMaxPasses; ++pass) {
            const int slot = next_slot();
            if (slot < 0) return -1;
            Pending& pending = pending_[slot];
            if (pending.state == Pending::State::free && !start_simulation(pending)) return -1;
            pending.state = Pending::State::descending;
            switch (descend(pending)) {
                case Descent::scored: finish(pending); break;
                case Descent::blocked: abandon(pending); return -1;
                case Descent::leaf:
                    if (!answer_from_cache(pending, observation)) {
                        pending.state = Pending::State::out;
                        ++num_out_;
                        return slot;
                    }
            }
        }
        return -1;
    }

    // Takes the answer for a leaf. False, and the leaf is still out, where a number in it is not finite.
    bool absorb(int slot, const Evaluation& evaluation) {
        Pending& pending = pending_[slot];
        if (!read_evaluation(evaluation, pending)) return false;
        --num_out_;
        if (EvaluationCache* cache = cache_for(pending)) cache->store(pending.key, outcomes_.count(), pending.evaluated);
        apply(pending);
        return true;
    }

    // What is out under `slot`, for evaluators that look at the position itself.
    const P& leaf_position(int slot) const { return pending_[slot].position; }
    int leaf_observer(int slot) const { return pending_[slot].observer; }
    const P& root_position() const { return *root_; }

    RootResult result();

private:
    static constexpr int kMaxPasses = 256;

    struct PathStep {
        uint32_t node;
        uint32_t edge;              // number among the node's edges
        float virtual_first_player; // what was backed up provisionally
    };

    // What a leaf is evaluated for: a new node (priors too where someone decides there), or only the
    // priors that an opponent's node lacks for the hand drawn.
    enum class Purpose : uint8_t { expand, priors };
    enum class Descent : uint8_t { leaf, scored, blocked };

    // One simulation on its way.
    struct Pending {
        enum class State : uint8_t { free, descending, out };
        explicit Pending(const P& root) : position(root) {}
        P position;
        std::vector<PathStep> path;
        std::vector<Action> legal;     // actions whose priors are wanted
        Evaluated evaluated;
        Hash128 key;
        uint32_t node = kNoIndex;      // where the simulation stands
        float value_first_player = 0;
        State state = State::free;
        Purpose purpose = Purpose::expand;
        int observer = 0;
        bool has_row = false;          // `evaluated` holds the priors of the opponent's node `node`
    };

    void restart(const P& root, const SearchOptions& options, uint64_t seed, uint64_t version, EvaluationCache* cache) {
        root_.emplace(root);
        options_ = options;
        c_puct_ = options.c_puct > 0 ? options.c_puct : facts_->c_puct;
        seed_ = seed;
        version_ = version;
        cache_ = cache;
        player_ = root.to_move() == kChance ? root.roller() : root.to_move();
        num_started_ = num_completed_ = num_out_ = depth_ = 0;
        memory_full_ = false;
        for (double& sum : outcome_sums_) sum = 0;
        if (facts_->hidden && !cache && !own_cache_)
            own_cache_.emplace(std::min<uint64_t>(1 << 26, uint64_t(options.num_simulations) * 1024));
        pending_.resize(std::max<uint32_t>(1, options.max_leaves), Pending(root));
        for (Pending& pending : pending_) pending.state = Pending::State::free;
        observation_.resize(facts_->observation_bytes);
        if (root_node_ != kNoIndex) prepare_root();
    }

    void clear_tree(const SearchOptions& options) {
        tree_.clear();
        if (tree_.num_bytes_after_step(facts_->num_actions) > options.max_bytes) tree_ = Tree();
    }

    // The mover's sign in the first player's view.
    static float sign(Mover mover) { return mover == 0 ? 1.0f : -1.0f; }

    int next_slot() const {
        int free = -1;
        for (int i = 0; i < int(pending_.size()); ++i) {
            if (pending_[i].state == Pending::State::descending) return i;
            if (pending_[i].state == Pending::State::free && free < 0) free = i;
        }
        return free;
    }

    bool start_simulation(Pending& pending) {
        if (root_node_ == kNoIndex) {
            if (num_out_ > 0) return false;  // the root itself is out
        } else if (num_started_ >= options_.num_simulations || memory_full_) {
            return false;
        } else if (tree_.num_bytes_after_step(facts_->num_actions) > options_.max_bytes) {
            memory_full_ = true;
            return false;
        } else {
            ++num_started_;
        }
        pending.position = *root_;
        pending.path.clear();
        pending.node = root_node_;
        pending.has_row = false;
        return true;
    }

    // Goes down the tree from where the simulation stands.
    Descent descend(Pending& pending) {
        if (root_node_ == kNoIndex) {
            root_node_ = new_node(*root_);
            pending.node = root_node_;
            return await_expansion(pending);
        }
        for (;;) {
            if (!tree_.node(pending.node).evaluated) return Descent::blocked;
            uint32_t chosen = 0;
            switch (tree_.node(pending.node).kind) {
                case NodeKind::chance: chosen = select_chance(pending.node, pending.path.size()); break;
                case NodeKind::decision:
                    if (tree_.node(pending.node).priors == kNoIndex) {
                        if (!pending.has_row && !find_row(pending)) return Descent::leaf;
                        tree_.set_priors(pending.node, pending.legal, pending.evaluated.priors, facts_->num_actions);
                        pending.has_row = false;
                    }
                    chosen = pending.path.empty() && options_.root == RootKind::gumbel ? select_gumbel()
                                                                                       : select_action(pending.node);
                    break;
                case NodeKind::pooled:
                    if (!pending.has_row && !find_row(pending)) return Descent::leaf;
                    chosen = select_pooled(pending);
                    pending.has_row = false;
            }
            if (pending.path.empty() && facts_->hidden) draw_hidden(pending, chosen);
            if (step_down(pending, chosen)) return Descent::scored;
            if (pending.node == kNoIndex) return await_expansion(pending);
        }
    }

    // Each simulation draws its own hidden state; the candidates of a Gumbel round draw the same ones.
    void draw_hidden(Pending& pending, uint32_t chosen) {
        const bool by_visit = options_.root == RootKind::gumbel && tree_.node(root_node_).kind == NodeKind::decision;
        const uint64_t stream = by_visit ? tree_.edge(tree_.node(root_node_), chosen).visits : num_started_;
        Rng rng(derive_seed(seed_, stream));
        pending.position.resample_hidden(player_, rng);
    }

    // Plays an edge. True if its value is known: the game is over, or the edge is solved. Else
    // pending.node is the node reached, or kNoIndex if it has to be made.
    bool step_down(Pending& pending, uint32_t chosen) {
        const uint32_t index = pending.node;
        Edge& edge = tree_.edge(tree_.node(index), chosen);
        pending.path.push_back({index, chosen, 0});
        depth_ = std::max<uint32_t>(depth_, uint32_t(pending.path.size()));
        if (options_.max_leaves > 1) count_provisionally(pending.path.back());
        if (edge.solved) {
            pending.value_first_player = edge.mean_first_player;
            add_outcomes_of_mean(pending.value_first_player);
            return true;
        }
        pending.position.play(edge.action);
        const Mover mover = pending.position.to_move();
        if (mover == kOver) {
            const int outcome = pending.position.outcome(0);
            pending.value_first_player = outcomes_.scaled_reward(outcome);
            outcome_sums_[pending.position.outcome(player_)] += 1;
            if (proves()) {
                edge.solved = true;
                edge.mean_first_player = pending.value_first_player;
            }
            return true;
        }
        pending.node = find_child(edge, pending.position, mover);
        return false;
    }

    bool proves() const { return options_.prove && !facts_->hidden; }

    bool is_pooled(Mover mover) const {
        return facts_->hidden && mover != kChance && mover != player_ && options_.opponent_nodes == OpponentNodes::pooled;
    }

    // Where hands are hidden: what tells apart the nodes that one edge leads to.
    uint64_t node_key(const P& position, Mover mover) {
        if (!facts_->hidden || mover == kChance || is_pooled(mover)) return 0;
        position.observe(mover, observation_.data());
        return hash_bytes(observation_).low;
    }

    uint32_t find_child(const Edge& edge, const P& position, Mover mover) {
        if (!facts_->hidden) return edge.child;
        const uint64_t key = node_key(position, mover);
        uint32_t child = edge.child;
        while (child != kNoIndex && tree_.node(child).key != key) child = tree_.node(child).next_sibling;
        return child;
    }

    uint32_t new_node(const P& position) {
        const Mover mover = position.to_move();
        const bool chance = mover == kChance;
        const NodeKind kind = chance ? NodeKind::chance : is_pooled(mover) ? NodeKind::pooled : NodeKind::decision;
        const uint32_t index = tree_.add_node(kind, Mover(chance ? position.roller() : mover));
        tree_.node(index).key = node_key(position, mover);
        return index;
    }

    // Makes the node the simulation has reached and asks for its evaluation.
    Descent await_expansion(Pending& pending) {
        if (pending.node == kNoIndex) {
            pending.node = new_node(pending.position);
            const PathStep& last = pending.path.back();
            Edge& edge = tree_.edge(tree_.node(last.node), last.edge);
            tree_.node(pending.node).next_sibling = edge.child;
            edge.child = pending.node;
        }
        const Node& node = tree_.node(pending.node);
        pending.purpose = Purpose::expand;
        pending.observer = facts_->hidden ? player_ : node.mover;
        // An opponent whose hand is hidden is asked for priors when its node is visited again.
        if (node.kind == NodeKind::decision && node.mover == pending.observer) {
            read_legal(pending);
        } else {
            pending.legal.clear();
        }
        return Descent::leaf;
    }

    void read_legal(Pending& pending) {
        pending.legal.resize(facts_->num_actions);
        pending.legal.resize(pending.position.legal_actions(pending.legal.data()));
    }

    // The priors of an opponent's node for the hand that was drawn; if they are not known yet,
    // prepares to ask for them.
    bool find_row(Pending& pending) {
        const Mover mover = tree_.node(pending.node).mover;
        read_legal(pending);
        pending.position.observe(mover, observation_.data());
        pending.key = EvaluationCache::key(observation_, pending.legal, version_);
        pending.purpose = Purpose::priors;
        pending.observer = mover;
        if (pending.legal.size() == 1) {
            pending.evaluated.priors.assign(1, to_half(1));
            return pending.has_row = true;
        }
        return pending.has_row = row_cache()->find(pending.key, outcomes_.count(), pending.evaluated);
    }

    EvaluationCache* row_cache() { return cache_ ? cache_ : &*own_cache_; }
    EvaluationCache* cache_for(const Pending& pending) {
        return pending.purpose == Purpose::priors ? row_cache() : cache_;
    }

    // Writes the leaf's observation; true if the cache has its answer, which is then used.
    bool answer_from_cache(Pending& pending, uint8_t* observation) {
        pending.position.observe(pending.observer, observation);
        if (pending.purpose == Purpose::priors || !cache_) return false;  // find_row has looked already
        pending.key = EvaluationCache::key({observation, size_t(facts_->observation_bytes)}, pending.legal, version_);
        if (!cache_->find(pending.key, outcomes_.count(), pending.evaluated)) return false;
        apply(pending);
        return true;
    }

    bool read_evaluation(const Evaluation& evaluation, Pending& pending) {
        float sum = 0;
        for (int i = 0; i < outcomes_.count(); ++i) {
            pending.evaluated.outcomes_observer[i] = evaluation.outcomes_observer[i];
            sum += evaluation.outcomes_observer[i];
        }
        for (const Action action : pending.legal) sum += evaluation.policy_logits[action] * 0;
        if (!std::isfinite(sum)) return false;
        if (pending.legal.empty()) {
            pending.evaluated.priors.clear();
        } else {
            read_priors(evaluation.policy_logits, pending.legal, scratch_, pending.evaluated.priors);
        }
        return true;
    }

    // Puts an evaluation to its use.
    void apply(Pending& pending) {
        if (pending.purpose == Purpose::priors) {
            pending.has_row = true;
            pending.state = Pending::State::descending;
            return;
        }
        float outcomes_player[kMaxOutcomes];
        if (pending.observer == player_) {
            std::copy(pending.evaluated.outcomes_observer, pending.evaluated.outcomes_observer + outcomes_.count(),
                      outcomes_player);
        } else {
            outcomes_.turn_round(pending.evaluated.outcomes_observer, outcomes_player);
        }
        pending.value_first_player = sign(Mover(player_)) * outcomes_.mean(outcomes_player);
        Node& node = tree_.node(pending.node);
        node.evaluated = true;
        node.evaluation_first_player = node.mean_first_player = pending.value_first_player;
        node.visits = 1;
        if (node.kind == NodeKind::chance) add_chance_edges(pending);
        if (!pending.legal.empty())
            tree_.set_priors(pending.node, pending.legal, pending.evaluated.priors, facts_->num_actions);
        if (pending.path.empty()) {
            prepare_root();
            pending.state = Pending::State::free;
            return;
        }
        for (int i = 0; i < outcomes_.count(); ++i) outcome_sums_[i] += outcomes_player[i];
        finish(pending);
    }

    void add_chance_edges(const Pending& pending) {
        chances_.resize(facts_->num_chance_outcomes);
        const int count = pending.position.chance_outcomes(chances_.data());
        for (int i = 0; i < count; ++i) tree_.add_edge(pending.node, chances_[i].id, float(chances_[i].probability));
    }

    // Counts a finished simulation on all nodes and edges it went through.
    void finish(Pending& pending) {
        const float value = pending.value_first_player;
        bool solved = true;  // whether what the edge leads to is
        for (size_t i = pending.path.size(); i-- > 0;) {
            const PathStep& step = pending.path[i];
            Node& node = tree_.node(step.node);
            Edge& edge = tree_.edge(node, step.edge);
            if (options_.max_leaves > 1) {
                if (!edge.solved) edge.mean_first_player += (value - step.virtual_first_player) / float(edge.visits);
                if (!node.solved) node.mean_first_player += (value - step.virtual_first_player) / float(node.visits);
            } else {
                ++edge.visits;
                ++node.visits;
                if (!edge.solved) edge.mean_first_player += (value - edge.mean_first_player) / float(edge.visits);
                if (!node.solved) node.mean_first_player += (value - node.mean_first_player) / float(node.visits);
            }
            if (proves()) {
                if (i + 1 < pending.path.size() && solved) {
                    edge.solved = true;
                    edge.mean_first_player = tree_.node(pending.path[i + 1].node).mean_first_player;
                }
                solved = edge.solved && solve(node);
            }
        }
        pending.state = Pending::State::free;
        ++num_completed_;
    }

    // Marks the node solved if its edges decide it.
    bool solve(Node& node) const {
        if (node.solved) return true;
        float exact = node.kind == NodeKind::chance ? 0 : -2;
        bool all = node.num_unvisited == 0;
        for (uint32_t i = 0; i < node.num_edges; ++i) {
            const Edge& edge = tree_.edge(node, i);
            all &= edge.solved;
            if (node.kind == NodeKind::chance) {
                exact += edge.weight * edge.mean_first_player;
            } else if (edge.solved) {
                exact = std::max(exact, sign(node.mover) * edge.mean_first_player);
            }
        }
        const bool won = node.kind != NodeKind::chance && exact == 1;
        if (!won && !all) return false;
        node.solved = true;
        node.mean_first_player = node.kind == NodeKind::chance ? exact : sign(node.mover) * exact;
        return true;
    }

    // With several leaves out at once: counts the visit at once, as a loss for whoever chose it, so
    // that the next simulation looks elsewhere.
    void count_provisionally(PathStep& step) {
        Node& node = tree_.node(step.node);
        Edge& edge = tree_.edge(node, step.edge);
        step.virtual_first_player = node.kind == NodeKind::chance ? edge.mean_first_player : -sign(node.mover);
        ++edge.visits;
        ++node.visits;
        if (!edge.solved) edge.mean_first_player += (step.virtual_first_player - edge.mean_first_player) / float(edge.visits);
        if (!node.solved) node.mean_first_player += (step.virtual_first_player - node.mean_first_player) / float(node.visits);
    }

    // Takes back a simulation that ran into a leaf that is out already.
    void abandon(Pending& pending) {
        for (const PathStep& step : pending.path) {
            Node& node = tree_.node(step.node);
            Edge& edge = tree_.edge(node, step.edge);
            --edge.visits;
            --node.visits;
            if (!edge.solved)
                edge.mean_first_player = edge.visits == 0 ? 0 : edge.mean_first_player +
                    (edge.mean_first_player - step.virtual_first_player) / float(edge.visits);
            if (!node.solved)
                node.mean_first_player += (node.mean_first_player - step.virtual_first_player) / float(node.visits);
        }
        pending.state = Pending::State::free;
        --num_started_;
    }

    uint32_t select_action(uint32_t index) {
        const Node& node = tree_.node(index);
        const float view = sign(node.mover);
        const float scale = c_puct_ * exact_sqrt(float(node.visits));
        uint32_t best = kNoIndex, best_lost = kNoIndex;
        float best_score = 0, best_lost_score = 0;
        for (uint32_t i = 0; i < node.num_edges; ++i) {
            const Edge& edge = tree_.edge(node, i);
            const float value = view * edge.mean_first_player;
            const float score = value + scale * edge.weight / float(1 + edge.visits);
            if (edge.solved && value == -1) {  // only if nothing else is left
                if (best_lost == kNoIndex || score > best_lost_score) best_lost = i, best_lost_score = score;
            } else if (best == kNoIndex || score > best_score) {
                best = i, best_score = score;
            }
        }
        if (index == root_node_ && options_.forced_playouts > 0) {
            const uint32_t forced = forced_edge(node);
            if (forced != kNoIndex) return forced;
        }
        if (node.num_unvisited > 0) {
            const float untried = view * node.mean_first_player -
                                  options_.fpu_reduction * exact_sqrt(node.visited_prior < 0 ? 0 : node.visited_prior);
            if (best == kNoIndex || untried + scale * tree_.best_prior(node) > best_score)
                return tree_.visit_best_slot(index);
        }
        return best == kNoIndex ? best_lost : best;
    }

    // Visits that noise is owed at the root.
    float forced_visits(const Edge& edge, const Node& root) const {
        return exact_sqrt(options_.forced_playouts * edge.weight * float(root.visits));
    }
    uint32_t forced_edge(const Node& root) const {
        for (uint32_t i = 0; i < root.num_edges; ++i) {
            const Edge& edge = tree_.edge(root, i);
            if (edge.visits > 0 && !edge.solved && float(edge.visits) < forced_visits(edge, root)) return i;
        }
        return kNoIndex;
    }

    // The outcome that is furthest behind its probability; among equals an order that depends on the
    // seed and the depth alone, so that alternatives above meet the same dice.
    uint32_t select_chance(uint32_t index, size_t depth) const {
        const Node& node = tree_.node(index);
        uint32_t total = 0;
        for (uint32_t i = 0; i < node.num_edges; ++i) total += tree_.edge(node, i).visits;
        uint32_t best = 0;
        float best_lag = 0;
        uint64_t best_order = 0;
        for (uint32_t i = 0; i < node.num_edges; ++i) {
            const Edge& edge = tree_.edge(node, i);
            const float lag = edge.weight * float(total + 1) - float(edge.visits);
            if (i > 0 && lag < best_lag) continue;
            const uint64_t order = mix64(seed_ + depth * 0x10001 + edge.action);
            if (i > 0 && lag == best_lag && order < best_order) continue;
            best = i, best_lag = lag, best_order = order;
        }
        return best;
    }

    // An opponent's choice among what is legal in the drawn state, by statistics pooled over hands.
    uint32_t select_pooled(Pending& pending) {
        const uint32_t index = pending.node;
        uint32_t best = kNoIndex;
        float best_score = 0, tried = 0;
        edge_of_legal_.resize(pending.legal.size());
        for (size_t i = 0; i < pending.legal.size(); ++i) {
            uint32_t edge = tree_.find_edge(tree_.node(index), pending.legal[i]);
            if (edge == kNoIndex) edge = tree_.add_edge(index, pending.legal[i], 0);
            edge_of_legal_[i] = edge;
            if (tree_.edge(tree_.node(index), edge).visits > 0) tried += from_half(pending.evaluated.priors[i]);
        }
        const Node& node = tree_.node(index);
        const float view = sign(node.mover);
        const float untried = view * node.mean_first_player - options_.fpu_reduction * exact_sqrt(tried);
        for (size_t i = 0; i < pending.legal.size(); ++i) {
            Edge& edge = tree_.edge(node, edge_of_legal_[i]);
            ++edge.available;
            const float value = edge.visits == 0 ? untried : view * edge.mean_first_player;
            const float prior = from_half(pending.evaluated.priors[i]);
            const float score = value + c_puct_ * prior * exact_sqrt(float(edge.available)) / float(1 + edge.visits);
            if (best == kNoIndex || score > best_score) best = edge_of_legal_[i], best_score = score;
        }
        return best;
    }

    uint32_t select_gumbel() {  // the edges of a Gumbel root are in the order of its actions
        read_root_statistics();
        return gumbel_.select(num_started_ - 1, root_visits_, root_values_, root_evaluation_to_move());
    }

    float root_evaluation_to_move() const {
        return sign(Mover(player_)) * tree_.node(root_node_).evaluation_first_player;
    }
    void read_root_statistics() {
        const Node& node = tree_.node(root_node_);
        root_visits_.assign(root_actions_.size(), 0);
        root_values_.assign(root_actions_.size(), 0);
        for (uint32_t i = 0; i < node.num_edges; ++i) {
            const Edge& edge = tree_.edge(node, i);
            const size_t at = size_t(std::lower_bound(root_actions_.begin(), root_actions_.end(), edge.action) -
                                     root_actions_.begin());
            root_visits_[at] = edge.visits;
            root_values_[at] = sign(Mover(player_)) * edge.mean_first_player;
        }
    }

    // Reads the root's actions and priors, then adds what the kind of root needs: noise, or edges.
    void prepare_root();
    void add_noise(Rng& rng);
    uint32_t next_slot_of_root() const {  // the first that is not an edge yet
        const Node& node = tree_.node(root_node_);
        uint32_t slot = 0;
        while (tree_.slot_prior(node, slot) == 0) ++slot;
        return slot;
    }

    void add_outcomes_of_mean(float value_first_player) {
        float outcomes_player[kMaxOutcomes];
        outcomes_.with_mean(sign(Mover(player_)) * value_first_player, outcomes_player);
        for (int i = 0; i < outcomes_.count(); ++i) outcome_sums_[i] += outcomes_player[i];
    }

    void choose(RootResult& result);
    void prune_target(RootResult& result);
    void follow_best(RootResult& result) const;

    const Facts* facts_;
    OutcomeTable outcomes_;
    Tree tree_;
    std::optional<P> root_;
    SearchOptions options_;
    GumbelRoot gumbel_;
    EvaluationCache* cache_ = nullptr;
    std::optional<EvaluationCache> own_cache_;
    std::vector<Pending> pending_;
    std::vector<Action> root_actions_;
    std::vector<float> root_priors_;  // before noise
    std::vector<uint32_t> root_visits_, edge_of_legal_;
    std::vector<float> root_values_, scratch_;
    std::vector<uint8_t> observation_;
    std::vector<ChanceOutcome> chances_;
    double outcome_sums_[kMaxOutcomes] = {};  // of this search's simulations, in the view of player_
    uint64_t seed_ = 0, version_ = 0;
    uint32_t root_node_ = kNoIndex, num_started_ = 0, num_completed_ = 0, num_out_ = 0, depth_ = 0;
    float c_puct_ = 1;
    int player_ = 0;  // who searches: the root's mover, or roller
    bool memory_full_ = false;
};

template <Game P>
void Search<P>::prepare_root() {
    const bool chance = tree_.node(root_node_).kind == NodeKind::chance;
    if (chance) {
        chances_.resize(facts_->num_chance_outcomes);
        chances_.resize(root_->chance_outcomes(chances_.data()));
        root_actions_.clear();
        for (const ChanceOutcome& outcome : chances_) root_actions_.push_back(outcome.id);
    } else {
        root_actions_.resize(facts_->num_actions);
        root_actions_.resize(root_->legal_actions(root_actions_.data()));
    }
    const int count = int(root_actions_.size());
    root_priors_.assign(count, 0);
    const auto position_of = [&](Action action) {
        return std::lower_bound(root_actions_.begin(), root_actions_.end(), action) - root_actions_.begin();
    };
    Node& node = tree_.node(root_node_);
    for (uint32_t i = 0; i < node.num_edges; ++i)
        root_priors_[position_of(tree_.edge(node, i).action)] = tree_.edge(node, i).weight;
    for (uint32_t slot = 0; slot < node.num_slots; ++slot) {
        const float prior = tree_.slot_prior(node, slot);
        if (prior > 0) root_priors_[position_of(tree_.slot_action(node, slot))] = prior;
    }
    if (chance) return;
    Rng rng(derive_seed(seed_, ~0ULL));
    if (options_.root == RootKind::gumbel) {
        while (tree_.node(root_node_).num_edges < count) tree_.visit_slot(root_node_, next_slot_of_root());
        gumbel_.begin(root_priors_, options_, rng);
    } else if (options_.dirichlet_epsilon > 0 && count > 1) {
        add_noise(rng);
    }
}

// Mixes Dirichlet noise into the root's priors: those of its edges and those still in slots.
template <Game P>
void Search<P>::add_noise(Rng& rng) {
    const int count = int(root_actions_.size());
    const double alpha = options_.dirichlet_alpha > 0 ? options_.dirichlet_alpha : 10.0 / count;
    std::vector<double> noise(count);
    double sum = 0;
    for (double& each : noise) sum += each = rng.gamma(alpha);
    const auto mixed = [&](Action action) {
        const auto at = std::lower_bound(root_actions_.begin(), root_actions_.end(), action) - root_actions_.begin();
        const float share = sum > 0 ? float(noise[at] / sum) : 1.0f / float(count);
        return (1 - options_.dirichlet_epsilon) * root_priors_[at] + options_.dirichlet_epsilon * share;
    };
    Node& node = tree_.node(root_node_);
    node.visited_prior = 0;
    for (uint32_t i = 0; i < node.num_edges; ++i) {
        Edge& edge = tree_.edge(node, i);
        node.visited_prior += edge.weight = mixed(edge.action);
    }
    for (uint32_t slot = 0; slot < node.num_slots; ++slot)
        if (tree_.slot_prior(node, slot) > 0) tree_.set_slot_prior(node, slot, mixed(tree_.slot_action(node, slot)));
    if (node.num_unvisited > 0) tree_.find_best_slot(node);
}

template <Game P>
RootResult Search<P>::result() {
    RootResult result;
    if (root_node_ == kNoIndex || !tree_.node(root_node_).evaluated) return result;
    const Node& node = tree_.node(root_node_);
    const float largest = facts_->largest_reward(), view = sign(Mover(player_));
    read_root_statistics();
    result.actions = root_actions_;
    result.priors = root_priors_;
    result.visits = root_visits_;
    float total = 0, value_sum = 0;
    for (size_t i = 0; i < root_actions_.size(); ++i) {
        result.values_to_move.push_back(largest * root_values_[i]);
        total += float(root_visits_[i]);
        value_sum += float(root_visits_[i]) * root_values_[i];
    }
    result.solved = node.solved;
    const float mean = node.solved ? view * node.mean_first_player
                       : total > 0 ? value_sum / total
                                   : root_evaluation_to_move();
    result.value_to_move = largest * mean;
    result.outcomes_to_move.resize(outcomes_.count());
    double sum = 0;
    for (int i = 0; i < outcomes_.count(); ++i) sum += outcome_sums_[i];
    if (sum > 0) {
        for (int i = 0; i < outcomes_.count(); ++i) result.outcomes_to_move[i] = float(outcome_sums_[i] / sum);
    } else {
        outcomes_.with_mean(mean, result.outcomes_to_move.data());
    }
    choose(result);
    for (size_t i = 0; i < result.target.size(); ++i)
        if (result.target[i] > 0)
            result.surprise += result.target[i] * float(exact_log(result.target[i] / result.priors[i]));
    follow_best(result);
    result.num_simulations = num_completed_;
    result.depth = depth_;
    result.num_nodes = tree_.num_nodes();
    result.num_bytes = tree_.num_bytes();
    result.memory_full = memory_full_;
    return result;
}

// Fills best_action, policy and target.
template <Game P>
void Search<P>::choose(RootResult& result) {
    const Node& node = tree_.node(root_node_);
    if (options_.root == RootKind::gumbel && node.kind == NodeKind::decision) {
        gumbel_.improved_policy(root_visits_, root_values_, root_evaluation_to_move(), result.policy);
        result.target = result.policy;
        result.best_action = root_actions_[gumbel_.best(root_visits_, root_values_, root_evaluation_to_move())];
        return;
    }
    float total = 0;
    for (const uint32_t visits : root_visits_) total += float(visits);
    result.policy = result.priors;
    if (total > 0)
        for (size_t i = 0; i < result.policy.size(); ++i) result.policy[i] = float(root_visits_[i]) / total;
    // Proven wins first, proven losses last, then visits, then value.
    size_t best = 0;
    const auto rank = [&](size_t i) {
        const uint32_t at = tree_.find_edge(node, root_actions_[i]);
        if (at == kNoIndex || !tree_.edge(node, at).solved) return 0;
        return root_values_[i] == 1 ? 1 : root_values_[i] == -1 ? -1 : 0;
    };
    const auto better = [&](size_t a, size_t b) {
        if (rank(a) != rank(b)) return rank(a) > rank(b);
        if (root_visits_[a] != root_visits_[b]) return root_visits_[a] > root_visits_[b];
        return root_visits_[a] > 0 ? root_values_[a] > root_values_[b] : result.priors[a] > result.priors[b];
    };
    for (size_t i = 1; i < root_actions_.size(); ++i)
        if (better(i, best)) best = i;
    result.best_action = root_actions_[best];
    result.target = result.policy;
    if (options_.forced_playouts > 0 && total > 0) prune_target(result);
}

// Takes from each action but the most visited one the visits it got by force alone: as many as it
// can lose before the search would have chosen it again by itself. A single visit left is dropped.
template <Game P>
void Search<P>::prune_target(RootResult& result) {
    const Node& node = tree_.node(root_node_);
    const float view = sign(node.mover), scale = c_puct_ * exact_sqrt(float(node.visits));
    const auto score = [&](const Edge& edge, float visits) {
        return view * edge.mean_first_player + scale * edge.weight / (1 + visits);
    };
    const Edge* most = nullptr;
    for (uint32_t i = 0; i < node.num_edges; ++i)
        if (!most || tree_.edge(node, i).visits > most->visits) most = &tree_.edge(node, i);
    const float bar = score(*most, float(most->visits));
    float total = 0;
    for (size_t i = 0; i < root_actions_.size(); ++i) {
        const uint32_t at = tree_.find_edge(node, root_actions_[i]);
        float kept = float(root_visits_[i]);
        if (at != kNoIndex && &tree_.edge(node, at) != most) {
            const Edge& edge = tree_.edge(node, at);
            const float least = kept - forced_visits(edge, node);
            while (kept > least && kept > 0 && score(edge, kept - 1) < bar) --kept;
            if (kept <= 1) kept = 0;
        }
        result.target[i] = kept;
        total += kept;
    }
    for (float& share : result.target) share /= total;
}

// The most visited line, down to the first roll of dice.
template <Game P>
void Search<P>::follow_best(RootResult& result) const {
    uint32_t index = root_node_;
    while (index != kNoIndex && tree_.node(index).kind != NodeKind::chance) {
        const Node& node = tree_.node(index);
        const Edge* best = nullptr;
        for (uint32_t i = 0; i < node.num_edges; ++i) {
            const Edge& edge = tree_.edge(node, i);
            const bool chosen = index == root_node_ && edge.action == result.best_action;
            if (edge.visits > 0 && (!best || edge.visits > best->visits || chosen)) best = &edge;
            if (chosen) break;
        }
        if (!best) return;
        result.principal_variation.push_back(best->action);
        index = best->child;
        for (uint32_t other = index; other != kNoIndex; other = tree_.node(other).next_sibling)
            if (tree_.node(other).visits > tree_.node(index).visits) index = other;
    }
}

}  // namespace zf
