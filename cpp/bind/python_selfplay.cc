// Binds the self-play driver. Python only moves batches: nothing here is done per game or per leaf.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bind/python_arrays.h"
#include "bind/python_game.h"
#include "bind/python_settings.h"
#include "bind/search_batch.h"
#include "bind/selfplay.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

// Shapes: B leaves in a batch, N bytes of an observation, A actions, O outcomes.
using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

SelfPlayOptions selfplay_options(const Settings& settings, uint64_t seed, uint64_t worker,
                                 uint64_t version) {
    SelfPlayOptions options;
    options.seed = seed;
    options.worker = worker;
    options.version = version;
    for (const auto& [name, value] : settings)
        value_or_raise(set_selfplay_setting(options, nb::str(name).c_str(), setting_value(value)));
    return options;
}

void require_shape(const std::string& name, const Rows& rows, size_t num_rows, size_t num_columns) {
    if (rows.shape(0) == num_rows && rows.shape(1) == num_columns) return;
    raise({Error::Kind::bad_text, name + " must have the shape [" + std::to_string(num_rows) +
                                      ", " + std::to_string(num_columns) + "], got [" +
                                      std::to_string(rows.shape(0)) + ", " +
                                      std::to_string(rows.shape(1)) + "]"});
}

nb::bytes to_bytes(const std::vector<uint8_t>& bytes) {
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class PySelfPlay {
  public:
    PySelfPlay(const PyGame& game, Settings settings, uint32_t num_groups, uint32_t games_per_group,
               uint32_t num_threads, const std::optional<std::string>& evaluator, uint64_t seed,
               uint64_t worker, std::shared_ptr<EvaluationCache> cache, uint64_t version,
               uint64_t first_sequence, uint64_t num_games, const std::optional<Settings>& opponent,
               float opponent_share, uint64_t opponent_version)
        : game_(game), answers_(num_groups), num_rows_(num_groups), for_opponent_(num_groups) {
        if (game.custom_class.is_valid() && num_threads > 0)
            raise({Error::Kind::unsupported,
                   "a game written in Python cannot be played by threads of the core; num_threads "
                   "must be 0"});
        SelfPlayOptions options = selfplay_options(settings, seed, worker, version);
        options.first_sequence = first_sequence;
        options.num_games = num_games;
        if (opponent) {
            options.opponent = std::make_shared<const SelfPlayOptions>(
                selfplay_options(*opponent, seed, worker, opponent_version));
            options.opponent_share = opponent_share;
        }
        driver_ =
            value_or_raise(make_driver(*game.core, options, kind_or_raise(evaluator),
                                       std::move(cache), num_groups, games_per_group, num_threads));
    }

    // The group's number and its observations, or none after the timeout.
    std::optional<std::pair<uint32_t, NumpyArray<const uint8_t, 2>>> next_batch(double timeout_s) {
        const auto batch = game_.run_unlocked([&] { return driver_->next_batch(timeout_s); });
        raise_fault();
        if (!batch) return {};
        answers_[batch->group].reset();
        num_rows_[batch->group] = batch->num_rows;
        for_opponent_[batch->group] = batch->for_opponent;
        return std::pair(
            batch->group,
            NumpyArray<const uint8_t, 2>(
                batch->observations,
                {batch->num_rows, size_t(game_.core->facts().observation_bytes)}, nb::find(this)));
    }

    bool for_opponent(uint32_t group) const {
        if (group >= num_rows_.size())
            raise({Error::Kind::illegal, "there is no group " + std::to_string(group)});
        return for_opponent_[group];
    }

    NumpyArray<uint8_t, 2> action_masks(uint32_t group) {
        auto masks = value_or_raise(driver_->action_masks(group));
        return to_numpy<2>(std::move(masks),
                           {num_rows_[group], mask_bytes(game_.core->facts().num_actions)});
    }

    void submit(uint32_t group, Rows policy_logits_BA, Rows outcomes_observer_BO,
                uint64_t version) {
        if (group >= num_rows_.size())
            raise({Error::Kind::illegal, "there is no group " + std::to_string(group)});
        require_shape("policy_logits", policy_logits_BA, num_rows_[group],
                      game_.core->facts().num_actions);
        require_shape("outcomes", outcomes_observer_BO, num_rows_[group],
                      game_.core->facts().outcomes.size());
        value_or_raise(
            driver_->submit(group, policy_logits_BA.data(), outcomes_observer_BO.data(), version));
        answers_[group].emplace(policy_logits_BA, outcomes_observer_BO);
    }

    std::vector<nb::bytes> take_episodes() {
        std::vector<nb::bytes> episodes;
        for (const auto& bytes : driver_->take_episodes()) episodes.push_back(to_bytes(bytes));
        return episodes;
    }

    void wait_for_episodes(uint64_t count, double timeout_s) {
        game_.run_unlocked([&] { driver_->wait_for_episodes(count, timeout_s); });
        raise_fault();
    }

    SelfPlayCounts counts() { return driver_->counts(); }
    bool finished() { return driver_->finished(); }

    void stop() {
        const nb::gil_scoped_release unlocked;
        driver_->stop();
    }

  private:
    void raise_fault() {
        const std::string fault = driver_->fault();
        if (fault.empty()) return;
        if (driver_->rules_failed()) raise_rules_failed(fault);
        raise({Error::Kind::bad_text, fault});
    }

    PyGame game_;
    // Held until the group returns: the threads read them.
    std::vector<std::optional<std::pair<Rows, Rows>>> answers_;
    std::vector<uint32_t> num_rows_;  // of each group's last batch
    std::vector<bool> for_opponent_;  // the same
    std::unique_ptr<Driver> driver_;  // last, so that its threads end before what they read goes
};

// Searches of stored events, whose leaves a caller evaluates; see bind/search_batch.h.
template <class Batch>
class PyLeaves {
  public:
    PyLeaves(const PyGame& game, const std::optional<std::string>& evaluator)
        : game_(game), leaves_(*game.core, kind_or_raise(evaluator)) {}

    PyLeaves(const PyLeaves&) = delete;
    PyLeaves& operator=(const PyLeaves&) = delete;

    bool finished() const { return leaves_.finished(); }

    void run(int num_leaves) {
        if (!leaves_.evaluates_itself())
            raise({Error::Kind::illegal, "these searches have no evaluator of the core"});
        game_.run_unlocked([&] { leaves_.run(num_leaves); });
    }

    NumpyArray<uint8_t, 2> gather() {
        if (leaves_.num_in_flight() > 0)
            raise({Error::Kind::illegal, "the last leaves still wait for absorb"});
        std::vector<uint8_t> rows_BN = game_.run_unlocked([&] { return leaves_.gather(); });
        return to_numpy<2>(std::move(rows_BN),
                           {leaves_.num_in_flight(), size_t(leaves_.facts().observation_bytes)});
    }

    void absorb(Rows policy_logits_BA, Rows outcomes_observer_BO) {
        const size_t num_rows = leaves_.num_in_flight();
        const Facts& facts = leaves_.facts();
        require_shape("policy_logits", policy_logits_BA, num_rows, facts.num_actions);
        require_shape("outcomes", outcomes_observer_BO, num_rows, facts.outcomes.size());
        value_or_raise(game_.run_unlocked(
            [&] { return leaves_.absorb(policy_logits_BA.data(), outcomes_observer_BO.data()); }));
    }

  protected:
    // Once, and only when all have finished.
    void require_first_result(const std::string& what) {
        if (!leaves_.finished() || std::exchange(given_, true))
            raise({Error::Kind::illegal, what + " given once, when all have finished"});
    }

    PyGame game_;
    Batch leaves_;

  private:
    bool given_ = false;
};

class PyRecheck : public PyLeaves<RecheckBatch> {
  public:
    PyRecheck(const PyGame& game, Settings settings, const std::optional<std::string>& evaluator,
              uint64_t seed, uint64_t worker, uint64_t version, const Episode& episode,
              const std::vector<uint32_t>& events)
        : PyLeaves(game, evaluator) {
        const SelfPlayOptions options = selfplay_options(settings, seed, worker, version);
        value_or_raise(check_selfplay(options, game.core->facts()));
        value_or_raise(game_.run_unlocked([&] { return leaves_.begin(episode, options, events); }));
    }

    nb::bytes episode() {
        require_first_result("the episode is");
        return to_bytes(leaves_.episode());
    }
};

class PyReanalysis : public PyLeaves<ReanalysisBatch> {
  public:
    PyReanalysis(const PyGame& game, Settings settings, const std::optional<std::string>& evaluator,
                 uint64_t seed, uint64_t version, const std::vector<nb::bytes>& episodes)
        : PyLeaves(game, evaluator) {
        const SelfPlayOptions options = selfplay_options(settings, seed, 0, version);
        value_or_raise(check_selfplay(options, game.core->facts()));
        std::vector<Episode> decoded;
        for (const nb::bytes& data : episodes)
            decoded.push_back(
                value_or_raise(decode({static_cast<const uint8_t*>(data.data()), data.size()})));
        value_or_raise(
            game_.run_unlocked([&] { return leaves_.begin(std::move(decoded), options); }));
    }

    std::vector<nb::bytes> episodes() {
        require_first_result("the episodes are");
        std::vector<nb::bytes> encoded;
        for (const auto& bytes : leaves_.episodes()) encoded.push_back(to_bytes(bytes));
        return encoded;
    }
};

}  // namespace

void bind_selfplay(nb::module_& m) {
    m.def(
        "signature", [](const PyGame& game) { return game.core->signature(); }, "game"_a,
        "A hash of a fixed set of episodes; see cpp/selfplay/signature.h.");

    m.def(
        "selfplay_settings", [] { return setting_facts<SelfPlayOptions>(kSelfPlaySettings); },
        "The settings of self-play beside those of its search; see cpp/selfplay/options.h.");

    nb::class_<SelfPlayCounts>(m, "SelfPlayCounts", "What was done since the start.")
        .def_ro("num_simulations", &SelfPlayCounts::num_simulations)
        .def_ro("num_decisions", &SelfPlayCounts::num_decisions)
        .def_ro("num_leaves", &SelfPlayCounts::num_leaves)
        .def_ro("num_episodes", &SelfPlayCounts::num_episodes)
        .def_ro("largest_tree_bytes", &SelfPlayCounts::largest_tree_bytes);

    nb::class_<EvaluationCache>(m, "EvaluationCache",
                                "Cached evaluations, shared by drivers of one game and the same "
                                "weights.")
        .def(nb::init<uint64_t>(), "num_bytes"_a)
        .def_prop_ro("num_bytes", &EvaluationCache::num_bytes);

    nb::class_<PySelfPlay>(m, "SelfPlay",
                           "Groups of games over threads; zerofleet.selfplay runs it.")
        .def(nb::init<const PyGame&, Settings, uint32_t, uint32_t, uint32_t,
                      const std::optional<std::string>&, uint64_t, uint64_t,
                      std::shared_ptr<EvaluationCache>, uint64_t, uint64_t, uint64_t,
                      const std::optional<Settings>&, float, uint64_t>(),
             "game"_a, "settings"_a, "num_groups"_a, "games_per_group"_a, "num_threads"_a,
             "evaluator"_a.none(), "seed"_a, "worker"_a, "cache"_a.none() = nb::none(),
             "version"_a = 0, "first_sequence"_a = 0, "num_games"_a = 0,
             "opponent"_a.none() = nb::none(), "opponent_share"_a = 1.0f, "opponent_version"_a = 0,
             "Without a shared cache it creates one of `cache_bytes`. `version` is that of the "
             "weights that evaluate first. Games are numbered from first_sequence on; after "
             "num_games of them it has finished (0: never). With settings for an `opponent`, a "
             "second "
             "network plays one seat, each equally often, in that share of the games; its "
             "decisions are "
             "recorded without a search.")
        .def("next_batch", &PySelfPlay::next_batch, "timeout_s"_a,
             "(group, observations) to evaluate, or None after the timeout. The observations are a "
             "view into the driver's memory, valid until `submit`.")
        .def("for_opponent", &PySelfPlay::for_opponent, "group"_a,
             "Whether the group's batch is for the opponent's network, between `next_batch` and "
             "`submit`.")
        .def("action_masks", &PySelfPlay::action_masks, "group"_a,
             "uint8 [B, bytes], between `next_batch` and `submit`: bit a % 8 of byte a // 8 is set "
             "where the logit of action a will be read.")
        .def("submit", &PySelfPlay::submit, "group"_a, "policy_logits"_a.noconvert(),
             "outcomes"_a.noconvert(), "version"_a,
             "Returns the evaluations of a batch. Do not write to the arrays until `next_batch` "
             "returns the group again.")
        .def("take_episodes", &PySelfPlay::take_episodes,
             "The games finished since the last call, each as bytes.")
        .def("wait_for_episodes", &PySelfPlay::wait_for_episodes, "count"_a, "timeout_s"_a)
        .def("counts", &PySelfPlay::counts)
        .def_prop_ro("finished", &PySelfPlay::finished,
                     "Whether all games are over; their episodes may still wait to be taken.")
        .def("stop", &PySelfPlay::stop,
             "Ends the threads; games in flight are dropped, finished ones can still be taken.");

    nb::class_<PyRecheck>(
        m, "Recheck",
        "Events of an episode, searched again as SelfPlay with the same settings, "
        "seed, worker and version searched them.")
        .def(nb::init<const PyGame&, Settings, const std::optional<std::string>&, uint64_t,
                      uint64_t, uint64_t, const Episode&, const std::vector<uint32_t>&>(),
             "game"_a, "settings"_a, "evaluator"_a.none(), "seed"_a, "worker"_a, "version"_a,
             "episode"_a, "events"_a,
             "An error where the rules do not allow the episode, or what needs no search is not "
             "what the seed and the settings give: the deal, chance outcomes, forced actions, "
             "kinds of search, versions. `events` are numbers of events with a search.")
        .def_prop_ro("finished", &PyRecheck::finished, "Whether all are.")
        .def("run", &PyRecheck::run, "num_leaves"_a,
             "Searches with the core's evaluator for at most so many leaves of each.")
        .def("gather", &PyRecheck::gather,
             "The observations of the next leaves, [B, N]; call again if there is none.")
        .def("absorb", &PyRecheck::absorb, "policy_logits"_a.noconvert(), "outcomes"_a.noconvert(),
             "Takes the evaluations of those leaves: [B, A] and [B, O].")
        .def("episode", &PyRecheck::episode,
             "The episode with those events as the searches give them: the same bytes if all "
             "agree.");

    nb::class_<PyReanalysis>(m, "Reanalysis",
                             "Episodes whose searches are all done again, with other weights.")
        .def(nb::init<const PyGame&, Settings, const std::optional<std::string>&, uint64_t,
                      uint64_t, const std::vector<nb::bytes>&>(),
             "game"_a, "settings"_a, "evaluator"_a.none(), "seed"_a, "version"_a, "episodes"_a,
             "`settings` and `seed` are those of SelfPlay, `version` that of the new weights. A "
             "search of the same episode, seed and weights is always the same.")
        .def_prop_ro("finished", &PyReanalysis::finished, "Whether all searches are.")
        .def("run", &PyReanalysis::run, "num_leaves"_a,
             "Searches with the core's evaluator for at most so many leaves of each.")
        .def("gather", &PyReanalysis::gather,
             "The observations of the next leaves, [B, N]; call again if there is none.")
        .def("absorb", &PyReanalysis::absorb, "policy_logits"_a.noconvert(),
             "outcomes"_a.noconvert(), "Takes the evaluations of those leaves: [B, A] and [B, O].")
        .def("episodes", &PyReanalysis::episodes,
             "The encoded episodes, with the same actions and the results of the new searches.");
}

}  // namespace zf
