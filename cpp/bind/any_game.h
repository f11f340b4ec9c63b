// Any game behind one interface: what Python and WebAssembly hold.
//
// game_of.h implements it for every class that meets the contract of games/game.h; registry.h finds
// a game by name. Every call checks its arguments and reports what was wrong. Search, self-play and
// records below it are templates on the game's class: no virtual calls in their loops.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "games/check.h"
#include "games/game.h"
#include "record/replay.h"
#include "record/rows.h"
#include "search/afterstates.h"
#include "search/evaluators.h"
#include "search/search.h"
#include "selfplay/group.h"
#include "selfplay/recheck.h"

namespace zf {

class AnyPosition {
  public:
    virtual ~AnyPosition() = default;
    virtual std::unique_ptr<AnyPosition> copy() const = 0;

    virtual Mover to_move() const = 0;
    // Who is about to roll, where chance is to move.
    virtual int roller() const = 0;
    // Empty where no player, or not chance, is to move.
    virtual std::vector<Action> legal_actions() const = 0;
    virtual std::vector<ChanceOutcome> chance_outcomes() const = 0;
    virtual Result<void> play(int64_t id) = 0;
    // Index into the game's outcomes, once the game is over.
    virtual Result<int> outcome(int player) const = 0;
    virtual Result<std::vector<uint8_t>> observe(int player) const = 0;
    virtual Result<void> resample_hidden(int player, uint64_t seed) = 0;
    virtual bool nothing_hidden() const = 0;

    virtual std::string to_text() const = 0;
    // Of an action, or of a chance outcome where chance moves; it need not be legal.
    virtual Result<std::string> action_text(int64_t id) const = 0;
    virtual Result<Action> action_from_text(const std::string& text) const = 0;
    // Takes a whole turn; where that fails the position is as before.
    virtual Result<void> play_from_text(const std::string& text) = 0;
    virtual std::string picture() const = 0;
    // For player -1 everything, else only what that player may see.
    virtual Result<Described> describe(int player) const = 0;
    // What happens when a legal action is played, in order; an empty list where the game has no
    // `steps`.
    virtual Result<Described> steps(int64_t id) const = 0;
};

// A running check of a game; see games/check.h.
class AnyCheck {
  public:
    virtual ~AnyCheck() = default;
    // Plays so many more games; returns the report of all games so far.
    virtual Result<CheckReport> run(int num_games) = 0;
    // Where it is, or was when a game's own code threw: "game 3, ply 5: ".
    virtual const std::string& where() const = 0;
};

// Something that is searched a leaf at a time.
class AnyLeaves {
  public:
    virtual ~AnyLeaves() = default;
    virtual bool finished() const = 0;
    // Writes a leaf's observation and returns its slot, or -1.
    virtual int gather(uint8_t* observation) = 0;
    // Precondition: the slot is in flight. False if a number in the evaluation is not finite.
    virtual bool absorb(int slot, const Evaluation& evaluation) = 0;
    // Searches with an evaluator of the core for at most so many leaves.
    virtual void run(CoreEvaluator& evaluator, int num_leaves) = 0;
};

// One search; see search/search.h.
class AnySearch : public AnyLeaves {
  public:
    // The root must be of the game that made this search; an error where its game is over.
    virtual Result<void> begin(const AnyPosition& root, const SearchOptions& options,
                               uint64_t seed) = 0;
    virtual bool solved() const = 0;
    virtual void stop() = 0;
    virtual RootResult result() = 0;
};

// One event of an episode, searched again; see selfplay/recheck.h.
class AnyRecheck : public AnyLeaves {
  public:
    // An error where the event was not searched. Precondition: check_derived allowed the episode.
    virtual Result<void> begin(const Episode& episode, size_t number) = 0;
    // Precondition: finished, and not called before.
    virtual Event event() = 0;
};

// Results of games between random players.
struct RandomGames {
    int64_t num_games = 0;
    int64_t num_plies = 0;
    int64_t num_truncated = 0;                       // games that reached max_plies
    std::vector<int64_t> num_outcomes_first_player;  // by index of the outcome
};

class AnyGame {
  public:
    virtual ~AnyGame() = default;
    const Facts& facts() const { return *facts_; }
    // Shared with everything the game makes, which may outlive the game.
    const std::shared_ptr<const Facts>& shared_facts() const { return facts_; }
    // All options with their values, in the order in which the game names them.
    const OptionValues& options() const { return options_; }

    virtual std::unique_ptr<AnyPosition> new_position(uint64_t seed) const = 0;
    virtual Result<std::unique_ptr<AnyPosition>> from_text(const std::string& text) const = 0;
    virtual Result<std::unique_ptr<AnyPosition>> from_describe(
        const Described& described) const = 0;

    virtual std::unique_ptr<AnyCheck> make_check(uint64_t seed) const = 0;
    virtual std::unique_ptr<AnySearch> make_search() const = 0;
    virtual RandomGames random_games(int64_t num_games, uint64_t seed) const = 0;
    // Adds the afterstates of the turn of the player to move; see search/afterstates.h.
    virtual Result<void> add_afterstates(const AnyPosition& position, uint64_t seed, int num_draws,
                                         Afterstates& afterstates) const = 0;

    // Group `number` of `num_groups`, each of `num_games` games; see selfplay/group.h. The group
    // must not outlive the game's facts.
    virtual std::unique_ptr<AnyGroup> make_group(const SelfPlayOptions& options,
                                                 std::shared_ptr<EvaluationCache> cache,
                                                 uint32_t number, uint32_t num_groups,
                                                 uint32_t num_games) const = 0;
    // Episodes of such self-play; see selfplay/recheck.h.
    virtual Result<void> check_derived(const Episode& episode,
                                       const SelfPlayOptions& options) const = 0;
    virtual Result<std::unique_ptr<AnyRecheck>> make_recheck(
        const SelfPlayOptions& options) const = 0;
    // The episode of new_position(seed) and the actions and chance outcomes played since. The game
    // must be over, or at max_plies.
    virtual Result<Episode> record(uint64_t seed, std::span<const int64_t> ids) const = 0;
    // Episodes; see record/replay.h. They must be of this game with these options.
    virtual Result<void> verify(const Episode& episode) const = 0;
    virtual Result<ObservationRows> replay_observations(const Episode& episode) const = 0;
    virtual Result<TrainingRows> training_rows(const Episode& episode,
                                               const RowOptions& options) const = 0;
    // Whether a search can ask a solver for proofs, and rows can have exact values.
    virtual bool has_solver() const = 0;
    // The positions before each event, then the last one.
    virtual Result<std::vector<std::unique_ptr<AnyPosition>>> replay_positions(
        const Episode& episode) const = 0;
    // See selfplay/signature.h.
    std::string signature() const;

  protected:
    AnyGame(Facts facts, OptionValues options)
        : facts_(std::make_shared<const Facts>(std::move(facts))), options_(std::move(options)) {}

  private:
    std::shared_ptr<const Facts> facts_;
    OptionValues options_;
};

}  // namespace zf
