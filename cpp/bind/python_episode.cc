// Binds the episode: recording, decoding and replaying it.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "bind/python_arrays.h"
#include "bind/python_game.h"
#include "record/rows.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

std::span<const uint8_t> span_of(const nb::bytes& bytes) {
    return {reinterpret_cast<const uint8_t*>(bytes.c_str()), bytes.size()};
}

nb::bytes to_bytes(const std::vector<uint8_t>& bytes) {
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

const char* kind_text(SearchKind kind) {
    switch (kind) {
        case SearchKind::chance:
            return "chance";
        case SearchKind::none:
            return "none";
        case SearchKind::fast:
            return "fast";
        case SearchKind::full:
            return "full";
    }
    return "";
}

std::vector<std::pair<Action, float>> policy_of(const Event& event) {
    float sum = 0;
    for (const PolicyEntry& entry : event.policy) sum += float(entry.weight);
    std::vector<std::pair<Action, float>> policy;
    for (const PolicyEntry& entry : event.policy)
        policy.emplace_back(entry.action, float(entry.weight) / sum);
    return policy;
}

std::vector<float> outcomes_of(const Event& event) {
    std::vector<float> outcomes;
    for (const uint16_t part : event.outcomes_to_move)
        outcomes.push_back(float(part) / float(kOutcomeUnit));
    return outcomes;
}

std::vector<PyPosition> positions_of(const Episode& episode, const PyGame& game) {
    std::vector<PyPosition> positions;
    for (auto& position : value_or_raise(game.core->replay_positions(episode)))
        positions.push_back({game, std::move(position)});
    return positions;
}

using ObservationArrays =
    std::tuple<NumpyArray<uint8_t, 2>, NumpyArray<uint32_t, 1>, NumpyArray<uint8_t, 1>>;

ObservationArrays observations_of(const Episode& episode, const PyGame& game) {
    ObservationRows rows = value_or_raise(game.core->replay_observations(episode));
    const size_t count = rows.event.size();
    return {
        to_numpy<2>(std::move(rows.bytes), {count, size_t(game.core->facts().observation_bytes)}),
        to_numpy<1>(std::move(rows.event), {count}),
        to_numpy<1>(std::move(rows.observer), {count})};
}

// Shapes: R rows, N bytes of an observation, A actions, O outcomes.
struct PyRows {
    NumpyArray<uint8_t, 2> observations_RN, legal_RA;
    NumpyArray<uint16_t, 2> policy_RA;
    NumpyArray<uint8_t, 1> outcome_R;
    NumpyArray<uint16_t, 2> search_outcomes_RO;
    NumpyArray<uint8_t, 1> is_solved_R;
    NumpyArray<float, 1> surprise_R;
    NumpyArray<int32_t, 1> reply_R;
    NumpyArray<uint8_t, 1> observer_R;
    NumpyArray<uint32_t, 1> event_R;
    NumpyArray<uint8_t, 2> final_observations_2N;
};

PyRows rows_of(const Episode& episode, const PyGame& game, float value_lambda,
               bool use_solved_values) {
    TrainingRows rows =
        value_or_raise(game.core->training_rows(episode, {value_lambda, use_solved_values}));
    const Facts& facts = game.core->facts();
    const size_t count = rows.observer.size(), num_bytes = facts.observation_bytes;
    const size_t num_actions = facts.num_actions, num_outcomes = facts.outcomes.size();
    const size_t num_players = rows.final_observations.empty() ? 0 : 2;
    return {to_numpy<2>(std::move(rows.observations), {count, num_bytes}),
            to_numpy<2>(std::move(rows.legal), {count, num_actions}),
            to_numpy<2>(std::move(rows.policy), {count, num_actions}),
            to_numpy<1>(std::move(rows.outcome_observer), {count}),
            to_numpy<2>(std::move(rows.search_outcomes_observer), {count, num_outcomes}),
            to_numpy<1>(std::move(rows.is_solved), {count}),
            to_numpy<1>(std::move(rows.surprise), {count}),
            to_numpy<1>(std::move(rows.reply), {count}),
            to_numpy<1>(std::move(rows.observer), {count}),
            to_numpy<1>(std::move(rows.event), {count}),
            to_numpy<2>(std::move(rows.final_observations), {num_players, num_bytes})};
}

struct PyPackedRows {
    NumpyArray<uint8_t, 2> rows_RX;
    NumpyArray<uint32_t, 1> num_rows_E;
    NumpyArray<uint8_t, 2> final_observations_FN;
};

// As numpy's dtypes take it.
struct PyRowLayout {
    std::vector<std::string> names, formats;
    std::vector<size_t> offsets;
    size_t itemsize = 0;
};

template <class T>
std::string format_of(const RowScalar<T>&) {
    const char kind = std::is_same_v<T, bool>       ? 'b'
                      : std::is_floating_point_v<T> ? 'f'
                      : std::is_signed_v<T>         ? 'i'
                                                    : 'u';
    return std::string("<") + kind + std::to_string(sizeof(T));
}

template <class T>
std::string format_of(const RowArray<T>& field) {
    return "(" + std::to_string(field.count) + ",)" + format_of(RowScalar<T>{});
}

PyRowLayout row_layout(const PyGame& game) {
    const RowLayout layout(game.core->facts());
    PyRowLayout described;
    described.itemsize = layout.num_bytes();
    layout.for_each([&](const auto& field) {
        described.names.push_back(field.name);
        described.formats.push_back(format_of(field));
        described.offsets.push_back(field.offset);
    });
    return described;
}

Result<PackedRows> pack(const std::vector<const Episode*>& episodes, const PyGame& game,
                        const RowOptions& options) {
    PackedRows packed(game.core->facts());
    for (const Episode* episode : episodes) {
        const Result<TrainingRows> rows = game.core->training_rows(*episode, options);
        if (!rows) return rows.error();
        packed.add(*rows);
    }
    return packed;
}

PyPackedRows to_python(PackedRows packed, const PyGame& game) {
    const size_t num_bytes = size_t(game.core->facts().observation_bytes);
    const size_t num_rows = packed.rows.size() / packed.layout.num_bytes();
    const size_t num_finals = packed.final_observations.size() / num_bytes;
    const size_t num_episodes = packed.num_rows.size();
    return {to_numpy<2>(std::move(packed.rows), {num_rows, packed.layout.num_bytes()}),
            to_numpy<1>(std::move(packed.num_rows), {num_episodes}),
            to_numpy<2>(std::move(packed.final_observations), {num_finals, num_bytes})};
}

PyPackedRows pack_rows(const PyGame& game, const std::vector<const Episode*>& episodes,
                       float value_lambda, bool use_solved_values) {
    const RowOptions options{value_lambda, use_solved_values};
    PackedRows packed(game.core->facts());
    if (game.custom_class.is_valid()) {  // its rules are in Python
        packed = value_or_raise(pack(episodes, game, options));
    } else {
        Result<PackedRows> made = packed;
        {
            const nb::gil_scoped_release unlocked;
            made = pack(episodes, game, options);
        }
        packed = value_or_raise(std::move(made));
    }
    return to_python(std::move(packed), game);
}

// Untrusted episodes after their check. Those with a fault have no rows.
struct CheckedEpisodes {
    explicit CheckedEpisodes(const Facts& facts) : packed(facts) {}

    std::vector<std::string> faults;  // of each episode; empty where there is none
    std::vector<std::pair<uint64_t, uint64_t>> ids;
    std::vector<uint64_t> versions;  // the highest that played in it
    PackedRows packed;
};

// The highest version of weights that an untrusted episode may name: the next one is above it.
constexpr uint64_t kMaxVersion = uint64_t(1) << 48;

// Decodes one and replays it into rows; returns what is wrong with it.
Result<void> check(std::span<const uint8_t> bytes, std::optional<uint64_t> worker,
                   const PyGame& game, const RowOptions& options, CheckedEpisodes& checked) {
    const Result<Episode> episode = decode(bytes);
    if (!episode) return episode.error();
    if (worker && episode->worker != *worker)
        return Error{Error::Kind::inconsistent,
                     "it names worker " + std::to_string(episode->worker) + ", but its sender is " +
                         std::to_string(*worker)};
    const Result<TrainingRows> rows = game.core->training_rows(*episode, options);
    if (!rows) return rows.error();
    uint64_t version = 0;
    for (const Event& event : episode->events) version = std::max(version, event.version);
    if (version > kMaxVersion)
        return Error{Error::Kind::inconsistent, "weights " + std::to_string(version) +
                                                    " played in it; versions are at most " +
                                                    std::to_string(kMaxVersion)};
    checked.ids.emplace_back(episode->worker, episode->sequence);
    checked.versions.push_back(version);
    checked.packed.add(*rows);
    return {};
}

// What a check says; also where a custom game's own code cannot cope with the episode.
template <class Check>
std::string fault_of(Check check) {
    try {
        const Result<void> good = check();
        return good ? "" : good.error().text;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const nb::python_error& error) {  // rules in Python: the GIL is held
        if (!error.matches(PyExc_Exception)) throw;
        return nb::str(error.value()).c_str();
    } catch (const std::exception& error) {
        return std::string("the game's own code threw ") + error.what();
    }
}

struct PyCheckedEpisodes {
    std::vector<std::string> faults;
    std::vector<std::pair<uint64_t, uint64_t>> ids;
    std::vector<uint64_t> versions;
    PyPackedRows packed;
};

// A fault may quote bytes of the episode that are no text.
nb::list faults_of(const PyCheckedEpisodes& checked) {
    nb::list texts;
    for (const std::string& fault : checked.faults)
        texts.append(nb::steal(
            PyUnicode_DecodeUTF8(fault.data(), Py_ssize_t(fault.size()), "backslashreplace")));
    return texts;
}

PyCheckedEpisodes check_episodes(const PyGame& game, const std::vector<nb::bytes>& episodes,
                                 const std::vector<uint64_t>& workers, float value_lambda,
                                 bool use_solved_values) {
    const RowOptions options{value_lambda, use_solved_values};
    if (!workers.empty() && workers.size() != episodes.size())
        raise(Error{Error::Kind::inconsistent, std::to_string(episodes.size()) + " episodes of " +
                                                   std::to_string(workers.size()) + " workers"});
    std::vector<std::span<const uint8_t>> spans;
    for (const nb::bytes& bytes : episodes) spans.push_back(span_of(bytes));
    CheckedEpisodes checked = game.run_unlocked([&] {
        CheckedEpisodes all(game.core->facts());
        for (size_t i = 0; i < spans.size(); ++i) {
            const auto worker =
                workers.empty() ? std::nullopt : std::optional<uint64_t>(workers[i]);
            all.faults.push_back(
                fault_of([&] { return check(spans[i], worker, game, options, all); }));
        }
        return all;
    });
    return {std::move(checked.faults), std::move(checked.ids), std::move(checked.versions),
            to_python(std::move(checked.packed), game)};
}

}  // namespace

void bind_episode(nb::module_& m) {
    nb::class_<PyRows>(m, "TrainingRows",
                       "The training rows of an episode, one per position and observer; see "
                       "cpp/record/rows.h. A truncated game has none.")
        .def_ro("observations", &PyRows::observations_RN, nb::rv_policy::automatic,
                "[R, observation_bytes]")
        .def_ro("legal", &PyRows::legal_RA, nb::rv_policy::automatic,
                "[R, num_actions], 0 or 1; zeros without a policy.")
        .def_ro("policy", &PyRows::policy_RA, nb::rv_policy::automatic,
                "[R, num_actions], in 1 / 4095; zeros without one.")
        .def_ro("outcome", &PyRows::outcome_R, nb::rv_policy::automatic,
                "[R], the outcome for the observer.")
        .def_ro(
            "search_outcomes", &PyRows::search_outcomes_RO, nb::rv_policy::automatic,
            "[R, num_outcomes], in 1 / OUTCOME_UNIT, the observer's view; zeros without a search.")
        .def_ro("is_solved", &PyRows::is_solved_R, nb::rv_policy::automatic,
                "[R], 1 where they are exact; see replay.use_solved_values.")
        .def_ro("surprise", &PyRows::surprise_R, nb::rv_policy::automatic, "[R]")
        .def_ro("reply", &PyRows::reply_R, nb::rv_policy::automatic,
                "[R], the other player's next action, or -1.")
        .def_ro("observer", &PyRows::observer_R, nb::rv_policy::automatic, "[R]")
        .def_ro("event", &PyRows::event_R, nb::rv_policy::automatic,
                "[R], number of the event that follows the position.")
        .def_ro("final_observations", &PyRows::final_observations_2N, nb::rv_policy::automatic,
                "[2, observation_bytes], by player.");

    nb::class_<PyPackedRows>(m, "PackedRows",
                             "The rows of episodes as the replay buffer keeps them, laid out as "
                             "row_layout says.")
        .def_ro("rows", &PyPackedRows::rows_RX, nb::rv_policy::automatic,
                "[R, bytes of a row], of all episodes one after another.")
        .def_ro("num_rows", &PyPackedRows::num_rows_E, nb::rv_policy::automatic,
                "[E], of each episode; 0 where it was truncated.")
        .def_ro("final_observations", &PyPackedRows::final_observations_FN,
                nb::rv_policy::automatic,
                "[F, observation_bytes], two of each episode that has rows, by player.");

    nb::class_<PyCheckedEpisodes>(m, "CheckedEpisodes",
                                  "Untrusted episodes, checked. G of the E episodes are good.")
        .def_prop_ro("faults", &faults_of, "[E], what is wrong with each; empty where it is good.",
                     nb::sig("def faults(self) -> list[str]"))
        .def_ro("ids", &PyCheckedEpisodes::ids, "[G], worker and sequence number.")
        .def_ro("versions", &PyCheckedEpisodes::versions,
                "[G], the highest version of weights that played.")
        .def_ro("packed", &PyCheckedEpisodes::packed, "The rows of the G good ones.");

    nb::class_<PyRowLayout>(m, "RowLayout",
                            "The fields of a packed row, as numpy.dtype takes them.")
        .def_ro("names", &PyRowLayout::names)
        .def_ro("formats", &PyRowLayout::formats)
        .def_ro("offsets", &PyRowLayout::offsets)
        .def_ro("itemsize", &PyRowLayout::itemsize);

    m.attr("OUTCOME_UNIT") = kOutcomeUnit;

    nb::class_<Event>(m, "Event",
                      "An action or chance outcome, and what the search before it found.")
        .def_prop_ro(
            "kind", [](const Event& event) { return kind_text(event.kind); },
            "chance; or how the decision was searched: none, fast or full.")
        .def_ro("id", &Event::id, "The action, or the chance outcome.")
        .def_ro("version", &Event::version, "Of the weights that evaluated.")
        .def_ro("num_simulations", &Event::num_simulations)
        .def_prop_ro("policy", &policy_of,
                     "The target: (action, probability), after a full search.")
        .def_prop_ro("outcomes_to_move", &outcomes_of,
                     "Distribution over outcomes that the search found, the mover's view; before a "
                     "roll, the turn-ahead value of the player about to roll.")
        .def_prop_ro(
            "surprise",
            [](const Event& event) { return float(event.surprise) / float(kSurpriseUnit); },
            "Divergence of the target from the priors.");

    nb::class_<Episode>(m, "Episode", "The record of one whole game.")
        .def_static(
            "decode", [](const nb::bytes& bytes) { return value_or_raise(decode(span_of(bytes))); },
            "bytes"_a, "Reads a record; any other bytes are an error that names the fault.")
        .def_static(
            "record",
            [](const PyGame& game, uint64_t seed, const std::vector<int64_t>& ids, uint64_t worker,
               uint64_t sequence) {
                Episode episode = value_or_raise(game.core->record(seed, ids));
                episode.worker = worker;
                episode.sequence = sequence;
                return episode;
            },
            "game"_a, "seed"_a, "ids"_a, "worker"_a = 0, "sequence"_a = 0,
            "The record of a game: game.new_position(seed), then these actions and chance "
            "outcomes, up to its end or to max_plies.")
        .def("encode", [](const Episode& episode) { return to_bytes(encode(episode)); })
        .def(
            "with_id",
            [](Episode episode, uint64_t worker, uint64_t sequence) {
                episode.worker = worker;
                episode.sequence = sequence;
                return episode;
            },
            "worker"_a, "sequence"_a, "The same game under another id.")
        .def_ro("game", &Episode::game)
        .def_ro("options", &Episode::options)
        .def_ro("worker", &Episode::worker)
        .def_ro("sequence", &Episode::sequence, "With `worker` the id of the episode.")
        .def_ro("events", &Episode::events)
        .def_ro("outcome_first_player", &Episode::outcome_first_player,
                "Index into the game's outcomes; -1 where the game was truncated.")
        .def(
            "verify",
            [](const Episode& episode, const PyGame& game) {
                value_or_raise(game.core->verify(episode));
            },
            "game"_a, "Raises where the game cannot have been played so.")
        .def("rows", &rows_of, "game"_a, "value_lambda"_a = 0.0f, "use_solved_values"_a = false,
             "Replays it into training rows. Search values are TD(lambda) targets; see "
             "replay.value_target_lambda and replay.use_solved_values.")
        .def("positions", &positions_of, "game"_a,
             "Replays it: the positions before each event, then the last one.")
        .def("observations", &observations_of, "game"_a,
             "What the players saw: rows of bytes, the number of the event that follows, and the "
             "observer. Where hands are hidden both players have a row.");

    m.def("pack_rows", &pack_rows, "game"_a, "episodes"_a, "value_lambda"_a = 0.0f,
          "use_solved_values"_a = false,
          "Replays episodes into packed training rows. Releases the GIL, unless the rules are in "
          "Python.");
    m.def("check_episodes", &check_episodes, "game"_a, "episodes"_a, "workers"_a,
          "value_lambda"_a = 0.0f, "use_solved_values"_a = false,
          "Decodes untrusted episodes with bounds and replays them into packed training rows. With "
          "`workers`, one per episode, an episode that names another one is at fault. Releases the "
          "GIL, unless the rules are in Python.");
    m.def("row_layout", &row_layout, "game"_a, "The layout of a game's packed rows.");
}

}  // namespace zf
