// A game written in Python as a game of the core: the same search, check and records serve it.
//
// The user's class has the method names of games/game.h; zerofleet/games/custom.py documents them
// and checks that they exist. Every return value is checked here, and a wrong one is an error that
// names the method. Exceptions of the user's code propagate through the core. Requires the GIL
// throughout.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <sstream>

#include "bind/python_errors.h"
#include "games/checked.h"
#include "games/game.h"

namespace zf {

// What the user's class declares.
struct CustomClass {
    nanobind::object type;
    Facts facts;
    bool takes_seed = false;  // a new game is type(seed=…) instead of type()
};

class PythonGame {
  public:
    using Options = std::shared_ptr<const CustomClass>;

    static std::vector<OptionSpec> option_specs() { return {}; }
    static Result<Options> parse_options(const OptionValues&) {
        return Error{Error::Kind::unsupported, "a game written in Python is made of its class"};
    }
    static Facts facts(const Options& own) { return own->facts; }

    static PythonGame start(const Options& own, Rng& rng) { return started(own, rng.next()); }
    // The deal is the seed it was dealt from, in eight bytes.
    std::vector<uint8_t> write_start() const {
        std::vector<uint8_t> bytes;
        for (int i = 0; own_->takes_seed && i < 8; ++i) bytes.push_back(uint8_t(seed_ >> (8 * i)));
        return bytes;
    }
    static Result<PythonGame> read_start(const Options& own, std::span<const uint8_t> bytes) {
        if (bytes.size() != (own->takes_seed ? 8 : 0))
            return Error{Error::Kind::damaged, "a start of " + own->facts.name + " has " +
                                                   std::to_string(bytes.size()) + " bytes"};
        uint64_t seed = 0;
        for (size_t i = 0; i < bytes.size(); ++i) seed |= uint64_t(bytes[i]) << (8 * i);
        return started(own, seed);
    }
    // Of an instance that the user made; a copy, since the user may play it further.
    static PythonGame of_instance(const Options& own, nanobind::handle instance) {
        PythonGame position(own, nanobind::borrow(instance));
        position.held_ = std::make_shared<nanobind::object>(position.copied());
        position.from_start_ = false;
        return position;
    }

    Mover to_move() const {
        const nanobind::object given = held_->attr("to_move");
        int mover = 0;
        if (!nanobind::try_cast(given, mover) || mover < 0 || mover > kOver)
            fault("to_move must be 0, 1, zerofleet.CHANCE or zerofleet.OVER, got " + repr(given));
        return Mover(mover);
    }
    int legal_actions(Action* actions) const;
    int roller() const {
        if (!has("roller")) return 0;
        const int64_t player = integer(call("roller"), "roller()");
        if (player != 0 && player != 1)
            fault("roller() must be 0 or 1, got " + repr(call("roller")));
        return int(player);
    }
    int chance_outcomes(ChanceOutcome* outcomes) const;
    void play(Action id) {
        unshare();
        call("play", int(id));
        history_.push_back(id);
    }
    Action random_action(Rng& rng) const {
        std::vector<Action> actions(own_->facts.num_actions);
        return actions[rng.below(uint32_t(legal_actions(actions.data())))];
    }
    Action random_outcome(Rng& rng) const {
        std::vector<ChanceOutcome> outcomes(own_->facts.num_chance_outcomes);
        const int count = chance_outcomes(outcomes.data());
        double left = rng.uniform();
        int chosen = 0;
        while (chosen + 1 < count && left >= outcomes[chosen].probability)
            left -= outcomes[chosen++].probability;
        return outcomes[chosen].id;
    }
    int outcome(int player) const;
    void observe(int player, uint8_t* bytes) const;
    void resample_hidden(int player, Rng& rng) {
        const uint64_t seed = rng.next();
        if (!own_->facts.hidden) return;
        unshare();
        call("resample_hidden", player, seed);
    }
    std::vector<HiddenGroup> hidden_groups(int player) const;

    // Without a to_text of the class: the ids played, after the seed if it takes one. A position
    // that was not played from a start is then its str(), which cannot be read back.
    std::string to_text() const;
    static Result<PythonGame> from_text(const Options& own, const std::string& text);
    std::string action_text(Action id) const {
        return has("action_text") ? text_of(call("action_text", int(id))) : std::to_string(id);
    }
    Result<Action> action_from_text(const std::string& text) const;
    Result<void> play_from_text(const std::string& text) {
        const Result<Action> action = action_from_text(text);
        if (!action) return action.error();
        play(*action);
        return {};
    }
    std::string picture() const { return text_of(nanobind::str(*held_)) + "\n"; }
    Described describe(int player) const;
    static Result<PythonGame> from_describe(const Options& own, const Described& described) {
        const Described* text = described.field("text");
        if (text && text->text()) return from_text(own, *text->text());
        return Error{Error::Kind::bad_text, "description lacks 'text'"};
    }

  private:
    PythonGame(const Options& own, nanobind::object held)
        : own_(own), held_(std::make_shared<nanobind::object>(std::move(held))) {}

    static PythonGame started(const Options& own, uint64_t seed) {
        using namespace nanobind::literals;
        PythonGame position(own, own->takes_seed ? own->type("seed"_a = seed) : own->type());
        position.seed_ = seed;
        return position;
    }

    [[noreturn]] void fault(const std::string& what) const {
        raise({Error::Kind::inconsistent, own_->facts.name + ": " + what});
    }
    static std::string text_of(nanobind::handle value) { return nanobind::str(value).c_str(); }
    static std::string repr(nanobind::handle value) { return text_of(nanobind::repr(value)); }

    bool has(const char* method) const { return nanobind::hasattr(own_->type, method); }
    template <class... Arguments>
    nanobind::object call(const char* method, Arguments... arguments) const {
        return held_->attr(method)(arguments...);
    }
    int64_t integer(nanobind::handle value, const std::string& what) const {
        int64_t number = 0;
        if (!nanobind::try_cast(value, number))
            fault(what + " must give whole numbers, got " + repr(value));
        return number;
    }

    // Copies of a position share the user's object until one of them changes it.
    void unshare() {
        if (held_.use_count() > 1) held_ = std::make_shared<nanobind::object>(copied());
    }
    nanobind::object copied() const {
        nanobind::object copy = call("copy");
        if (!copy.type().is(own_->type)) fault("copy() must give its own class, got " + repr(copy));
        return copy;
    }

    Options own_;
    std::shared_ptr<nanobind::object> held_;
    std::vector<Action> history_;
    uint64_t seed_ = 0;
    bool from_start_ = true;
};

inline int PythonGame::legal_actions(Action* actions) const {
    const nanobind::object given = call("legal_actions");
    int count = 0;
    for (const nanobind::handle item : given) {
        const int64_t id = integer(item, "legal_actions()");
        if (id < 0 || id >= own_->facts.num_actions)
            fault("legal_actions() gave " + std::to_string(id) + "; action ids are 0…" +
                  std::to_string(own_->facts.num_actions - 1));
        if (std::find(actions, actions + count, Action(id)) != actions + count)
            fault("legal_actions() gave " + std::to_string(id) + " twice");
        actions[count++] = Action(id);
    }
    if (count == 0) fault("legal_actions() is empty, but " + mover_text(to_move()));
    std::sort(actions, actions + count);
    return count;
}

inline int PythonGame::chance_outcomes(ChanceOutcome* outcomes) const {
    const nanobind::object given = call("chance_outcomes");
    int count = 0;
    for (const nanobind::handle item : given) {
        double probability = 0;
        if (nanobind::len(item) != 2 || !nanobind::try_cast(item[1], probability))
            fault("chance_outcomes() must give pairs of id and probability, got " + repr(item));
        const int64_t id = integer(item[0], "chance_outcomes()");
        if (id < 0 || id >= own_->facts.num_chance_outcomes)
            fault("chance_outcomes() gave " + std::to_string(id) + "; ids of chance are 0…" +
                  std::to_string(own_->facts.num_chance_outcomes - 1));
        for (int i = 0; i < count; ++i)
            if (outcomes[i].id == id)
                fault("chance_outcomes() gave " + std::to_string(id) + " twice");
        outcomes[count++] = {Action(id), probability};
    }
    if (count == 0) fault("chance_outcomes() is empty, but chance is to move");
    std::sort(outcomes, outcomes + count,
              [](const ChanceOutcome& a, const ChanceOutcome& b) { return a.id < b.id; });
    return count;
}

inline int PythonGame::outcome(int player) const {
    const nanobind::object rewards = call("rewards");
    float reward = 0;
    if (nanobind::len(rewards) != 2 || !nanobind::try_cast(rewards[player], reward))
        fault("rewards() must give two numbers, one per player, got " + repr(rewards));
    std::string known;
    for (size_t i = 0; i < own_->facts.outcomes.size(); ++i) {
        const Outcome& outcome = own_->facts.outcomes[i];
        if (outcome.reward == reward) return int(i);
        known +=
            (i ? ", " : "") + repr(nanobind::float_(outcome.reward)) + " (" + outcome.name + ")";
    }
    fault("rewards() gave " + repr(rewards) + "; the outcomes have " + known);
}

inline void PythonGame::observe(int player, uint8_t* bytes) const {
    const nanobind::object given = call("observe", player);
    const auto seen = nanobind::steal<nanobind::bytes>(PyBytes_FromObject(given.ptr()));
    if (!seen.is_valid()) throw nanobind::python_error();
    if (int(seen.size()) != own_->facts.observation_bytes)
        fault("observe(" + std::to_string(player) + ") gave " + std::to_string(seen.size()) +
              " bytes, observation_bytes is " + std::to_string(own_->facts.observation_bytes) +
              " (an array must be of uint8)");
    std::copy(seen.c_str(), seen.c_str() + seen.size(), bytes);
}

inline std::vector<HiddenGroup> PythonGame::hidden_groups(int player) const {
    std::vector<HiddenGroup> groups;
    if (!has("hidden_groups")) return groups;
    for (const nanobind::handle slots : call("hidden_groups", player)) {
        HiddenGroup& group = groups.emplace_back();
        for (const nanobind::handle items : slots) {
            std::vector<uint8_t>& slot = group.slots.emplace_back();
            for (const nanobind::handle item : items) {
                const int64_t number = integer(item, "hidden_groups()");
                if (number < 0 || number > 255)
                    fault("hidden_groups() gave " + std::to_string(number) + "; items are 0…255");
                slot.push_back(uint8_t(number));
            }
        }
    }
    return groups;
}

inline std::string PythonGame::to_text() const {
    if (has("to_text")) return text_of(call("to_text"));
    if (!from_start_) return text_of(nanobind::str(*held_));
    std::string text = own_->takes_seed ? "seed=" + std::to_string(seed_) : "";
    for (const Action id : history_) text += (text.empty() ? "" : " ") + std::to_string(id);
    return text;
}

inline Result<PythonGame> PythonGame::from_text(const Options& own, const std::string& text) {
    if (nanobind::hasattr(own->type, "from_text")) {
        PythonGame position(own, own->type.attr("from_text")(text));
        if (!position.held_->type().is(own->type))
            position.fault("from_text() must give its own class, got " + repr(*position.held_));
        return position;
    }
    std::istringstream words(text);
    uint64_t seed = 0;
    if (own->takes_seed && !(text.starts_with("seed=") && words.ignore(5) && words >> seed))
        return Error{Error::Kind::bad_text, "'" + text + "' must begin with the seed: seed=7 0 3"};
    PythonGame position = started(own, seed);
    for (int64_t id; words >> id;) {
        const Result<void> played = play_checked(position, own->facts, id);
        if (!played) return played.error();
    }
    if (!words.eof()) return Error{Error::Kind::bad_text, "'" + text + "' must be ids: 0 3 1"};
    return position;
}

inline Result<Action> PythonGame::action_from_text(const std::string& text) const {
    std::vector<Action> ids = zf::legal_actions(*this, own_->facts);
    for (const ChanceOutcome& outcome : zf::chance_outcomes(*this, own_->facts))
        ids.push_back(outcome.id);
    const bool asks = has("action_from_text");
    const int64_t wanted =
        asks ? integer(call("action_from_text", text), "action_from_text()") : -1;
    std::string legal;
    for (const Action id : ids) {
        const std::string each = action_text(id);
        if (asks ? id == wanted : each == text) return id;
        legal += (legal.empty() ? "" : ", ") + each;
    }
    return Error{Error::Kind::illegal, "'" + text + "' is not legal here; legal: " + legal + " (" +
                                           own_->facts.name + ", " + mover_text(to_move()) + ")"};
}

inline Described PythonGame::describe(int player) const {
    if (player < 0) return Described::Fields{{"text", to_text()}};
    Described::List bytes;
    for (const uint8_t byte : observation(*this, own_->facts, player)) bytes.push_back(int(byte));
    Described::Fields seen = {{"observation", bytes}};
    if (has("picture_for")) seen.push_back({"picture", text_of(call("picture_for", player))});
    return seen;
}

static_assert(Game<PythonGame>);

}  // namespace zf
