#include "selfplay/driver.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace zf {

Driver::Driver(std::vector<std::unique_ptr<AnyGroup>> groups, std::shared_ptr<const Facts> facts,
               uint32_t num_threads, std::optional<EvaluatorKind> evaluator, uint64_t seed)
    : facts_(std::move(facts)),
      evaluator_(evaluator),
      groups_(std::move(groups)),
      answers_(groups_.size()),
      counts_(groups_.size()),
      last_worker_(groups_.size(), kNobody),
      here_(make_evaluator(derive_seed(seed, 0))) {
    for (uint32_t g = 0; g < groups_.size(); ++g) to_search_.push_back(g);
#ifdef __STDCPP_THREADS__
    for (uint32_t t = 0; t < num_threads; ++t)
        threads_.emplace_back([this, t, own = derive_seed(seed, t)] { work(t, own); });
#else
    if (num_threads > 0) std::abort();
#endif
}

Driver::~Driver() { stop(); }

std::optional<LeafBatch> Driver::next_batch(double timeout_s) {
    // One step per group: if every leaf is cached, no batch may ever come.
    for (size_t i = 0; threads_.empty() && i < groups_.size() && outbox_is_empty(); ++i)
        if (!work_once(here_)) break;
    std::unique_lock lock(mutex_);
    outbox_filled_.wait_for(
        lock, std::chrono::duration<double>(threads_.empty() ? 0 : timeout_s),
        [&] { return stopping_ || !outbox_.empty() || !fault_.empty() || all_over(); });
    if (stopping_ || outbox_.empty()) return std::nullopt;
    const uint32_t group = outbox_.front();
    outbox_.pop_front();
    answers_[group].in_flight = true;
    const AnyGroup& waiting = *groups_[group];
    return LeafBatch{group, waiting.num_rows(), waiting.observations(), waiting.for_opponent()};
}

Result<std::vector<uint8_t>> Driver::action_masks(uint32_t group) {
    {
        const std::lock_guard lock(mutex_);
        if (!is_in_flight(group)) return not_in_flight(group);
    }
    // No thread has the group while its batch is in flight.
    std::vector<uint8_t> masks(groups_[group]->num_rows() * mask_bytes(facts_->num_actions));
    groups_[group]->write_action_masks(masks.data());
    return masks;
}

Result<void> Driver::submit(uint32_t group, const float* policy_logits,
                            const float* outcomes_observer, uint64_t version) {
    const std::lock_guard lock(mutex_);
    if (!is_in_flight(group)) return not_in_flight(group);
    answers_[group] = {policy_logits, outcomes_observer, version, false};
    to_search_.push_back(group);
    work_waiting_.notify_one();
    return {};
}

bool Driver::is_in_flight(uint32_t group) const {
    return group < groups_.size() && answers_[group].in_flight;
}

Error Driver::not_in_flight(uint32_t group) {
    return {Error::Kind::illegal, "group " + std::to_string(group) + " has no batch in flight"};
}

std::vector<std::vector<uint8_t>> Driver::take_episodes() {
    const std::lock_guard lock(mutex_);
    return std::exchange(episodes_, {});
}

void Driver::wait_for_episodes(uint64_t count, double timeout_s) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
    while (threads_.empty() && num_episodes_ready() < count &&
           std::chrono::steady_clock::now() < end && work_once(here_)) {
    }
    std::unique_lock lock(mutex_);
    episodes_ready_.wait_for(
        lock, std::chrono::duration<double>(threads_.empty() ? 0 : timeout_s),
        [&] { return stopping_ || episodes_.size() >= count || !fault_.empty() || all_over(); });
}

SelfPlayCounts Driver::counts() {
    const std::lock_guard lock(mutex_);
    SelfPlayCounts sum;
    for (const SelfPlayCounts& each : counts_) {
        sum.num_simulations += each.num_simulations;
        sum.num_decisions += each.num_decisions;
        sum.num_leaves += each.num_leaves;
        sum.num_episodes += each.num_episodes;
        sum.largest_tree_bytes = std::max(sum.largest_tree_bytes, each.largest_tree_bytes);
    }
    return sum;
}

bool Driver::finished() {
    const std::lock_guard lock(mutex_);
    return all_over();
}

std::string Driver::fault() {
    const std::lock_guard lock(mutex_);
    return fault_;
}

bool Driver::rules_failed() {
    const std::lock_guard lock(mutex_);
    return rules_failed_;
}

void Driver::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    work_waiting_.notify_all();
    outbox_filled_.notify_all();
    episodes_ready_.notify_all();
    for (Thread& thread : threads_)
        if (thread.joinable()) thread.join();
}

Driver::OwnEvaluator Driver::make_evaluator(uint64_t seed) const {
    return evaluator_ ? OwnEvaluator(std::in_place, *evaluator_, *facts_, seed) : std::nullopt;
}

#ifdef __STDCPP_THREADS__

void Driver::work(uint32_t worker, uint64_t seed) {
    OwnEvaluator evaluator = make_evaluator(seed);
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            work_waiting_.wait(lock, [&] { return stopping_ || !to_search_.empty(); });
            if (stopping_) return;
        }
        try {
            work_once(evaluator, worker);
        } catch (const std::exception& error) {
            fail(error.what());
        } catch (...) {
            fail("something that is no std::exception");
        }
    }
}

void Driver::fail(const std::string& what) {
    const std::lock_guard lock(mutex_);
    rules_failed_ = true;
    fault_ = facts_->name + ": the game's own code threw " + what;
    outbox_filled_.notify_all();
    episodes_ready_.notify_all();
}

#endif

bool Driver::work_once(OwnEvaluator& evaluator, uint32_t worker) {
    uint32_t number;
    Answers answers;
    {
        const std::lock_guard lock(mutex_);
        if (to_search_.empty() || stopping_) return false;
        number = take_group(worker);
        answers = std::exchange(answers_[number], {});
    }
    play_on(*groups_[number], number, answers, evaluator ? &*evaluator : nullptr);
    return true;
}

uint32_t Driver::take_group(uint32_t worker) {
    auto taken = std::find_if(to_search_.begin(), to_search_.end(), [&](uint32_t group) {
        return last_worker_[group] == worker || last_worker_[group] == kNobody;
    });
    if (taken == to_search_.end()) taken = to_search_.begin();
    const uint32_t number = *taken;
    to_search_.erase(taken);
    last_worker_[number] = worker;
    return number;
}

bool Driver::outbox_is_empty() {
    const std::lock_guard lock(mutex_);
    return outbox_.empty();
}

uint64_t Driver::num_episodes_ready() {
    const std::lock_guard lock(mutex_);
    return episodes_.size();
}

void Driver::play_on(AnyGroup& group, uint32_t number, const Answers& answers,
                     CoreEvaluator* evaluator) {
    int64_t bad_row = -1;
    if (evaluator) {
        for (int i = 0; i < kStepsPerTurn; ++i) group.step(*evaluator);
    } else if (answers.policy_logits) {
        bad_row = group.play_on(answers.policy_logits, answers.outcomes_observer, answers.version);
    } else {
        group.gather();
    }
    auto episodes = group.take_episodes();
    const SelfPlayCounts counts = group.counts();
    const bool finished = group.finished();

    const std::lock_guard lock(mutex_);
    counts_[number] = counts;
    for (auto& episode : episodes) episodes_.push_back(std::move(episode));
    if (!episodes.empty()) episodes_ready_.notify_all();
    if (bad_row >= 0) {
        fault_ = "row " + std::to_string(bad_row) + " of the evaluations for group " +
                 std::to_string(number) + " (weights " + std::to_string(answers.version) +
                 ") has a number that is not finite";
        outbox_filled_.notify_all();
        episodes_ready_.notify_all();
    } else if (finished) {
        ++num_finished_;
        if (!all_over()) return;
        outbox_filled_.notify_all();
        episodes_ready_.notify_all();
    } else if (evaluator || group.num_rows() == 0) {
        to_search_.push_back(number);
        work_waiting_.notify_one();
    } else {
        outbox_.push_back(number);
        outbox_filled_.notify_one();
    }
}

}  // namespace zf
