// What lies open on the table of Beasty Bar (queue, bar, That's It), and what the animals do to it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "games/beastybar/actions.h"
#include "games/beastybar/cards.h"

namespace zf::beastybar {

class Table {
  public:
    using Queue = PackedList<8>;  // of cards, the front first

    const Queue& queue() const { return queue_; }
    SpeciesSet species_in_queue() const;
    // Cards in the bar and in That's It, the first to come first.
    int num_in_bar() const { return num_in_bar_; }
    Card in_bar(int i) const { return gone_[i]; }
    int num_thats_it() const { return num_thats_it_; }
    Card in_thats_it(int i) const { return gone_[kNumCards - 1 - i]; }
    int points(int player) const { return points_[player]; }

    // For setting up a table; a card may be given once only.
    void add_to_queue(Card card) { queue_.append(card); }
    void add_to_bar(Card card) {
        gone_[num_in_bar_++] = card;
        points_[owner_of(card)] += kSpeciesPoints[species_of(card)];
    }
    void add_to_thats_it(Card card) { gone_[kNumCards - ++num_thats_it_] = card; }

    enum class Step { entry, recurring, bar };
    // The player's card goes to the back of the queue, and all that follows happens, up to the
    // opening of the bar. After each step `seen(step, animal)` is called, with the animal that
    // acted.
    template <class Seen>
    void play(const Turn& turn, int player, Seen seen);
    void play(const Turn& turn, int player) {
        play(turn, player, [](Step, Card) {});
    }

    bool operator==(const Table&) const = default;

  private:
    // Marks the animal that was just played, while it carries out its entry ability.
    static constexpr int kMark = 32;
    static constexpr uint64_t kMarkAnywhere = 0x2020202020;
    static constexpr SpeciesSet kRecurring = set_of(kHippo, kCrocodile, kGiraffe);
    static constexpr SpeciesSet kStopHippo = set_of(kHippo, kLion, kZebra);
    static constexpr SpeciesSet kStopCrocodile = set_of(kCrocodile, kHippo, kLion, kZebra);

    void enter(Species as, Card played, int choice);
    // The marked animal, which acted as `as`, becomes itself again.
    void unmark(Card as, Card itself);
    template <class Seen>
    void recur(Card played, Seen seen);
    void open_bar();

    // Abilities of the animal at the back, which was just played.
    void lion(Card played);
    void snake();
    void seal();
    void monkey();
    void kangaroo(int hops);
    void parrot(int target);
    void skunk();
    // Abilities of the animal at index `at`.
    void hippo(int at);
    void crocodile(int at);
    void giraffe(int at);

    int back() const { return queue_.size() - 1; }
    void move(int from, int to) { queue_.insert(to, queue_.take(from)); }
    void expel_all(SpeciesSet species);

    Queue queue_;
    std::array<Card, kNumCards> gone_ = {};  // the bar from the start, That's It from the end
    uint8_t num_in_bar_ = 0, num_thats_it_ = 0;
    uint8_t points_[2] = {0, 0};
};

template <class Seen>
void Table::play(const Turn& turn, int player, Seen seen) {
    const Card played = make_card(turn.species, player);
    const Species as =
        turn.copied == kNoChoice ? turn.species : species_of(Card(queue_[turn.copied]));
    queue_.append(make_card(as, player) | kMark);
    enter(as, played, turn.choice);
    unmark(make_card(as, player), played);
    seen(Step::entry, played);
    recur(played, seen);
    if (queue_.size() <= kMaxInQueue) return;
    open_bar();
    seen(Step::bar, played);
}

inline void Table::enter(Species as, Card played, int choice) {
    switch (as) {
        case kLion:
            return lion(played);
        case kHippo:
            return hippo(back());
        case kCrocodile:
            return crocodile(back());
        case kSnake:
            return snake();
        case kGiraffe:
            return giraffe(back());
        case kZebra:
            return;
        case kSeal:
            return seal();
        case kChameleon:
            return;
        case kMonkey:
            return monkey();
        case kKangaroo:
            return kangaroo(choice);
        case kParrot:
            return parrot(choice);
        case kSkunk:
            return skunk();
    }
}

inline void Table::unmark(Card as, Card itself) {
    const uint64_t mark = queue_.bits() & kMarkAnywhere;
    queue_ = Queue(queue_.bits() ^ mark ^ mark / kMark * (as ^ itself));
}

// Nobody is expelled before its turn: a crocodile eats those ahead, and they have had theirs.
template <class Seen>
void Table::recur(Card played, Seen seen) {
    const Queue before = queue_;
    for (uint64_t left = before.bits(); left; left >>= 8) {
        const Card card = Card(left);
        if (!is_in(kRecurring, card) || card == played) continue;
        const int at = queue_.find(card);
        if (species_of(card) == kHippo) hippo(at);
        if (species_of(card) == kCrocodile) crocodile(at);
        if (species_of(card) == kGiraffe) giraffe(at);
        seen(Step::recurring, card);
    }
}

inline void Table::open_bar() {
    add_to_bar(Card(queue_.take(0)));
    add_to_bar(Card(queue_.take(0)));
    add_to_thats_it(Card(queue_.take(back())));
}

inline void Table::lion(Card played) {
    const int lion = queue_.take(back());
    if (species_in_queue() & set_of(kLion)) return add_to_thats_it(played);
    expel_all(set_of(kMonkey));
    queue_.insert(0, lion);
}

inline void Table::hippo(int at) {
    int to = at;
    while (to > 0 && !is_in(kStopHippo, Card(queue_[to - 1]))) --to;
    move(at, to);
}

inline void Table::crocodile(int at) {
    for (int ahead = at - 1; ahead >= 0 && !is_in(kStopCrocodile, Card(queue_[ahead])); --ahead)
        add_to_thats_it(Card(queue_.take(ahead)));
}

inline void Table::snake() {
    Queue sorted;
    for (uint64_t left = queue_.bits(); left; left >>= 8) {
        const Card card = Card(left);
        int at = 0;
        while (at < sorted.size() && species_of(Card(sorted[at])) >= species_of(card)) ++at;
        sorted.insert(at, card);
    }
    queue_ = sorted;
}

inline void Table::giraffe(int at) {
    if (at > 0 && species_of(Card(queue_[at - 1])) < kGiraffe) move(at, at - 1);
}

inline void Table::seal() {
    Queue reversed;
    for (uint64_t left = queue_.bits(); left; left >>= 8) reversed.insert(0, Card(left));
    queue_ = reversed;
}

inline void Table::monkey() {
    const int played = queue_.take(back());
    if (!(species_in_queue() & set_of(kMonkey))) return queue_.append(played);
    expel_all(set_of(kHippo, kCrocodile));
    Queue monkeys, others;
    for (uint64_t left = queue_.bits(); left; left >>= 8) {
        if (is_in(set_of(kMonkey), Card(left))) {
            monkeys.insert(0, Card(left));
        } else {
            others.append(Card(left));
        }
    }
    queue_ = monkeys;
    queue_.insert(0, played);
    for (uint64_t left = others.bits(); left; left >>= 8) queue_.append(Card(left));
}

inline void Table::kangaroo(int hops) {
    if (hops != kNoChoice) move(back(), back() - hops);
}

inline void Table::parrot(int target) {
    if (target != kNoChoice) add_to_thats_it(Card(queue_.take(target)));
}

inline void Table::skunk() {
    const SpeciesSet others = species_in_queue() & ~set_of(kSkunk);
    const SpeciesSet strongest = std::bit_floor(others);
    expel_all(strongest | std::bit_floor(others ^ strongest));
}

inline SpeciesSet Table::species_in_queue() const {
    SpeciesSet set = 0;
    for (uint64_t left = queue_.bits(); left; left >>= 8) set |= set_of(species_of(Card(left)));
    return set;
}

inline void Table::expel_all(SpeciesSet species) {
    Queue staying;
    for (uint64_t left = queue_.bits(); left; left >>= 8) {
        if (is_in(species, Card(left))) {
            add_to_thats_it(Card(left));
        } else {
            staying.append(Card(left));
        }
    }
    queue_ = staying;
}

}  // namespace zf::beastybar
