// Runs groups of games on threads: while the leaves of some groups are evaluated, the threads
// search others.
//
// A group cycles through three states: a thread backs up its evaluations and searches to the next
// leaves (`gather`); its batch waits in the outbox until a caller takes it (`next_batch`); the
// caller evaluates the batch and returns the answers (`submit`). Only whole batches cross this
// boundary. With an evaluator of the core the threads evaluate themselves and the outbox stays
// empty.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "selfplay/group.h"
#include "selfplay/threads.h"

namespace zf {

struct LeafBatch {
    uint32_t group;
    uint32_t num_rows;
    const uint8_t* observations;  // valid until the group's answers are submitted
    bool for_opponent;            // which of the two networks is to evaluate it
};

class Driver {
  public:
    // Groups of one game, with its facts. Without an evaluator of the core, callers evaluate
    // batches. Without threads the groups advance within next_batch, wait_for_episodes and
    // `advance`, in lockstep; a target that has no threads can do only that.
    Driver(std::vector<std::unique_ptr<AnyGroup>> groups, std::shared_ptr<const Facts> facts,
           uint32_t num_threads, std::optional<EvaluatorKind> evaluator, uint64_t seed);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    // The next batch to evaluate; none after the timeout or `stop`, or if all games are over.
    std::optional<LeafBatch> next_batch(double timeout_s);

    // Which logits of a batch will be read (see AnyGroup::write_action_masks), between next_batch
    // and submit.
    Result<std::vector<uint8_t>> action_masks(uint32_t group);

    // The evaluations of a batch (see AnyGroup::play_on). Another thread reads them later: they
    // must stay unchanged until next_batch returns the group again or the driver stops.
    Result<void> submit(uint32_t group, const float* policy_logits, const float* outcomes_observer,
                        uint64_t version);

    // Episodes finished since the last call, encoded.
    std::vector<std::vector<uint8_t>> take_episodes();

    // Without threads: advances the group that has waited longest; false if none waits.
    bool advance() { return threads_.empty() && work_once(here_); }

    // Waits until `count` episodes are ready or all games are over, or for the timeout.
    void wait_for_episodes(uint64_t count, double timeout_s);

    SelfPlayCounts counts();

    // Without threads: the position of the first game now, as text.
    std::string watched_position() const { return groups_[0]->watched_position(); }

    // Whether all games are over; their episodes may still wait to be taken.
    bool finished();

    // The fault, if any: an evaluation that is not finite, or what a game's own code threw.
    std::string fault();

    // Whether that was the game's own code.
    bool rules_failed();

    // Stops each thread after its current group. Games in flight are dropped; finished ones can
    // still be taken.
    void stop();

  private:
    struct Answers {
        const float* policy_logits = nullptr;
        const float* outcomes_observer = nullptr;
        uint64_t version = 0;
        bool in_flight = false;  // the batch is being evaluated
    };

    static constexpr uint32_t kNobody = 0xffffffff;

    // Steps of a group with an evaluator of the core before the next group's turn.
    static constexpr int kStepsPerTurn = 16;

    using OwnEvaluator = std::optional<CoreEvaluator>;

    OwnEvaluator make_evaluator(uint64_t seed) const;

#ifdef __STDCPP_THREADS__
    void work(uint32_t worker, uint64_t seed);

    // Wakes all waiting callers. The group whose game threw is not played further.
    void fail(const std::string& what);
#endif

    // Advances one group; false if none is waiting.
    bool work_once(OwnEvaluator& evaluator, uint32_t worker = 0);

    // A waiting group that this thread had last, or none yet, for cache locality; else the one that
    // has waited longest. Precondition: the lock is held and a group waits.
    uint32_t take_group(uint32_t worker);

    // Whether the group's batch is being evaluated. Precondition: the lock is held.
    bool is_in_flight(uint32_t group) const;
    static Error not_in_flight(uint32_t group);

    // Whether all games are over. Precondition: the lock is held.
    bool all_over() const { return num_finished_ == groups_.size(); }

    bool outbox_is_empty();
    uint64_t num_episodes_ready();

    // Runs without the lock: no other thread has this group.
    void play_on(AnyGroup& group, uint32_t number, const Answers& answers,
                 CoreEvaluator* evaluator);

    std::shared_ptr<const Facts> facts_;
    std::optional<EvaluatorKind> evaluator_;
    std::vector<std::unique_ptr<AnyGroup>> groups_;

    Mutex mutex_;  // guards all below
    Condition work_waiting_, outbox_filled_, episodes_ready_;
    std::vector<Answers> answers_;
    std::vector<SelfPlayCounts> counts_;
    std::vector<uint32_t> last_worker_;  // of each group
    std::deque<uint32_t> to_search_, outbox_;
    std::vector<std::vector<uint8_t>> episodes_;
    std::string fault_;
    size_t num_finished_ = 0;  // groups
    bool rules_failed_ = false;
    bool stopping_ = false;

    OwnEvaluator here_;  // for work in the caller's thread
    std::vector<Thread> threads_;
};

}  // namespace zf
