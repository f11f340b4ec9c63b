// The texts of Beasty Bar: deals, states, actions, descriptions and pictures. Included by
// games/beastybar.h, which declares what is defined here.
#pragma once

#include "games/beastybar.h"
#include "games/beastybar/words.h"

namespace zf::beastybar {

// Where all cards are, as texts and descriptions give them; not yet checked.
struct BeastyBar::State {
    struct Zone {
        std::string name;
        int owner;  // kNobody where cards of both players lie
        std::vector<Card> cards;
    };
    int player = 0;
    Zone queue{"queue", kNobody, {}}, bar{"bar", kNobody, {}}, thats_it{"thats_it", kNobody, {}};
    Zone hands[2] = {{"hand0", 0, {}}, {"hand1", 1, {}}};
    Zone piles[2] = {{"pile0", 0, {}}, {"pile1", 1, {}}};

    std::array<Zone*, 7> zones() {
        return {&queue, &bar, &thats_it, &hands[0], &hands[1], &piles[0], &piles[1]};
    }
};

inline BeastyBar::State BeastyBar::state() const {
    State state;
    state.player = turn_;
    for (int i = 0; i < table_.queue().size(); ++i)
        state.queue.cards.push_back(Card(table_.queue()[i]));
    for (int i = 0; i < table_.num_in_bar(); ++i) state.bar.cards.push_back(table_.in_bar(i));
    for (int i = 0; i < table_.num_thats_it(); ++i)
        state.thats_it.cards.push_back(table_.in_thats_it(i));
    for (const int player : {0, 1}) {
        state.hands[player].cards = cards_of(hands_[player], player);
        state.piles[player].cards = cards_of(piles_[player], player);
    }
    return state;
}

inline Result<BeastyBar> BeastyBar::from_state(const Options& options, State state) {
    const auto fault = [](const std::string& text) {
        return Error{Error::Kind::inconsistent, text};
    };
    std::array<std::string, make_card(kLion, 1) + 1> zone_names;  // by card
    for (const State::Zone* zone : state.zones()) {
        for (const Card card : zone->cards) {
            std::string& name = zone_names[card];
            if (!name.empty())
                return fault(card_text(card) + " is there twice, in " + name + " and in " +
                             zone->name);
            if (zone->owner != kNobody && zone->owner != owner_of(card))
                return fault(card_text(card) + " is in " + zone->name +
                             ", where only animals of player " + std::to_string(zone->owner) +
                             " can be");
            name = zone->name;
        }
    }
    if (state.queue.cards.size() > kMaxInQueue)
        return fault("queue has " + std::to_string(state.queue.cards.size()) +
                     " animals; before a card is played it has at most 4");
    for (const int player : {0, 1})
        if (state.hands[player].cards.empty() && !state.piles[player].cards.empty())
            return fault(state.hands[player].name + " is empty, but " + state.piles[player].name +
                         " is not; a player draws as long as it can");
    return BeastyBar(options, state);
}

inline BeastyBar::BeastyBar(const Options& options, const State& state) : options_(options) {
    for (const Card card : state.queue.cards) table_.add_to_queue(card);
    for (const Card card : state.bar.cards) table_.add_to_bar(card);
    for (const Card card : state.thats_it.cards) table_.add_to_thats_it(card);
    for (const int player : {0, 1}) {
        for (const Card card : state.hands[player].cards) hands_[player].append(species_of(card));
        for (const Card card : state.piles[player].cards) piles_[player].append(species_of(card));
    }
    pass_turn_to(state.player);
}

// ---- actions

inline std::vector<std::string> BeastyBar::legal_texts() const {
    Action actions[kNumActions];
    const int count = legal_actions(actions);
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i) texts.push_back(action_text(actions[i]));
    return texts;
}

inline Result<Action> BeastyBar::action_from_text(const std::string& text) const {
    if (to_move() == kOver) return Error{Error::Kind::illegal, text + ": the game is over"};
    Action action = 0;
    while (action < kNumActions && action_text(action) != text) ++action;
    const std::vector<std::string> legal = legal_texts();
    if (std::find(legal.begin(), legal.end(), text) != legal.end()) return action;
    return Error{action < kNumActions ? Error::Kind::illegal : Error::Kind::bad_text,
                 text + ": " + why_not(text) + "; legal: " + join(legal, ", ")};
}

inline Result<void> BeastyBar::play_from_text(const std::string& text) {
    const Result<Action> action = action_from_text(text);
    if (!action) return action.error();
    play(*action);
    return {};
}

inline std::string BeastyBar::why_not(const std::string& text) const {
    const std::vector<std::string> words = split(text, ' ');
    const Result<Species> species = species_from_text(words.empty() ? "" : words[0]);
    if (!species) return species.error().text;
    if (hands_[turn_].find(*species) < 0)
        return "it is not in the hand of player " + std::to_string(turn_);
    if (words.size() == 1) return "a choice is missing";
    const bool asks_for_index = *species == kParrot || *species == kChameleon;
    const bool is_digit = words[1].size() == 1 && words[1][0] >= '0' && words[1][0] <= '9';
    if (!asks_for_index || !is_digit) return "there is no such choice";
    const int num_ahead = table_.queue().size(), index = words[1][0] - '0';
    if (index >= num_ahead)
        return num_ahead == 0 ? "the queue is empty"
                              : "the queue has only " + std::to_string(num_ahead) +
                                    (num_ahead == 1 ? " animal" : " animals");
    const Species chosen = species_of(Card(table_.queue()[index]));
    if (*species == kChameleon && chosen == kChameleon)
        return "a chameleon does not copy a chameleon";
    if (*species == kChameleon && words.size() == 2)
        return std::string("the choice of the copied ") + kSpeciesNames[chosen] + " is missing";
    return "there is no such choice";
}

// ---- positions

inline std::string BeastyBar::to_text() const {
    if (decks_[0].empty()) {
        State state = this->state();
        std::string text = "player=" + std::to_string(state.player);
        for (const State::Zone* zone : state.zones())
            text +=
                " " + zone->name + "=" +
                join(zone->owner == kNobody ? card_texts(zone->cards) : species_texts(zone->cards),
                     ",");
        return text;
    }
    std::string text = "first=" + std::to_string(first_);
    for (const int player : {0, 1})
        text += " deck" + std::to_string(player) + "=" +
                join(species_texts(cards_of(decks_[player], player)), ",");
    for (int ply = 0; ply < num_plies_; ++ply)
        text += (ply ? ";" : " moves=") + action_text(history_[ply]);
    return text;
}

inline Result<BeastyBar> BeastyBar::from_text(const Options& options, const std::string& text) {
    if (text.starts_with("first=")) return from_deal_text(options, text);
    if (text.starts_with("player=")) return from_state_text(options, text);
    return bad_text("a position of Beasty Bar starts with first= (a deal) or player= (a state)");
}

inline Result<BeastyBar> BeastyBar::from_deal_text(const Options& options,
                                                   const std::string& text) {
    const std::string kMoves = " moves=";
    const size_t moves_at = std::min(text.find(kMoves), text.size());
    const auto parts = NamedParts::read(text.substr(0, moves_at), {"first", "deck0", "deck1"});
    if (!parts) return parts.error();
    const Result<int> first = player_from_text((*parts)["first"]);
    if (!first) return within("first", first.error());
    const Result<Cards> deck0 = deck_from_text((*parts)["deck0"]);
    if (!deck0) return within("deck0", deck0.error());
    const Result<Cards> deck1 = deck_from_text((*parts)["deck1"]);
    if (!deck1) return within("deck1", deck1.error());
    BeastyBar position(options, *first, *deck0, *deck1);
    if (moves_at == text.size()) return position;
    for (const std::string& move : split(text.substr(moves_at + kMoves.size()), ';')) {
        const std::string number = std::to_string(position.num_plies_ + 1);
        const Result<void> played = position.play_from_text(move);
        if (!played) return within("move " + number, played.error());
    }
    return position;
}

inline Result<BeastyBar> BeastyBar::from_state_text(const Options& options,
                                                    const std::string& text) {
    State state;
    std::vector<std::string> names = {"player"};
    for (const State::Zone* zone : state.zones()) names.push_back(zone->name);
    const auto parts = NamedParts::read(text, names);
    if (!parts) return parts.error();
    const Result<int> player = player_from_text((*parts)["player"]);
    if (!player) return within("player", player.error());
    state.player = *player;
    for (State::Zone* zone : state.zones()) {
        const Result<std::vector<Card>> cards = cards_from_text((*parts)[zone->name], zone->owner);
        if (!cards) return within(zone->name, cards.error());
        zone->cards = *cards;
    }
    return from_state(options, state);
}

// ---- descriptions and pictures

inline Described BeastyBar::describe(int player) const {
    const State state = this->state();
    const bool all = player < 0;
    Described::List hands, piles;
    for (const int owner : {0, 1}) {
        const auto &hand = state.hands[owner].cards, &pile = state.piles[owner].cards;
        hands.push_back(all || owner == player ? described_cards(hand) : int(hand.size()));
        piles.push_back(all ? described_cards(pile) : int(pile.size()));
    }
    return Described::Fields{{"queue", described_cards(state.queue.cards)},
                             {"bar", described_cards(state.bar.cards)},
                             {"thats_it", described_cards(state.thats_it.cards)},
                             {"hands", hands},
                             {"piles", piles},
                             {"points", Described::List{table_.points(0), table_.points(1)}},
                             {"player", state.player}};
}

inline Described BeastyBar::steps(Action action) const {
    constexpr const char* kNames[] = {"entry", "recurring", "bar"};
    const Turn& turn = kTurns[action];
    Described::List steps;
    Table table = table_;
    int num_in_bar = table.num_in_bar(), num_thats_it = table.num_thats_it();
    table.play(turn, turn_, [&](Table::Step step, Card animal) {
        std::vector<Card> queue, bar, thats_it;
        for (int i = 0; i < table.queue().size(); ++i) queue.push_back(Card(table.queue()[i]));
        for (; num_in_bar < table.num_in_bar(); ++num_in_bar)
            bar.push_back(table.in_bar(num_in_bar));
        for (; num_thats_it < table.num_thats_it(); ++num_thats_it)
            thats_it.push_back(table.in_thats_it(num_thats_it));
        Described::Fields fields = {{"step", kNames[int(step)]},
                                    {"animal", card_text(animal)},
                                    {"queue", described_cards(queue)},
                                    {"bar", described_cards(bar)},
                                    {"thats_it", described_cards(thats_it)}};
        if (step == Table::Step::entry && turn.copied != kNoChoice)
            fields.push_back({"as", kSpeciesNames[species_of(Card(table_.queue()[turn.copied]))]});
        steps.emplace_back(std::move(fields));
    });
    return steps;
}

inline Result<BeastyBar> BeastyBar::from_describe(const Options& options,
                                                  const Described& described) {
    const auto* fields = std::get_if<Described::Fields>(&described.value);
    if (!fields) return bad_text("a description must have named fields");
    State state;
    bool has_player = false;
    for (const auto& [name, value] : *fields) {
        const std::optional<Error> error = read_field(name, value, state);
        if (error) return within(name, *error);
        has_player |= name == "player";
    }
    if (!has_player) return bad_text("a description needs 'player', 0 or 1");
    const Result<BeastyBar> position = from_state(options, state);
    const Described* points = described.field("points");
    if (position && points && !position->has_points(*points))
        return Error{Error::Kind::inconsistent, "points: can be left out; the bar gives " +
                                                    std::to_string(position->table_.points(0)) +
                                                    " and " +
                                                    std::to_string(position->table_.points(1))};
    return position;
}

inline std::optional<Error> BeastyBar::read_field(const std::string& name, const Described& value,
                                                  State& state) {
    const auto read_zone = [](const Described& cards, State::Zone& zone) -> std::optional<Error> {
        const Result<std::vector<Card>> read = cards_from_described(cards);
        if (!read) return read.error();
        zone.cards = *read;
        return std::nullopt;
    };
    if (name == "queue") return read_zone(value, state.queue);
    if (name == "bar") return read_zone(value, state.bar);
    if (name == "thats_it") return read_zone(value, state.thats_it);
    if (name == "hands" || name == "piles") {
        State::Zone* zones = name == "hands" ? state.hands : state.piles;
        if (!value.list() || value.list()->size() != 2)
            return bad_text("must be two lists of animals, one per player");
        for (const int owner : {0, 1})
            if (const auto error = read_zone((*value.list())[owner], zones[owner]))
                return within("player " + std::to_string(owner), *error);
        return std::nullopt;
    }
    if (name == "player") {
        if (!value.number() || *value.number() < 0 || *value.number() > 1)
            return bad_text("must be 0 or 1");
        state.player = int(*value.number());
        return std::nullopt;
    }
    if (name == "points") return std::nullopt;  // of the bar, compared with it at the end
    return bad_text("is not known; known are queue, bar, thats_it, hands, piles, points, player");
}

inline bool BeastyBar::has_points(const Described& described) const {
    const Described::List* points = described.list();
    if (!points || points->size() != 2) return false;
    for (const int player : {0, 1}) {
        const int64_t* number = (*points)[player].number();
        if (!number || *number != table_.points(player)) return false;
    }
    return true;
}

inline std::string BeastyBar::picture() const {
    const State state = this->state();
    std::string text = "queue      front | " + join(card_texts(state.queue.cards), " ") +
                       " | back\n" + "bar        " + join(card_texts(state.bar.cards), " ") + "\n" +
                       "That's It  " + join(card_texts(state.thats_it.cards), " ") + "\n";
    for (const int player : {0, 1})
        text += "player " + std::to_string(player) + "   " + std::to_string(table_.points(player)) +
                " points | hand " + join(species_texts(state.hands[player].cards), " ") +
                " | pile " + join(species_texts(state.piles[player].cards), " ") + "\n";
    if (to_move() != kOver) return text + "player " + std::to_string(turn_) + " to move\n";
    if (outcome(0) == kDraw) return text + "drawn\n";
    return text + "player " + (outcome(0) == kWin ? "0" : "1") + " has won\n";
}

}  // namespace zf::beastybar
