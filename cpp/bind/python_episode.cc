// Binds the episode: reading it, and playing it again in its game.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bind/python_arrays.h"
#include "bind/python_game.h"

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
        case SearchKind::cheap:
            return "cheap";
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

}  // namespace

void bind_episode(nb::module_& m) {
    nb::class_<Event>(m, "Event",
                      "An action or chance outcome, and what the search before it found.")
        .def_prop_ro(
            "kind", [](const Event& event) { return kind_text(event.kind); },
            "chance; or how the decision was searched: none, cheap or full.")
        .def_ro("id", &Event::id, "The action, or the chance outcome.")
        .def_ro("version", &Event::version, "Of the weights that evaluated.")
        .def_ro("num_simulations", &Event::num_simulations)
        .def_prop_ro("policy", &policy_of,
                     "The target: (action, probability), after a full search.")
        .def_prop_ro("outcomes_to_move", &outcomes_of,
                     "Distribution over outcomes that the search found, the mover's view.")
        .def_prop_ro(
            "surprise",
            [](const Event& event) { return float(event.surprise) / float(kSurpriseUnit); },
            "Divergence of the target from the priors.");

    nb::class_<Episode>(m, "Episode", "The record of one whole game.")
        .def_static(
            "decode", [](const nb::bytes& bytes) { return value_or_raise(decode(span_of(bytes))); },
            "bytes"_a, "Reads a record; any other bytes are an error that names the fault.")
        .def("encode", [](const Episode& episode) { return to_bytes(encode(episode)); })
        .def_ro("game", &Episode::game)
        .def_ro("options", &Episode::options)
        .def_ro("worker", &Episode::worker)
        .def_ro("sequence", &Episode::sequence, "With `worker` the id of the episode.")
        .def_ro("events", &Episode::events)
        .def_ro("outcome_first_player", &Episode::outcome_first_player,
                "Index into the game's outcomes; -1 where the game was cut off.")
        .def(
            "verify",
            [](const Episode& episode, const PyGame& game) {
                value_or_raise(game.core->verify(episode));
            },
            "game"_a, "Raises where the game cannot have been played so.")
        .def("positions", &positions_of, "game"_a,
             "Plays it again: the positions before each event, then the last one.")
        .def("observations", &observations_of, "game"_a,
             "What the players saw: rows of bytes, the number of the event that was to come, and "
             "the observer. Where hands are hidden both players have a row.");
}

}  // namespace zf
