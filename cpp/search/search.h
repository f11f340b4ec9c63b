// Monte Carlo tree search as in AlphaZero: hands out leaves, takes their evaluations, and returns
// the result of the root.
//
//     search.begin(position, options, seed, version, &cache);
//     while (!search.finished())
//         if (int slot = search.gather(observation); slot >= 0)
//             search.absorb(slot, evaluate(observation));
//     RootResult result = search.result();
//
// It never calls a network, so the same code serves a GPU, a browser and a test. All values in the
// tree are in player 0's view (`..._first_player`), divided by the game's largest reward: backup
// needs no sign changes, and selection converts them into the mover's view.
//
// With hidden information it is information-set MCTS: each simulation samples a hidden state that
// is consistent with what the searching player (to move at the root) knows; position_nodes.h maps
// positions to nodes. An opponent's node chooses among the actions legal in the sampled state, with
// priors from the opponent's own observation; every value comes from the searcher's observation.
//
// Positions where nothing is hidden are searched as those of a game with perfect information:
// values and priors come from the mover's observation, and wins and losses are proven. What is
// proven below a sampled hidden state holds for that state only, so no proof passes a node where
// something is hidden: there, proven values are averaged as other values are.
#pragma once

#include <optional>
#include <utility>

#include "games/game.h"
#include "search/cache.h"
#include "search/leaf_solver.h"
#include "search/options.h"
#include "search/position_nodes.h"
#include "search/root.h"
#include "search/simulation.h"
#include "search/tree.h"

namespace zf {

template <Game P>
class Search {
  public:
    // `facts` must outlive the search.
    explicit Search(const Facts& facts)
        : facts_(&facts),
          takes_wins_(facts.takes_immediate_wins()),
          outcomes_(facts),
          nodes_(facts),
          answers_(facts) {}

    // Asks this solver at the root and at new leaves of the searches begun from now on, where
    // `prove` is set; null: none. It must outlive them.
    void use_solver(LeafSolver<P>* solver) { solver_ = solver; }

    // Starts on a position that is not over, with an empty tree. The cache may be null; `version`
    // is that of the weights that evaluate. Samples and noise depend on `seed` alone.
    void begin(const P& root, const SearchOptions& options, uint64_t seed, uint64_t version,
               EvaluationCache* cache) {
        root_node_ = kNoIndex;
        restart(root, options, seed, version, cache);
    }

    // Like begin, but reuses the subtree of this position, which `played` (actions and chance
    // outcomes) reached from the last root. Only for PUCT with perfect information; else, and if
    // the last search did not reach it, the tree is empty. `scratch` is spare memory.
    void begin_after(std::span<const Action> played, Tree& scratch, const P& root,
                     const SearchOptions& options, uint64_t seed, uint64_t version,
                     EvaluationCache* cache) {
        const bool keeps = !facts_->hidden && options.root == RootKind::puct;
        const uint32_t index = keeps ? tree_.find_evaluated(root_node_, played) : kNoIndex;
        if (index != kNoIndex) {
            tree_.copy_subtree(index, scratch);
            std::swap(tree_, scratch);
        }
        const bool fits = tree_.num_bytes() <= options.max_bytes / 2;
        root_node_ = index != kNoIndex && fits ? 0 : kNoIndex;
        restart(root, options, seed, version, cache);
    }

    bool finished() const {
        return num_completed_ >= options_.num_simulations || (memory_full_ && num_in_flight_ == 0);
    }
    uint32_t num_simulations() const { return num_completed_; }
    // Whether the root's value is proven.
    bool solved() const { return root_node_ != kNoIndex && tree_.node(root_node_).solved; }

    // Starts no further simulation after the first; those in flight still need their evaluation.
    // Not for Gumbel, whose halving is planned for the whole budget.
    void stop() { options_.num_simulations = std::max<uint32_t>(1, num_started_); }

    // Runs simulations until one needs an evaluation: writes its observation and returns its slot.
    // Returns -1 if there is none now: the budget is spent, max_leaves are in flight, or many
    // simulations in a row needed none.
    int gather(uint8_t* observation) {
        for (int pass = 0; pass < kMaxPasses; ++pass) {
            const int slot = next_slot();
            if (slot < 0) return -1;
            Simulation& simulation = simulations_[slot];
            if (simulation.state == State::free && !start(simulation)) return -1;
            switch (descend(simulation)) {
                case Descent::scored:
                    finish(simulation);
                    break;
                case Descent::blocked:
                    abandon(simulation);
                    return -1;
                case Descent::leaf:
                    if (answers_.find(simulation, observation)) {
                        apply(simulation);
                        break;
                    }
                    simulation.state = State::in_flight;
                    ++num_in_flight_;
                    return slot;
            }
        }
        return -1;
    }

    // Takes the evaluation of a leaf. False, and the leaf stays in flight, if a number is not
    // finite.
    bool absorb(int slot, const Evaluation& evaluation) {
        Simulation& simulation = simulations_[slot];
        if (!answers_.take(evaluation, simulation)) return false;
        --num_in_flight_;
        apply(simulation);
        return true;
    }

    // The leaf in `slot`, for evaluators that read the position itself.
    const P& leaf_position(int slot) const { return simulations_[slot].position; }
    int leaf_observer(int slot) const { return simulations_[slot].observer; }

    // The actions whose logits `absorb` reads for that leaf; none where only its value is asked.
    std::span<const Action> leaf_actions(int slot) const { return simulations_[slot].legal; }

    // The result so far. Empty before the root is evaluated.
    RootResult result() {
        RootResult result;
        if (root_node_ == kNoIndex || !tree_.node(root_node_).evaluated) return result;
        root_.report(tree_, outcomes_, facts_->largest_reward(), result);
        result.num_simulations = num_completed_;
        result.depth = depth_;
        result.num_bytes = tree_.num_bytes();
        result.memory_full = memory_full_;
        return result;
    }

  private:
    static constexpr int kMaxPasses = 256;

    using Simulation = zf::Simulation<P>;
    using State = typename Simulation::State;
    using Purpose = typename Simulation::Purpose;
    enum class Descent : uint8_t { leaf, scored, blocked };

    // ---- start

    void restart(const P& root, const SearchOptions& options, uint64_t seed, uint64_t version,
                 EvaluationCache* cache) {
        if (root_node_ == kNoIndex) {
            tree_.clear();
            if (!has_room(1, options)) tree_ = Tree();
        }
        root_position_.emplace(root);
        options_ = options;
        rule_ = {options.c_puct > 0 ? options.c_puct : facts_->c_puct, options.fpu_reduction};
        seed_ = seed;
        answers_.begin(options.num_simulations, version, cache);
        player_ = root.to_move() == kChance ? root.roller() : root.to_move();
        nodes_.begin(player_, options.opponent_nodes);
        if (facts_->hidden) {  // not even the root may show what is hidden
            Rng rng(derive_seed(seed, kRootStream));
            root_position_->resample_hidden(player_, rng);
        }
        num_started_ = num_completed_ = num_in_flight_ = depth_ = 0;
        memory_full_ = false;
        simulations_.resize(std::max<uint32_t>(1, options.max_leaves), Simulation(root));
        for (Simulation& simulation : simulations_) simulation.state = State::free;
        if (root_node_ != kNoIndex) {
            float outcomes_player[kMaxOutcomes];
            const float evaluation = tree_.node(root_node_).evaluation_first_player;
            outcomes_.with_mean(sign(Mover(player_)) * evaluation, outcomes_player);
            prepare_root(outcomes_player);
        }
    }

    bool has_room(uint32_t num_simulations, const SearchOptions& options) const {
        const int most_edges = std::max(facts_->num_actions, facts_->num_chance_outcomes);
        return tree_.has_room(num_simulations, uint64_t(most_edges), options.max_bytes);
    }

    // Precondition: the root is evaluated, with `outcomes_player`.
    void prepare_root(const float* outcomes_player) {
        std::vector<Action> actions;
        if (root_position_->to_move() == kChance) {
            make_outcomes(root_node_, *root_position_);
            const Node& root = tree_.node(root_node_);
            for (uint32_t i = 0; i < root.num_edges; ++i)
                actions.push_back(tree_.edge(root, i).action);
        } else {
            actions.resize(facts_->num_actions);
            actions.resize(root_position_->legal_actions(actions.data()));
        }
        root_.outcomes().begin(outcomes_.count(), actions.size(), outcomes_player);
        root_.prepare(tree_, root_node_, actions, player_, options_, rule_,
                      derive_seed(seed_, kNoiseStream));
        if (options_.prove && takes_wins_ && tree_.node(root_node_).kind == NodeKind::decision &&
            may_win_at_once(*root_position_))
            find_wins(actions);
        const Node& root = tree_.node(root_node_);
        if (solver_ && options_.prove && root.provable && root.kind == NodeKind::decision &&
            !root.solved)
            ask_solver_at_root();
    }

    // Proves a root that wins at once, whatever the budget.
    void find_wins(std::span<const Action> actions) {
        for (const Action action : actions) {
            P after = *root_position_;
            after.play(action);
            if (after.to_move() != kOver || outcomes_.scaled_reward(after.outcome(player_)) <= 0)
                continue;
            const float won_first_player = sign(Mover(player_));
            const uint32_t at = tree_.edge_for(root_node_, action);
            Node& root = tree_.node(root_node_);
            set_solved(tree_.edge(root, at), won_first_player, 1);
            root.solved = true;
            root.mean_first_player = won_first_player;
        }
    }

    void ask_solver_at_root() {
        const ProvenRoot proven = solver_->solve_root(*root_position_);
        float best = -1;
        for (const auto& [action, value] : proven.actions) {
            const uint32_t at = tree_.edge_for(root_node_, action);
            const float exact = outcomes_.mean(value.outcomes_to_move);
            set_solved(tree_.edge(tree_.node(root_node_), at), sign(Mover(player_)) * exact,
                       value.plies_to_end);
            root_.outcomes().prove(at, value.outcomes_to_move);
            best = std::max(best, exact);
        }
        if (!proven.decided) return;
        Node& root = tree_.node(root_node_);
        root.solved = true;
        root.mean_first_player = sign(Mover(player_)) * best;
    }

    // A simulation that can continue, else a free one, else -1.
    int next_slot() const {
        int free = -1;
        for (int i = 0; i < int(simulations_.size()); ++i) {
            if (simulations_[i].state == State::descending) return i;
            if (simulations_[i].state == State::free && free < 0) free = i;
        }
        return free;
    }

    bool start(Simulation& simulation) {
        if (root_node_ == kNoIndex || !tree_.node(root_node_).evaluated) {
            if (num_in_flight_ > 0) return false;  // the root is in flight
        } else {
            if (num_started_ >= options_.num_simulations || memory_full_) return false;
            memory_full_ = !has_room(num_in_flight_ + 1, options_);
            if (memory_full_) return false;
            ++num_started_;
        }
        simulation.position = *root_position_;
        simulation.path.clear();
        simulation.node = root_node_;
        simulation.has_priors = false;
        simulation.dice_stream = derive_seed(seed_, kDiceStream);
        simulation.state = State::descending;
        return true;
    }

    // ---- descent

    Descent descend(Simulation& simulation) {
        if (root_node_ == kNoIndex) {
            simulation.node = root_node_ = nodes_.add(tree_, *root_position_);
            return await_evaluation(simulation);
        }
        for (;;) {
            if (!tree_.node(simulation.node).evaluated) return Descent::blocked;
            uint32_t chosen = 0;
            if (!select(simulation, chosen)) return Descent::leaf;
            if (simulation.path.empty() && !tree_.node(root_node_).provable)
                sample_hidden(simulation, chosen);
            if (step_down(simulation, chosen)) return Descent::scored;
            if (simulation.node == kNoIndex) {
                simulation.node =
                    nodes_.add_child(tree_, simulation.path.back(), simulation.position);
                return await_evaluation(simulation);
            }
        }
    }

    // Chooses an edge of the simulation's node. False if its priors need an evaluation.
    bool select(Simulation& simulation, uint32_t& chosen) {
        const uint32_t index = simulation.node;
        const NodeKind kind = tree_.node(index).kind;
        // They hold for this node alone, even if another simulation has set its priors.
        const bool has_priors = std::exchange(simulation.has_priors, false);
        if (kind == NodeKind::chance) {
            make_outcomes(index, simulation.position);
            chosen = select_chance(tree_, index, simulation.dice_stream);
            return true;
        }
        if (kind == NodeKind::pooled || tree_.node(index).priors == kNoIndex) {
            if (!has_priors && !find_priors(simulation)) return false;
            const auto& priors = simulation.evaluated.priors;
            if (kind == NodeKind::pooled) {
                chosen = select_pooled(tree_, index, simulation.legal, priors, rule_);
                return true;
            }
            tree_.set_priors(index, simulation.legal, priors, facts_->num_actions);
        }
        chosen = simulation.path.empty() ? root_.select(tree_, num_started_ - 1)
                                         : select_puct(tree_, index, rule_);
        return true;
    }

    // Each simulation samples its own hidden state; the candidates of a Gumbel round share them.
    void sample_hidden(Simulation& simulation, uint32_t chosen) {
        const Node& root = tree_.node(root_node_);
        const bool by_visit = options_.root == RootKind::gumbel && root.kind == NodeKind::decision;
        Rng rng(derive_seed(seed_, by_visit ? tree_.edge(root, chosen).visits : num_started_));
        simulation.position.resample_hidden(player_, rng);
    }

    // Follows an edge. True if its value is known: the game is over, or the edge is solved. Else
    // the simulation is at the child, or at kNoIndex if that is yet to be made.
    bool step_down(Simulation& simulation, uint32_t chosen) {
        const bool proves = options_.prove && tree_.node(simulation.node).provable;
        Edge& edge = tree_.edge(tree_.node(simulation.node), chosen);
        simulation.path.push_back({simulation.node, chosen, 0});
        depth_ = std::max(depth_, uint32_t(simulation.path.size()));
        if (options_.max_leaves > 1) add_virtual_loss(tree_, simulation.path.back());
        if (edge.solved) {
            take_proven(simulation, edge.mean_first_player);
            return true;
        }
        if (simulation.position.to_move() == kChance)
            simulation.dice_stream = mix64(simulation.dice_stream ^ edge.action);
        simulation.position.play(edge.action);
        const Mover mover = simulation.position.to_move();
        if (mover == kOver) {
            simulation.value_first_player = outcomes_.scaled_reward(simulation.position.outcome(0));
            std::fill_n(simulation.outcomes_player, outcomes_.count(), 0.0f);
            simulation.outcomes_player[simulation.position.outcome(player_)] = 1;
            if (proves) set_solved(edge, simulation.value_first_player, 1);
            return true;
        }
        simulation.node = nodes_.find_child(tree_, edge, simulation.position);
        if (simulation.node == kNoIndex) {
            const auto known = ask_solver_at_leaf(simulation);
            if (known && proves) {
                set_solved(edge, simulation.value_first_player, 1 + *known);
                if (simulation.path.size() == 1)
                    root_.outcomes().prove(chosen, simulation.outcomes_player);
            }
            return known.has_value();
        }
        // Below a node where something is hidden the child is solved, but not the edge.
        const Node& child = tree_.node(simulation.node);
        if (child.solved) take_proven(simulation, child.mean_first_player);
        return child.solved;
    }

    void take_proven(Simulation& simulation, float exact_first_player) {
        simulation.value_first_player = exact_first_player;
        outcomes_.with_mean(sign(Mover(player_)) * exact_first_player, simulation.outcomes_player);
    }

    // Where the solver knows the value of the simulation's position, takes it and gives the plies
    // to the end.
    std::optional<uint32_t> ask_solver_at_leaf(Simulation& simulation) {
        if (!solver_ || !options_.prove) return {};
        const std::optional<ProvenValue> proven = solver_->solve_leaf(simulation.position);
        if (!proven) return {};
        const Mover mover = simulation.position.to_move();
        const int viewer = mover == kChance ? simulation.position.roller() : mover;
        if (viewer == player_) {
            std::copy_n(proven->outcomes_to_move, outcomes_.count(), simulation.outcomes_player);
        } else {
            outcomes_.flip_view(proven->outcomes_to_move, simulation.outcomes_player);
        }
        simulation.value_first_player =
            sign(Mover(player_)) * outcomes_.mean(simulation.outcomes_player);
        return proven->plies_to_end;
    }

    // ---- evaluations

    // Requests the evaluation of a new node. The priors of an opponent with a hidden hand are
    // requested at the next visit.
    Descent await_evaluation(Simulation& simulation) {
        const Node& node = tree_.node(simulation.node);
        simulation.purpose = Purpose::expand;
        simulation.observer = node.provable ? node.mover : player_;
        if (node.kind == NodeKind::decision && node.mover == simulation.observer) {
            simulation.read_legal(facts_->num_actions);
        } else {
            simulation.legal.clear();
        }
        return Descent::leaf;
    }

    // Looks up the priors of an opponent's node for the sampled hand; on a miss, prepares to
    // request them.
    bool find_priors(Simulation& simulation) {
        simulation.read_legal(facts_->num_actions);
        simulation.purpose = Purpose::priors;
        simulation.observer = tree_.node(simulation.node).mover;
        if (simulation.legal.size() == 1) {
            simulation.evaluated.priors.assign(1, to_half(1));
            return true;
        }
        return answers_.find_priors(simulation);
    }

    // Uses an evaluation: expands the leaf and ends the simulation, or continues with the priors.
    void apply(Simulation& simulation) {
        if (simulation.purpose == Purpose::priors) {
            simulation.has_priors = true;
            simulation.state = State::descending;
            return;
        }
        const float* given = simulation.evaluated.outcomes_observer;
        if (simulation.observer == player_) {
            std::copy(given, given + outcomes_.count(), simulation.outcomes_player);
        } else {
            outcomes_.flip_view(given, simulation.outcomes_player);
        }
        simulation.value_first_player =
            sign(Mover(player_)) * outcomes_.mean(simulation.outcomes_player);
        expand(simulation);
        if (simulation.path.empty()) {  // the root's evaluation is not a simulation
            prepare_root(simulation.outcomes_player);
            simulation.state = State::free;
            return;
        }
        finish(simulation);
    }

    void expand(const Simulation& simulation) {
        Node& node = tree_.node(simulation.node);
        node.evaluated = true;
        node.evaluation_first_player = node.mean_first_player = simulation.value_first_player;
        node.visits = 1;
        if (!simulation.legal.empty())
            tree_.set_priors(simulation.node, simulation.legal, simulation.evaluated.priors,
                             facts_->num_actions);
    }

    // Makes the edges of a chance node on its second visit: most are visited only once.
    void make_outcomes(uint32_t index, const P& position) {
        if (tree_.node(index).num_edges > 0) return;
        chances_.resize(facts_->num_chance_outcomes);
        const int count = position.chance_outcomes(chances_.data());
        tree_.reserve_edges(index, uint32_t(count));
        for (int i = 0; i < count; ++i)
            tree_.add_edge(index, chances_[i].id, float(chances_[i].probability));
    }

    // ---- backup

    void finish(Simulation& simulation) {
        if (options_.max_leaves > 1) {
            replace_virtual_loss(tree_, simulation.path, simulation.value_first_player);
        } else {
            backup_value(tree_, simulation.path, simulation.value_first_player);
        }
        if (options_.prove) backup_proofs(tree_, simulation.path);
        root_.outcomes().add(simulation.path[0].edge, simulation.outcomes_player);
        simulation.state = State::free;
        ++num_completed_;
    }

    void abandon(Simulation& simulation) {
        remove_virtual_loss(tree_, simulation.path);
        simulation.state = State::free;
        --num_started_;
    }

    // Random streams beside those of the simulations, which count from 0.
    static constexpr uint64_t kNoiseStream = ~0ULL, kRootStream = ~1ULL, kDiceStream = ~2ULL;

    const Facts* facts_;
    bool takes_wins_;
    OutcomeTable outcomes_;
    PositionNodes<P> nodes_;
    LeafAnswers<P> answers_;
    Tree tree_;
    SearchRoot root_;
    std::optional<P> root_position_;
    LeafSolver<P>* solver_ = nullptr;
    SearchOptions options_;
    SelectionRule rule_;
    std::vector<Simulation> simulations_;
    std::vector<ChanceOutcome> chances_;
    uint64_t seed_ = 0;
    uint32_t root_node_ = kNoIndex;
    uint32_t num_started_ = 0, num_completed_ = 0, num_in_flight_ = 0, depth_ = 0;
    int player_ = 0;  // searches: to move at the root, or about to roll
    bool memory_full_ = false;
};

}  // namespace zf
