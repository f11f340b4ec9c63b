// Beasty Bar for two players: animals push each other about in a queue, and the front two of five
// enter the bar.
//
// Both players have the same twelve animals, shuffled: four in the hand and eight in a face-down
// pile that not even its owner sees. The deal is hidden state, so there is no chance in the game.
// Option `scoring`: `points` (more points in the bar win) or `animals` (more animals, then less
// strength).
//
// Action ids: beastybar/actions.h. What the animals do: beastybar/table.h. Text: a deal and the
// actions since, or, where the deal is not known, the state; see to_text.
//
// Observation: a byte per card, the observer's twelve by strength, then the other's: where it is
// (enum Place). Then the size of the other's hand, of the own and the other's pile, the points in
// the bar, own and the other's, and 1 if the observer is to move.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "games/beastybar/actions.h"
#include "games/beastybar/cards.h"
#include "games/beastybar/table.h"
#include "games/game.h"

namespace zf::beastybar {

class BeastyBar {
  public:
    struct Options {
        bool count_animals = false;
        bool operator==(const Options&) const = default;
    };
    enum Place : uint8_t {
        kAbsent,  // not in this game
        kUnseen,  // the other's, in its hand or pile
        kInPile,  // the observer's own
        kInHand,  // the observer's own
        kInBar,
        kInThatsIt,
        kInQueue  // at the front; then one more for each place behind
    };

    static std::vector<OptionSpec> option_specs() {
        return {{"scoring", "points", {"points", "animals"}}};
    }
    static Result<Options> parse_options(const OptionValues& values) {
        return Options{values[0].second == "animals"};
    }
    static Facts facts(const Options&) {
        Facts facts;
        facts.name = "beastybar";
        facts.num_actions = kNumActions;
        facts.observation_bytes = kObservationBytes;
        facts.max_plies = kNumCards;
        facts.hidden = true;
        facts.ends_are_seen = true;  // by the table and the number of cards left
        facts.outcomes = win_draw_loss();
        facts.symmetries = {identity()};
        return facts;
    }

    static BeastyBar start(const Options& options, Rng& rng) {
        const int first = int(rng.below(2));
        const Cards deck0 = shuffled(kAllSpecies, rng), deck1 = shuffled(kAllSpecies, rng);
        return BeastyBar(options, first, deck0, deck1);
    }
    std::vector<uint8_t> write_start() const;
    static Result<BeastyBar> read_start(const Options& options, std::span<const uint8_t> bytes);

    Mover to_move() const { return over_ ? kOver : Mover(turn_); }
    int legal_actions(Action* actions) const;
    Action random_action(Rng& rng) const {
        Action actions[kNumActions];
        return actions[rng.below(uint32_t(legal_actions(actions)))];
    }
    void play(Action action);
    int outcome(int player) const;

    const Options& options() const { return options_; }
    const Table& table() const { return table_; }
    SpeciesSet hand(int player) const { return species_set(hands_[player]); }
    // By how much player 0 leads in the bar: its sign is who wins if the game ends so. Counting
    // animals, the lead in animals times kAnimalLead, less the lead in strength.
    int lead_first_player() const;
    static constexpr int kAnimalLead = 128;  // no lead in strength is as large

    // There is no chance after the deal.
    int roller() const { return 0; }
    int chance_outcomes(ChanceOutcome*) const { return 0; }
    Action random_outcome(Rng&) const { return 0; }

    void observe(int player, uint8_t* bytes) const;
    void resample_hidden(int player, Rng& rng);
    std::vector<HiddenGroup> hidden_groups(int player) const;
    // Both decks are known, so with no card left to draw a player's hand is what is left of its
    // own.
    bool nothing_hidden() const { return piles_[0].empty() && piles_[1].empty(); }

    // `first=0 deck0=… deck1=… moves=…` where the deal is known; else `player=0 queue=… bar=…
    // thats_it=… hand0=… hand1=… pile0=… pile1=…`. A missing part of the latter is empty.
    std::string to_text() const;
    static Result<BeastyBar> from_text(const Options& options, const std::string& text);
    std::string action_text(Action action) const { return turn_text(kTurns[action]); }
    Result<Action> action_from_text(const std::string& text) const;
    Result<void> play_from_text(const std::string& text);
    std::string picture() const;
    // For a player, hands and piles that it cannot see are given as their sizes.
    Described describe(int player) const;
    // What happens on the table when this legal action is played, as a list of steps in order:
    // `step` (entry, recurring or bar), the `animal` that acts, what it is copied `as` where a
    // chameleon copies, the `queue` after it, and who came to the `bar` and to `thats_it` in it.
    Described steps(Action action) const;
    // A card that is not listed is not in the game and does not count for its end.
    static Result<BeastyBar> from_describe(const Options& options, const Described& described);

    bool operator==(const BeastyBar&) const = default;

  private:
    static constexpr int kHandSize = 4;
    // With fewer nobody can enter the bar any more. Without cards in hands there are fewer.
    static constexpr int kFewestCardsInPlay = kMaxInQueue + 1;
    static constexpr int kObservationBytes = kNumCards + 6;
    static constexpr SpeciesSet kAllSpecies = ((1u << kNumSpecies) - 1) << 1;

    struct State;  // where all cards are, as texts and descriptions give them

    BeastyBar(const Options& options, int first, Cards deck0, Cards deck1);
    // Of a state that was checked.
    BeastyBar(const Options& options, const State& state);

    static Symmetry identity();
    int num_in_play() const {
        return table_.queue().size() + hands_[0].size() + hands_[1].size() + piles_[0].size() +
               piles_[1].size();
    }
    // The next turn is the player's, or the other's where that player has no cards; or the game
    // ends.
    void pass_turn_to(int player);
    SpeciesSet unseen(int owner) const {
        return species_set(hands_[owner]) | species_set(piles_[owner]);
    }
    void forget_history();

    // Texts, in beastybar/text.h.
    std::vector<std::string> legal_texts() const;
    // Why this is not the text of a legal action.
    std::string why_not(const std::string& text) const;
    State state() const;
    static Result<BeastyBar> from_state(const Options& options, State state);
    static Result<BeastyBar> from_deal_text(const Options& options, const std::string& text);
    static Result<BeastyBar> from_state_text(const Options& options, const std::string& text);
    static std::optional<Error> read_field(const std::string& name, const Described& value,
                                           State& state);
    bool has_points(const Described& described) const;

    Table table_;
    Cards hands_[2], piles_[2];
    Cards decks_[2];                   // as dealt; empty where the deal is not known
    uint8_t history_[kNumCards] = {};  // the actions since the deal
    uint8_t num_plies_ = 0;            // of them
    uint8_t first_ = 0;
    uint8_t turn_ = 0;
    bool over_ = false;
    Options options_;
};

inline BeastyBar::BeastyBar(const Options& options, int first, Cards deck0, Cards deck1)
    : decks_{deck0, deck1}, first_(uint8_t(first)), turn_(uint8_t(first)), options_(options) {
    for (const int player : {0, 1}) {
        hands_[player] = Cards(decks_[player].bits() & ((1u << (4 * kHandSize)) - 1));
        piles_[player] = Cards(decks_[player].bits() >> (4 * kHandSize));
    }
}

inline Symmetry BeastyBar::identity() {
    Symmetry identity;
    for (int i = 0; i < kNumActions; ++i) identity.action.push_back(Action(i));
    for (int i = 0; i < kObservationBytes; ++i) identity.byte.push_back(uint16_t(i));
    return identity;
}

inline int BeastyBar::legal_actions(Action* actions) const {
    const SpeciesSet hand = species_set(hands_[turn_]), others = table_.species_in_queue();
    const int num_ahead = table_.queue().size(),
              most_hops = num_ahead < kMaxHops ? num_ahead : kMaxHops;
    SpeciesSet choosing = others ? set_of(kKangaroo, kParrot) : 0;
    if (others & ~set_of(kChameleon)) choosing |= set_of(kChameleon);
    choosing &= hand;

    int count = 0;
    for (SpeciesSet bare = hand & ~choosing; bare; bare &= bare - 1)
        actions[count++] = bare_action(std::countr_zero(bare));
    if (choosing & set_of(kKangaroo))
        for (int hops = 1; hops <= most_hops; ++hops) actions[count++] = hop_action(hops);
    if (choosing & set_of(kParrot))
        for (int target = 0; target < num_ahead; ++target) actions[count++] = expel_action(target);
    if (!(choosing & set_of(kChameleon))) return count;
    constexpr SpeciesSet kNotPlain = set_of(kChameleon, kKangaroo, kParrot);
    for (int i = 0; i < num_ahead; ++i)
        if (!is_in(kNotPlain, Card(table_.queue()[i]))) actions[count++] = copy_action(i);
    for (int i = 0; i < num_ahead; ++i) {
        const Species copied = species_of(Card(table_.queue()[i]));
        if (copied == kParrot)
            for (int target = 0; target < num_ahead; ++target)
                actions[count++] = copy_action(i, target);
        if (copied == kKangaroo)
            for (int hops = 1; hops <= most_hops; ++hops) actions[count++] = copy_action(i, hops);
    }
    return count;
}

inline void BeastyBar::play(Action action) {
    const Turn& turn = kTurns[action];
    Cards &hand = hands_[turn_], &pile = piles_[turn_];
    hand.take(hand.find(turn.species));
    table_.play(turn, turn_);
    if (!pile.empty()) hand.append(pile.take(0));
    if (!decks_[0].empty()) history_[num_plies_++] = uint8_t(action);
    pass_turn_to(turn_ ^ 1);
}

inline void BeastyBar::pass_turn_to(int player) {
    const bool other_only = hands_[player].empty() && !hands_[player ^ 1].empty();
    turn_ = uint8_t(other_only ? player ^ 1 : player);
    over_ = num_in_play() < kFewestCardsInPlay;
}

inline int BeastyBar::lead_first_player() const {
    if (!options_.count_animals) return table_.points(0) - table_.points(1);
    int lead = 0;
    for (int i = 0; i < table_.num_in_bar(); ++i) {
        const Card card = table_.in_bar(i);
        lead += (owner_of(card) == 0 ? 1 : -1) * (kAnimalLead - species_of(card));
    }
    return lead;
}

inline int BeastyBar::outcome(int player) const {
    const int lead = lead_first_player();
    if (lead == 0) return kDraw;
    return (lead > 0) == (player == 0) ? kWin : kLoss;
}

inline void BeastyBar::observe(int player, uint8_t* bytes) const {
    const int other = player ^ 1;
    const auto put = [&](int species, int owner, int place) {
        bytes[(owner == player ? 0 : kNumSpecies) + species - 1] = uint8_t(place);
    };
    const auto put_card = [&](Card card, int place) {
        put(species_of(card), owner_of(card), place);
    };
    const auto put_all = [&](Cards cards, int owner, Place place) {
        for (uint64_t left = cards.bits(); left; left >>= 4) put(left & 15, owner, place);
    };
    for (int i = 0; i < kNumCards; ++i) bytes[i] = kAbsent;
    put_all(hands_[player], player, kInHand);
    put_all(piles_[player], player, kInPile);
    put_all(hands_[other], other, kUnseen);
    put_all(piles_[other], other, kUnseen);
    for (int i = 0; i < table_.num_in_bar(); ++i) put_card(table_.in_bar(i), kInBar);
    for (int i = 0; i < table_.num_thats_it(); ++i) put_card(table_.in_thats_it(i), kInThatsIt);
    for (int i = 0; i < table_.queue().size(); ++i) put_card(Card(table_.queue()[i]), kInQueue + i);

    const int counters[] = {hands_[other].size(),  piles_[player].size(), piles_[other].size(),
                            table_.points(player), table_.points(other),  to_move() == player};
    for (int i = 0; i < kObservationBytes - kNumCards; ++i)
        bytes[kNumCards + i] = uint8_t(counters[i]);
}

inline void BeastyBar::resample_hidden(int player, Rng& rng) {
    const int other = player ^ 1;
    piles_[player] = shuffled(species_set(piles_[player]), rng);
    const Cards drawn = shuffled(unseen(other), rng);
    const int hand_bits = 4 * hands_[other].size();
    hands_[other] = Cards(drawn.bits() & ((1ULL << hand_bits) - 1));
    piles_[other] = Cards(drawn.bits() >> hand_bits);
    forget_history();
}

inline void BeastyBar::forget_history() {
    for (Cards& deck : decks_) deck = Cards();
    for (uint8_t& action : history_) action = 0;
    num_plies_ = first_ = 0;
}

inline std::vector<HiddenGroup> BeastyBar::hidden_groups(int player) const {
    const auto add_pile = [&](HiddenGroup& group, int owner) {
        for (int i = 0; i < piles_[owner].size(); ++i)
            group.slots.push_back({uint8_t(piles_[owner][i])});
    };
    const int other = player ^ 1;
    HiddenGroup own, others;
    add_pile(own, player);
    others.slots.emplace_back();
    for (int i = 0; i < hands_[other].size(); ++i)
        others.slots[0].push_back(uint8_t(hands_[other][i]));
    add_pile(others, other);
    return {own, others};
}

// A byte for who is first, then each deck in six bytes, two species a byte, the first in the low
// half.
inline std::vector<uint8_t> BeastyBar::write_start() const {
    std::vector<uint8_t> bytes = {first_};
    for (const Cards deck : decks_)
        for (int i = 0; i < kNumSpecies; i += 2)
            bytes.push_back(uint8_t(deck[i] | deck[i + 1] << 4));
    return bytes;
}

inline Result<BeastyBar> BeastyBar::read_start(const Options& options,
                                               std::span<const uint8_t> bytes) {
    constexpr int kDeckBytes = kNumSpecies / 2;
    if (bytes.size() != 1 + 2 * kDeckBytes)
        return Error{
            bytes.size() < 1 + 2 * kDeckBytes ? Error::Kind::truncated : Error::Kind::damaged,
            "a deal has 13 bytes, this one has " + std::to_string(bytes.size())};
    if (bytes[0] > 1)
        return Error{Error::Kind::damaged,
                     "a deal's first player is 0 or 1, not " + std::to_string(bytes[0])};
    Cards decks[2];
    for (const int player : {0, 1}) {
        uint64_t packed = 0;
        for (int i = 0; i < kDeckBytes; ++i)
            packed |= uint64_t(bytes[1 + player * kDeckBytes + i]) << (8 * i);
        decks[player] = Cards(packed);
        if (species_set(decks[player]) != kAllSpecies)
            return Error{Error::Kind::damaged, "deck " + std::to_string(player) +
                                                   " of a deal must hold each of the 12 "
                                                   "species once"};
    }
    return BeastyBar(options, bytes[0], decks[0], decks[1]);
}

}  // namespace zf::beastybar

#include "games/beastybar/text.h"

namespace zf {
using beastybar::BeastyBar;
static_assert(Game<BeastyBar>);
}  // namespace zf
