// Runs groups of games over threads: while the leaves of some groups are being evaluated, the
// threads search others.
//
// A group goes round in a circle: a thread takes in its answers and plays it on to the next leaves
// (`gather`), it waits in the outbox until somebody takes the batch (`next_batch`), evaluates it
// and hands the answers back (`submit`). Only whole batches cross that line. With an evaluator of
// the core the threads answer by themselves and the outbox stays empty.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "selfplay/group.h"

namespace zf {

struct LeafBatch {
    uint32_t group;
    uint32_t num_rows;
    const uint8_t* observations;  // stay as they are until the group's answers are submitted
};

class Driver {
  public:
    // Groups of one game, with its facts. Without an evaluator of the core, batches are handed out.
    Driver(std::vector<std::unique_ptr<AnyGroup>> groups, std::shared_ptr<const Facts> facts,
           uint32_t num_threads, std::optional<EvaluatorKind> evaluator, uint64_t seed);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    // The next batch to evaluate, or none within the time, or after `stop`.
    std::optional<LeafBatch> next_batch(double timeout_s);

    // The answers to a batch (see AnyGroup::play_on). They are read later, by another thread: they
    // must stay as they are until the group comes out of next_batch again or the driver is stopped.
    Result<void> submit(uint32_t group, const float* policy_logits, const float* outcomes_observer,
                        uint64_t version);

    // Episodes finished since the last call, whole games as bytes.
    std::vector<std::vector<uint8_t>> take_episodes();

    // Waits until so many episodes lie ready, or the time is over.
    void wait_for_episodes(uint64_t count, double timeout_s);

    SelfPlayCounts counts();

    // What went wrong, if anything: a batch answered with numbers that are not finite, or what a
    // game's own code threw.
    std::string fault();

    // Whether that was the game's own code.
    bool rules_failed();

    // Ends the threads after the group each one is at. Games in flight are dropped; finished ones
    // can still be taken.
    void stop();

  private:
    struct Answers {
        const float* policy_logits = nullptr;
        const float* outcomes_observer = nullptr;
        uint64_t version = 0;
        bool out = false;  // the batch is with the evaluator
    };

    static constexpr uint32_t kNobody = 0xffffffff;

    // Steps of a group that answers itself before the next one has its turn.
    static constexpr int kStepsPerTurn = 16;

    using OwnEvaluator = std::optional<CoreEvaluator>;

    OwnEvaluator make_evaluator(uint64_t seed) const;

    void work(uint32_t worker, uint64_t seed);

    // Tells whoever waits. The group that a game's own code threw in is not played on.
    void fail(const std::string& what);

    // Plays one group on; false if none is waiting for it.
    bool work_once(OwnEvaluator& evaluator, uint32_t worker = 0);

    // A waiting group that this thread had last, or nobody yet, so that its memory stays near; else
    // the one that has waited longest. Needs the lock and a group that waits.
    uint32_t take_group(uint32_t worker);

    bool outbox_is_empty();
    uint64_t num_episodes_ready();

    // Without the lock: nobody else has this group.
    void play_on(AnyGroup& group, uint32_t number, const Answers& answers,
                 CoreEvaluator* evaluator);

    std::shared_ptr<const Facts> facts_;
    std::optional<EvaluatorKind> evaluator_;
    std::vector<std::unique_ptr<AnyGroup>> groups_;

    std::mutex mutex_;  // guards all below
    std::condition_variable work_waiting_, outbox_filled_, episodes_ready_;
    std::vector<Answers> answers_;
    std::vector<SelfPlayCounts> counts_;
    std::vector<uint32_t> last_worker_;  // of each group
    std::deque<uint32_t> to_search_, outbox_;
    std::vector<std::vector<uint8_t>> episodes_;
    std::string fault_;
    bool rules_failed_ = false;
    bool stopping_ = false;

    OwnEvaluator here_;  // for work in the caller's thread
    std::vector<std::thread> threads_;
};

}  // namespace zf
