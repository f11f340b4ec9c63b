// Implements any_game.h for a class that meets the contract of games/game.h, and its registry
// entry.
#pragma once

#include <optional>

#include "bind/game_entry.h"
#include "games/checked.h"

namespace zf {

template <Game P>
class PositionOf final : public AnyPosition {
  public:
    PositionOf(P position, std::shared_ptr<const Facts> facts)
        : position_(std::move(position)), facts_(std::move(facts)) {}

    const P& position() const { return position_; }

    std::unique_ptr<AnyPosition> copy() const override {
        return std::make_unique<PositionOf>(position_, facts_);
    }
    Mover to_move() const override { return position_.to_move(); }
    int roller() const override { return position_.roller(); }
    std::vector<Action> legal_actions() const override {
        return zf::legal_actions(position_, *facts_);
    }
    std::vector<ChanceOutcome> chance_outcomes() const override {
        return zf::chance_outcomes(position_, *facts_);
    }
    Result<void> play(int64_t id) override { return play_checked(position_, *facts_, id); }
    Result<int> outcome(int player) const override {
        if (const auto fault = fault_of_player(player)) return *fault;
        if (to_move() == kOver) return position_.outcome(player);
        return Error{Error::Kind::illegal, "there is no result before the game is over (" +
                                               facts_->name + ", " + mover_text(to_move()) + ")"};
    }
    Result<std::vector<uint8_t>> observe(int player) const override {
        if (const auto fault = fault_of_player(player)) return *fault;
        return observation(position_, *facts_, player);
    }
    Result<void> resample_hidden(int player, uint64_t seed) override {
        if (const auto fault = fault_of_player(player)) return *fault;
        Rng rng(seed);
        position_.resample_hidden(player, rng);
        return {};
    }
    bool nothing_hidden() const override { return zf::nothing_hidden(position_, *facts_); }

    std::string to_text() const override { return position_.to_text(); }
    Result<std::string> action_text(int64_t id) const override {
        const bool chance = to_move() == kChance;
        const int count = chance ? facts_->num_chance_outcomes : facts_->num_actions;
        if (id >= 0 && id < count) return position_.action_text(Action(id));
        return Error{Error::Kind::illegal, std::string(chance ? "chance outcome " : "action ") +
                                               std::to_string(id) + " is not an id of " +
                                               facts_->name + "; ids are 0…" +
                                               std::to_string(count - 1)};
    }
    Result<Action> action_from_text(const std::string& text) const override {
        return position_.action_from_text(text);
    }
    Result<void> play_from_text(const std::string& text) override {
        P played = position_;
        const Result<void> result = played.play_from_text(text);
        if (result) position_ = std::move(played);
        return result;
    }
    std::string picture() const override { return position_.picture(); }
    Result<Described> describe(int player) const override {
        if (player != -1)
            if (const auto fault = fault_of_player(player)) return *fault;
        return position_.describe(player);
    }
    Result<Described> steps(int64_t id) const override {
        P played = position_;
        if (const Result<void> legal = play_checked(played, *facts_, id); !legal)
            return legal.error();
        if constexpr (requires { position_.steps(Action(id)); }) {
            return position_.steps(Action(id));
        } else {
            return Described(Described::List{});
        }
    }

  private:
    static std::optional<Error> fault_of_player(int player) {
        if (player == 0 || player == 1) return {};
        return Error{Error::Kind::illegal, "player must be 0 or 1, got " + std::to_string(player)};
    }

    P position_;
    std::shared_ptr<const Facts> facts_;
};

template <Game P>
class CheckOf final : public AnyCheck {
  public:
    CheckOf(const typename P::Options& options, uint64_t seed) : checker_(options, seed) {}
    Result<CheckReport> run(int num_games) override { return checker_.run(num_games); }
    const std::string& where() const override { return checker_.where(); }

  private:
    GameChecker<P> checker_;
};

template <Game P>
class SearchOf final : public AnySearch {
  public:
    // `make_solver` may be null: the game has no solver that a search could ask.
    SearchOf(std::shared_ptr<const Facts> facts, const typename P::Options& options,
             MakeLeafSolver<P> make_solver)
        : facts_(std::move(facts)),
          options_(options),
          make_solver_(make_solver),
          search_(*facts_),
          observation_(facts_->observation_bytes) {}

    Result<void> begin(const AnyPosition& root, const SearchOptions& options,
                       uint64_t seed) override {
        if (root.to_move() == kOver)
            return Error{Error::Kind::illegal,
                         "the game is over: there is nothing to search (" + facts_->name + ")"};
        if (options.use_endgame_solver && !make_solver_)
            return Error{Error::Kind::unsupported,
                         facts_->name + " has no solver that a search could ask"};
        const P& position = static_cast<const PositionOf<P>&>(root).position();
        solver_ = options.use_endgame_solver ? make_solver_(options_) : nullptr;
        search_.use_solver(solver_.get());
        search_.begin(position, options, seed, 0, nullptr);
        return {};
    }
    bool finished() const override { return search_.finished(); }
    bool solved() const override { return search_.solved(); }
    void stop() override { search_.stop(); }
    int gather(uint8_t* observation) override { return search_.gather(observation); }
    bool absorb(int slot, const Evaluation& evaluation) override {
        return search_.absorb(slot, evaluation);
    }
    void run(CoreEvaluator& evaluator, int num_leaves) override {
        for (int i = 0; i < num_leaves && !search_.finished(); ++i) {
            const int slot = search_.gather(observation_.data());
            if (slot < 0) continue;
            search_.absorb(slot, evaluator.evaluate(search_.leaf_position(slot),
                                                    search_.leaf_observer(slot), observation_));
        }
    }
    RootResult result() override { return search_.result(); }

  private:
    std::shared_ptr<const Facts> facts_;
    typename P::Options options_;
    MakeLeafSolver<P> make_solver_;
    std::unique_ptr<LeafSolver<P>> solver_;  // null: not asked for
    Search<P> search_;
    std::vector<uint8_t> observation_;
};

template <Game P>
class RecheckOf final : public AnyRecheck {
  public:
    RecheckOf(const typename P::Options& game_options, const OptionValues& option_values,
              std::shared_ptr<const Facts> facts, const SelfPlayOptions& options)
        : facts_(std::move(facts)),
          recheck_(game_options, option_values, *facts_, options),
          observation_(facts_->observation_bytes) {}

    Result<void> begin(const Episode& episode, size_t number) override {
        in_flight_ = false;
        return recheck_.begin(episode, number);
    }
    bool finished() const override { return recheck_.finished(); }
    int gather(uint8_t* observation) override {
        if (in_flight_ || !recheck_.gather(observation)) return -1;
        in_flight_ = true;
        return 0;
    }
    bool absorb(int, const Evaluation& evaluation) override {
        if (!recheck_.absorb(evaluation)) return false;
        in_flight_ = false;
        return true;
    }
    void run(CoreEvaluator& evaluator, int num_leaves) override {
        for (int i = 0; i < num_leaves && !recheck_.finished(); ++i)
            if (recheck_.gather(observation_.data()))
                recheck_.absorb(evaluator.evaluate(recheck_.leaf_position(),
                                                   recheck_.leaf_observer(), observation_));
    }
    Event event() override { return recheck_.event(); }

  private:
    std::shared_ptr<const Facts> facts_;
    Recheck<P> recheck_;
    std::vector<uint8_t> observation_;
    bool in_flight_ = false;  // one leaf at a time
};

template <Game P>
class GameOf final : public AnyGame {
  public:
    // `make_solver` may be null: the game has no solver that a search could ask.
    GameOf(const typename P::Options& options, OptionValues values,
           MakeLeafSolver<P> make_solver = nullptr)
        : AnyGame(P::facts(options), std::move(values)),
          options_(options),
          make_solver_(make_solver) {}

    std::unique_ptr<AnyPosition> new_position(uint64_t seed) const override {
        Rng rng(seed);
        return hold(P::start(options_, rng));
    }
    Result<std::unique_ptr<AnyPosition>> from_text(const std::string& text) const override {
        return hold(P::from_text(options_, text));
    }
    Result<std::unique_ptr<AnyPosition>> from_describe(const Described& described) const override {
        return hold(P::from_describe(options_, described));
    }
    // For callers that have a position of the game's own class.
    std::unique_ptr<AnyPosition> hold(P position) const {
        return std::make_unique<PositionOf<P>>(std::move(position), shared_facts());
    }

    std::unique_ptr<AnyCheck> make_check(uint64_t seed) const override {
        return std::make_unique<CheckOf<P>>(options_, seed);
    }
    std::unique_ptr<AnySearch> make_search() const override {
        return std::make_unique<SearchOf<P>>(shared_facts(), options_, make_solver_);
    }
    RandomGames random_games(int64_t num_games, uint64_t seed) const override {
        RandomGames games;
        games.num_games = num_games;
        games.num_outcomes_first_player.resize(facts().outcomes.size());
        Rng rng(seed);
        for (int64_t game = 0; game < num_games; ++game) {
            P position = P::start(options_, rng);
            int ply = 0;
            for (; ply < facts().max_plies && position.to_move() != kOver; ++ply) {
                const bool chance = position.to_move() == kChance;
                position.play(chance ? position.random_outcome(rng) : position.random_action(rng));
            }
            games.num_plies += ply;
            if (position.to_move() == kOver) {
                ++games.num_outcomes_first_player[position.outcome(0)];
            } else {
                ++games.num_truncated;
            }
        }
        return games;
    }
    Result<void> add_afterstates(const AnyPosition& position, uint64_t seed, int num_draws,
                                 Afterstates& afterstates) const override {
        if (position.to_move() == kOver || position.to_move() == kChance)
            return Error{Error::Kind::illegal,
                         "no player is to move: there is no turn (" + facts().name + ")"};
        const P& start = static_cast<const PositionOf<P>&>(position).position();
        return zf::add_afterstates(start, facts(), seed, num_draws, afterstates);
    }

    std::unique_ptr<AnyGroup> make_group(const SelfPlayOptions& options,
                                         std::shared_ptr<EvaluationCache> cache, uint32_t number,
                                         uint32_t num_groups, uint32_t num_games) const override {
        return std::make_unique<Group<P>>(options_, this->options(), facts(), options,
                                          std::move(cache), number, num_groups, num_games);
    }
    Result<void> check_derived(const Episode& episode,
                               const SelfPlayOptions& options) const override {
        if (const auto fault = fault_of_options(episode)) return *fault;
        return zf::check_derived<P>(episode, options_, this->options(), facts(), options);
    }
    Result<std::unique_ptr<AnyRecheck>> make_recheck(
        const SelfPlayOptions& options) const override {
        if (const auto able = check_searchable_again(options, facts()); !able) return able.error();
        return std::unique_ptr<AnyRecheck>(
            std::make_unique<RecheckOf<P>>(options_, this->options(), shared_facts(), options));
    }
    Result<Episode> record(uint64_t seed, std::span<const int64_t> ids) const override {
        Rng rng(seed);
        P position = P::start(options_, rng);
        Episode episode;
        episode.game = facts().name;
        episode.options = this->options();
        episode.start = position.write_start();
        for (const int64_t id : ids) {
            Event event;
            if (position.to_move() == kChance) event.kind = SearchKind::chance;
            event.id = Action(id);
            if (const Result<void> played = play_checked(position, facts(), id); !played)
                return played.error();
            episode.events.push_back(std::move(event));
        }
        if (position.to_move() == kOver) episode.outcome_first_player = position.outcome(0);
        if (const Result<void> whole = verify(episode); !whole) return whole.error();
        return episode;
    }
    Result<void> verify(const Episode& episode) const override {
        if (const auto fault = fault_of_options(episode)) return *fault;
        return zf::verify<P>(episode, options_, facts());
    }
    Result<ObservationRows> replay_observations(const Episode& episode) const override {
        if (const auto fault = fault_of_options(episode)) return *fault;
        return zf::replay_observations<P>(episode, options_, facts());
    }
    Result<TrainingRows> training_rows(const Episode& episode,
                                       const RowOptions& options) const override {
        if (const auto fault = fault_of_options(episode)) return *fault;
        if (options.use_solved_values && !has_solver())
            return Error{Error::Kind::unsupported,
                         facts().name + " has no solver, so no value of it is exact"};
        const auto solver = options.use_solved_values ? make_solver_(options_) : nullptr;
        return zf::training_rows<P>(episode, options_, facts(), options.value_lambda, solver.get());
    }
    bool has_solver() const override { return make_solver_ != nullptr; }
    Result<std::vector<std::unique_ptr<AnyPosition>>> replay_positions(
        const Episode& episode) const override {
        if (const auto fault = fault_of_options(episode)) return *fault;
        std::vector<std::unique_ptr<AnyPosition>> positions;
        const Result<void> played = replay<P>(
            episode, options_, facts(),
            [&](const P& position, const Event&) { positions.push_back(hold(position)); },
            [&](const P& position) { positions.push_back(hold(position)); });
        if (!played) return played.error();
        return positions;
    }

  private:
    std::optional<Error> fault_of_options(const Episode& episode) const {
        if (episode.game != facts().name || episode.options == this->options()) return {};
        std::string text = "an episode of " + episode.game + " with other options:";
        for (const auto& [name, value] : episode.options) text += " " + name + "=" + value;
        return Error{Error::Kind::inconsistent, text};
    }

    Result<std::unique_ptr<AnyPosition>> hold(Result<P> position) const {
        if (!position) return position.error();
        return hold(std::move(*position));
    }

    typename P::Options options_;
    MakeLeafSolver<P> make_solver_;
};

template <Game P, MakeLeafSolver<P> make_solver = nullptr>
GameEntry game_entry() {
    const std::vector<OptionSpec> specs = P::option_specs();
    const auto options = P::parse_options(default_options(specs));
    return {P::facts(*options).name, specs,
            [](const OptionValues& values) -> Result<std::unique_ptr<AnyGame>> {
                const auto options = P::parse_options(values);
                if (!options) return options.error();
                return std::unique_ptr<AnyGame>(
                    std::make_unique<GameOf<P>>(*options, values, make_solver));
            }};
}

}  // namespace zf
