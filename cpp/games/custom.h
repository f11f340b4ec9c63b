// Defaults for a custom game: inherit from CustomGame and add the rules.
//
//     struct MyGame : zf::CustomGame<MyGame> {
//         static zf::Facts facts(const Options&) { return zf::custom_facts("sticks", 3, 3, 21); }
//         static MyGame start(const Options&, zf::Rng& rng);
//         zf::Mover to_move() const;
//         int legal_actions(zf::Action* actions) const;
//         void play(zf::Action action);
//         int outcome(int player) const;
//         void observe(int player, uint8_t* bytes) const;
//         std::string to_text() const;
//         static zf::Result<MyGame> from_text(const Options&, const std::string& text);
//     };
//
// game.h says what each must do. The rest of its contract is here, for a game without options,
// deal, chance or hidden information; a game with one of these overrides the functions of the same
// name.
#pragma once

#include "games/checked.h"
#include "games/game.h"

namespace zf {

// The facts of a game that ends in win, draw or loss and has no symmetries.
inline Facts custom_facts(const std::string& name, int num_actions, int observation_bytes,
                          int max_plies) {
    Facts facts;
    facts.name = name;
    facts.num_actions = num_actions;
    facts.observation_bytes = observation_bytes;
    facts.max_plies = max_plies;
    facts.outcomes = win_draw_loss();
    Symmetry& identity = facts.symmetries.emplace_back();
    for (int i = 0; i < num_actions; ++i) identity.action.push_back(Action(i));
    for (int i = 0; i < observation_bytes; ++i) identity.byte.push_back(uint16_t(i));
    return facts;
}

template <class P>
struct CustomGame : PlainGame<P> {
    struct Options {};
    static std::vector<OptionSpec> option_specs() { return {}; }
    static Result<Options> parse_options(const OptionValues&) { return Options{}; }

    Action random_action(Rng& rng) const {
        static const int num_actions = P::facts({}).num_actions;
        std::vector<Action> actions(num_actions);
        return actions[rng.below(uint32_t(self().legal_actions(actions.data())))];
    }

    // An action is written as its id; action_from_text reads whatever action_text writes.
    std::string action_text(Action action) const { return std::to_string(action); }
    Result<Action> action_from_text(const std::string& text) const {
        static const Facts facts = P::facts({});
        std::string legal;
        for (const Action action : zf::legal_actions(self(), facts)) {
            const std::string each = self().action_text(action);
            if (each == text) return action;
            legal += (legal.empty() ? "" : ", ") + each;
        }
        return Error{Error::Kind::illegal, "'" + text + "' is not legal here; legal: " + legal +
                                               " (" + facts.name + ", " +
                                               mover_text(self().to_move()) + ")"};
    }
    std::string picture() const { return self().to_text() + "\n"; }
    // Where something is hidden a player is shown its observation; a game that can draw itself for
    // a player writes its own `describe`, with a field `picture`.
    Described describe(int player) const {
        static const Facts facts = P::facts({});
        if (player < 0 || !facts.hidden) return Described::Fields{{"text", self().to_text()}};
        Described::List bytes;
        for (const uint8_t byte : observation(self(), facts, player)) bytes.push_back(int(byte));
        return Described::Fields{{"observation", bytes}};
    }
    static Result<P> from_describe(const auto& options, const Described& described) {
        const Described* text = described.field("text");
        if (text && text->text()) return P::from_text(options, *text->text());
        return Error{Error::Kind::bad_text, "description lacks 'text'"};
    }

  private:
    const P& self() const { return static_cast<const P&>(*this); }
};

}  // namespace zf
