// Beasty Bar against outside truth (tests/oracles/beastybar_cases.txt), against cases worked out by
// hand from the rules, and against a second, plain implementation of the rules in this file.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "games/beastybar.h"
#include "games/check.h"

#ifndef ZF_ORACLES
#define ZF_ORACLES "tests/oracles"
#endif

using zf::BeastyBar;
using zf::Described;
using zf::Rng;
using Names = std::vector<std::string>;

namespace {

const BeastyBar::Options kPoints{false}, kAnimals{true};

BeastyBar read(const std::string& text, const BeastyBar::Options& options = kPoints) {
    const auto position = BeastyBar::from_text(options, text);
    REQUIRE_MESSAGE(bool(position), text << ": " << position.error().text);
    return *position;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

Names names(const Described& list) {
    Names names;
    for (const Described& item : *list.list()) names.push_back(*item.text());
    return names;
}

std::string joined(const Names& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
    return text;
}

std::string list_text(const Described& list) { return joined(names(list)); }

Names legal_texts(const BeastyBar& position) {
    Names texts;
    for (const zf::Action action : legal_actions(position, BeastyBar::facts(kPoints)))
        texts.push_back(position.action_text(action));
    return texts;
}

void play(BeastyBar& position, const std::string& action) {
    const auto played = position.play_from_text(action);
    REQUIRE_MESSAGE(bool(played), played.error().text);
}

BeastyBar resampled(BeastyBar position, int player, uint64_t seed) {
    Rng rng(seed);
    position.resample_hidden(player, rng);
    return position;
}

// What lies open after player 0 plays on this queue, with cards enough that the game is not over:
// "queue | bar | That's It".
std::string after(const std::string& queue, const std::string& action) {
    std::string others;
    for (int s = 1; s <= zf::beastybar::kNumSpecies; ++s) {
        const std::string name = zf::beastybar::kSpeciesNames[s];
        if (!contains(queue, name + "1")) others += (others.empty() ? "" : ",") + name;
    }
    const std::string species = action.substr(0, action.find(' '));
    BeastyBar position = read("player=0 queue=" + queue + " hand0=" + species + " hand1=" + others);
    play(position, action);
    const Described all = position.describe(-1);
    return list_text(*all.field("queue")) + " | " + list_text(*all.field("bar")) + " | " +
           list_text(*all.field("thats_it"));
}

}  // namespace

TEST_SUITE_BEGIN("beastybar");

// ---- outside truth

namespace {

// In the form of the oracle's line of what a turn made.
std::string after_text(const BeastyBar& position, int player) {
    const Described all = position.describe(-1);
    const auto points = [&](int owner) {
        return std::to_string(*(*all.field("points")->list())[owner].number());
    };
    return "queue=" + list_text(*all.field("queue")) + " bar=" + list_text(*all.field("bar")) +
           " thats_it=" + list_text(*all.field("thats_it")) +
           " hand=" + list_text((*all.field("hands")->list())[player]) +
           " pile=" + list_text((*all.field("piles")->list())[player]) +
           " over=" + (position.to_move() == zf::kOver ? "1" : "0") + " points=" + points(0) + "," +
           points(1);
}

}  // namespace

TEST_CASE("every case of the independent implementation gives the same result") {
    std::ifstream file(ZF_ORACLES "/beastybar_cases.txt");
    REQUIRE_MESSAGE(file.good(), ZF_ORACLES "/beastybar_cases.txt cannot be read");
    int num_cases = 0;
    for (std::string title, before, action, expected, empty; std::getline(file, title);) {
        std::getline(file, before);
        std::getline(file, action);
        std::getline(file, expected);
        std::getline(file, empty);
        INFO(title);
        BeastyBar position = read(before);
        const int player = position.to_move();
        play(position, action);
        CHECK(after_text(position, player) == expected);
        ++num_cases;
    }
    CHECK(num_cases == 42);
}

TEST_CASE("the contract holds") {
    for (const auto& options : {kPoints, kAnimals}) {
        const auto report = zf::check_game<BeastyBar>(options, 100, 1);
        REQUIRE_MESSAGE(bool(report), report.error().text);
        CHECK(report->num_truncated == 0);
        CHECK(report->longest <= 24);
        CHECK(report->num_resampling_tests > 0);
    }
}

// ---- a second implementation of the rules: animals are names, every list is a list

namespace {

const Names kWeakestFirst = {"skunk", "parrot",  "kangaroo", "monkey",    "chameleon", "seal",
                             "zebra", "giraffe", "snake",    "crocodile", "hippo",     "lion"};

struct Retold {
    Names queue, bar, thats_it, hands[2], piles[2];
    int player = 0;
    std::string played, played_as;  // the animal of this turn, and the species it acts as

    std::string species(const std::string& animal) const {
        return animal == played ? played_as : animal.substr(0, animal.size() - 1);
    }
    int strength(const std::string& animal) const {
        const auto at = std::find(kWeakestFirst.begin(), kWeakestFirst.end(), species(animal));
        return int(at - kWeakestFirst.begin()) + 1;
    }
    int place(const std::string& animal) const {
        return int(std::find(queue.begin(), queue.end(), animal) - queue.begin());
    }
    bool in_queue(const std::string& animal) const { return place(animal) < int(queue.size()); }
    void leave(const std::string& animal) { queue.erase(queue.begin() + place(animal)); }
    void expel(const std::string& animal) {
        leave(animal);
        thats_it.push_back(animal);
    }
    void expel_if(const auto& condition) {
        for (const std::string& animal : Names(queue))
            if (condition(animal)) expel(animal);
    }
    Names others_that_are(const std::string& kind) const {
        Names found;
        for (const std::string& animal : queue)
            if (animal != played && species(animal) == kind) found.push_back(animal);
        return found;
    }
    void to_front(const std::string& animal) {
        leave(animal);
        queue.insert(queue.begin(), animal);
    }
    void step_forward(const std::string& animal) {
        const int at = place(animal);
        std::swap(queue[at], queue[at - 1]);
    }
    std::string ahead_of(const std::string& animal) const {
        const int at = place(animal);
        return at == 0 ? "" : queue[at - 1];
    }
    bool gives_way(const std::string& animal, int to_strength) const {
        return !animal.empty() && species(animal) != "zebra" && strength(animal) < to_strength;
    }

    void act(const std::string& animal, const std::string& target, int hops) {
        const std::string kind = species(animal);
        if (kind == "lion") {
            if (!others_that_are("lion").empty()) return expel(animal);
            expel_if([&](const std::string& each) { return species(each) == "monkey"; });
            to_front(animal);
        } else if (kind == "hippo") {
            while (gives_way(ahead_of(animal), 11)) step_forward(animal);
        } else if (kind == "crocodile") {
            while (gives_way(ahead_of(animal), 10)) expel(ahead_of(animal));
        } else if (kind == "snake") {
            std::stable_sort(queue.begin(), queue.end(), [&](const auto& a, const auto& b) {
                return strength(a) > strength(b);
            });
        } else if (kind == "giraffe") {
            if (!ahead_of(animal).empty() && strength(ahead_of(animal)) < 8) step_forward(animal);
        } else if (kind == "seal") {
            std::reverse(queue.begin(), queue.end());
        } else if (kind == "monkey") {
            const Names mates = others_that_are("monkey");
            if (mates.empty()) return;
            expel_if([&](const std::string& each) {
                return species(each) == "hippo" || species(each) == "crocodile";
            });
            for (const std::string& mate : mates) to_front(mate);
            to_front(animal);
        } else if (kind == "kangaroo") {
            for (int hop = 0; hop < hops; ++hop) step_forward(animal);
        } else if (kind == "parrot") {
            if (!target.empty()) expel(target);
        } else if (kind == "skunk") {
            std::set<int> strengths;
            for (const std::string& each : queue)
                if (species(each) != "skunk") strengths.insert(strength(each));
            while (strengths.size() > 2) strengths.erase(strengths.begin());
            expel_if([&](const std::string& each) { return strengths.count(strength(each)) > 0; });
        }
    }

    // An action as in the rules: species, then the animal to copy, then the choice.
    void play(const std::string& action) {
        Names words = zf::beastybar::split(action, ' ');
        played = words[0] + std::to_string(player);
        played_as = words[0];
        if (words[0] == "chameleon" && words.size() > 1) {
            played_as = species(queue[std::stoi(words[1])]);
            words.erase(words.begin());
        }
        const int choice = words.size() > 1 ? std::stoi(words[1]) : -1;
        const bool has_target = played_as == "parrot" && choice >= 0;
        const std::string target = has_target ? queue[choice] : "";

        Names& hand = hands[player];
        hand.erase(std::find(hand.begin(), hand.end(), played));
        queue.push_back(played);
        act(played, target, choice);
        played_as = played.substr(0, played.size() - 1);
        for (const std::string& animal : Names(queue)) {
            const std::string kind = species(animal);
            const bool recurs = kind == "hippo" || kind == "crocodile" || kind == "giraffe";
            if (recurs && animal != played && in_queue(animal)) act(animal, "", 0);
        }
        if (queue.size() == 5) {
            for (int entering = 0; entering < 2; ++entering) {
                bar.push_back(queue.front());
                leave(queue.front());
            }
            expel(queue.back());
        }
        if (!piles[player].empty()) {
            hand.push_back(piles[player].front());
            piles[player].erase(piles[player].begin());
        }
        played = played_as = "";
        if (!hands[1 - player].empty()) player = 1 - player;
    }

    bool over() const {
        const size_t held = hands[0].size() + hands[1].size() + piles[0].size() + piles[1].size();
        return held == 0 || queue.size() + held < 5;
    }

    std::set<std::string> legal() const {
        std::set<std::string> texts;
        const int ahead = int(queue.size());
        const auto with_choice = [&](const std::string& text, const std::string& kind) {
            const int first = kind == "kangaroo" ? 1 : 0;
            const int last = kind == "kangaroo" ? std::min(2, ahead) : ahead - 1;
            for (int choice = first; choice <= last; ++choice)
                texts.insert(text + " " + std::to_string(choice));
        };
        const auto chooses = [](const std::string& kind) {
            return kind == "kangaroo" || kind == "parrot";
        };
        for (const std::string& animal : hands[player]) {
            const std::string kind = species(animal);
            const size_t before = texts.size();
            if (chooses(kind)) with_choice(kind, kind);
            for (int i = 0; kind == "chameleon" && i < ahead; ++i) {
                const std::string copy = kind + " " + std::to_string(i), copied = species(queue[i]);
                if (chooses(copied)) with_choice(copy, copied);
                if (!chooses(copied) && copied != "chameleon") texts.insert(copy);
            }
            if (texts.size() == before) texts.insert(kind);
        }
        return texts;
    }
};

Retold retell(const BeastyBar& position) {
    const Described all = position.describe(-1);
    Retold retold;
    retold.queue = names(*all.field("queue"));
    retold.bar = names(*all.field("bar"));
    retold.thats_it = names(*all.field("thats_it"));
    for (const int player : {0, 1}) {
        retold.hands[player] = names((*all.field("hands")->list())[player]);
        retold.piles[player] = names((*all.field("piles")->list())[player]);
    }
    retold.player = int(*all.field("player")->number());
    return retold;
}

bool same(const Retold& a, const Retold& b) {
    return a.queue == b.queue && a.bar == b.bar && a.thats_it == b.thats_it &&
           a.hands[0] == b.hands[0] && a.hands[1] == b.hands[1] && a.piles[0] == b.piles[0] &&
           a.piles[1] == b.piles[1] && (a.player == b.player || a.over());
}

}  // namespace

TEST_CASE("random games agree with a second implementation of the rules") {
    Rng rng(2);
    int num_differences = 0;
    for (int game = 0; game < 2000 && num_differences == 0; ++game) {
        BeastyBar position = BeastyBar::start(kPoints, rng);
        Retold retold = retell(position);
        while (position.to_move() != zf::kOver && num_differences == 0) {
            const Names texts = legal_texts(position);
            num_differences += std::set<std::string>(texts.begin(), texts.end()) != retold.legal();
            const std::string text = position.action_text(position.random_action(rng));
            INFO(position.to_text() << " then " << text);
            play(position, text);
            retold.play(text);
            const bool alike = same(retell(position), retold) &&
                               retold.over() == (position.to_move() == zf::kOver);
            CHECK(alike);
            num_differences += !alike;
        }
    }
    CHECK(num_differences == 0);
}

// ---- abilities, by hand from the rules

TEST_CASE("a lion on an empty queue stays, and the only lion passes everyone") {
    CHECK(after("", "lion") == "lion0 |  | ");
    CHECK(after("crocodile1,zebra0", "lion") == "lion0,crocodile1,zebra0 |  | ");
}

TEST_CASE("a hippo runs past weaker animals until an equal, a stronger one or a zebra") {
    CHECK(after("skunk0,snake1", "hippo") == "hippo0,skunk0,snake1 |  | ");
    CHECK(after("lion1,skunk0", "hippo") == "lion1,hippo0,skunk0 |  | ");
    CHECK(after("seal0,zebra1", "hippo") == "seal0,zebra1,hippo0 |  | ");
}

TEST_CASE("a crocodile eats from the back until an equal, a stronger one or a zebra") {
    CHECK(after("lion1,snake1,skunk0", "crocodile") == "lion1,crocodile0 |  | skunk0,snake1");
    CHECK(after("hippo1,parrot1", "crocodile") == "hippo1,crocodile0 |  | parrot1");
    CHECK(after("parrot1,zebra1", "crocodile") == "parrot1,zebra1,crocodile0 |  | ");
}

TEST_CASE("a snake sorts, equals keep their order") {
    CHECK(after("skunk1,skunk0,lion1", "snake") == "lion1,snake0,skunk1,skunk0 |  | ");
}

TEST_CASE("a giraffe passes a zebra but no stronger animal") {
    CHECK(after("zebra1", "giraffe") == "giraffe0,zebra1 |  | ");
    CHECK(after("snake1", "giraffe") == "snake1,giraffe0 |  | ");
}

TEST_CASE("a seal reverses the queue") {
    CHECK(after("lion1,zebra0,skunk1", "seal") == "seal0,skunk1,zebra0,lion1 |  | ");
}

TEST_CASE("a second monkey expels hippos and crocodiles and leads its mate to the front") {
    CHECK(after("hippo0,zebra1,crocodile1,monkey1", "monkey") ==
          "monkey0,monkey1,zebra1 |  | hippo0,crocodile1");
    CHECK(after("zebra1", "monkey") == "zebra1,monkey0 |  | ");
}

TEST_CASE("a chameleon as the third monkey has its mates behind it in reversed order") {
    CHECK(after("monkey0,zebra1,monkey1", "chameleon 0") ==
          "chameleon0,monkey1,monkey0,zebra1 |  | ");
    CHECK(after("monkey0,zebra1,monkey1", "chameleon 2") ==
          "chameleon0,monkey1,monkey0,zebra1 |  | ");
}

TEST_CASE("a kangaroo hops over anyone") {
    CHECK(after("lion1", "kangaroo 1") == "kangaroo0,lion1 |  | ");
    CHECK(after("seal1,zebra1,lion1", "kangaroo 2") == "seal1,kangaroo0,zebra1,lion1 |  | ");
}

TEST_CASE("a parrot expels any other animal, its owner's too") {
    CHECK(after("seal0,lion1", "parrot 0") == "lion1,parrot0 |  | seal0");
    CHECK(after("seal0,lion1", "parrot 1") == "seal0,parrot0 |  | lion1");
    CHECK(after("", "parrot") == "parrot0 |  | ");
}

TEST_CASE("a skunk expels the two strongest species, or the only one, but no skunk") {
    CHECK(after("seal0,skunk1,seal1,lion1", "skunk") == "skunk1,skunk0 |  | seal0,seal1,lion1");
    CHECK(after("parrot1", "skunk") == "skunk0 |  | parrot1");
    CHECK(after("", "skunk") == "skunk0 |  | ");
}

TEST_CASE("a chameleon has nothing to copy on an empty queue or among chameleons") {
    CHECK(after("", "chameleon") == "chameleon0 |  | ");
    CHECK(after("chameleon1", "chameleon") == "chameleon1,chameleon0 |  | ");
}

TEST_CASE("a chameleon that copies a parrot may expel any other animal") {
    CHECK(after("parrot0,seal1,lion1", "chameleon 0 2") == "parrot0,seal1,chameleon0 |  | lion1");
    CHECK(after("parrot0,seal1,lion1", "chameleon 0 0") == "seal1,lion1,chameleon0 |  | parrot0");
}

TEST_CASE("a chameleon is weak again when recurring animals act") {
    CHECK(after("hippo1,snake1,crocodile1", "chameleon 0") ==
          "hippo1,crocodile1 |  | snake1,chameleon0");
}

TEST_CASE("recurring animals act from front to back") {
    CHECK(after("parrot0,giraffe0,hippo1", "zebra") == "hippo1,giraffe0,parrot0,zebra0 |  | ");
    CHECK(after("skunk1,giraffe1,crocodile1", "zebra") == "crocodile1,zebra0 |  | skunk1,giraffe1");
}

TEST_CASE("where there is a choice it must be made, and only where there is one") {
    const std::string hand = "hand0=kangaroo,parrot,chameleon hand1=lion,hippo";
    CHECK(legal_texts(read("player=0 " + hand)) == Names{"parrot", "kangaroo", "chameleon"});
    CHECK(legal_texts(read("player=0 queue=seal1 " + hand)) ==
          Names{"kangaroo 1", "parrot 0", "chameleon 0"});
    CHECK(legal_texts(read("player=0 queue=chameleon1,parrot1 " + hand)) ==
          Names{"kangaroo 1", "kangaroo 2", "parrot 0", "parrot 1", "chameleon 1 0",
                "chameleon 1 1"});
    CHECK(legal_texts(read("player=0 queue=seal1,kangaroo1,parrot1,zebra1 hand0=chameleon")) ==
          Names{"chameleon 0", "chameleon 3", "chameleon 1 1", "chameleon 1 2", "chameleon 2 0",
                "chameleon 2 1", "chameleon 2 2", "chameleon 2 3"});
}

// ---- turns and the end

TEST_CASE("the game is over with fewer than five cards in queue, hands and piles") {
    CHECK(read("player=0 queue=parrot1,seal1 hand0=zebra hand1=lion").to_move() == zf::kOver);
    CHECK(read("player=0 queue=parrot1,seal1 hand0=zebra hand1=lion,hippo").to_move() == 0);
    CHECK(read("player=0 queue=parrot1,seal1 hand0=zebra hand1=lion pile1=hippo").to_move() == 0);
    CHECK(read("player=0 queue=parrot1,seal1 hand0=zebra hand1=lion bar=hippo1").to_move() ==
          zf::kOver);
}

TEST_CASE("a player without cards is passed over") {
    BeastyBar position = read("player=1 hand0=zebra,seal,lion,hippo,snake");
    for (const std::string action : {"zebra", "seal", "lion", "hippo", "snake"}) {
        CHECK(position.to_move() == 0);
        play(position, action);
    }
    CHECK(position.to_move() == zf::kOver);
}

TEST_CASE("turns alternate and each player draws after its turn") {
    const std::string deck =
        "hippo,kangaroo,monkey,zebra,parrot,crocodile,snake,chameleon,giraffe,lion,skunk,seal";
    BeastyBar position = read("first=1 deck0=" + deck + " deck1=" + deck);
    CHECK(position.to_move() == 1);
    play(position, "monkey");
    CHECK(position.to_move() == 0);
    const Described all = position.describe(-1);
    CHECK(list_text((*all.field("hands")->list())[1]) == "hippo1,kangaroo1,zebra1,parrot1");
    CHECK(list_text((*all.field("hands")->list())[0]) == "hippo0,kangaroo0,monkey0,zebra0");
    CHECK(names((*all.field("piles")->list())[1]).front() == "crocodile1");
    CHECK(names((*all.field("piles")->list())[1]).size() == 7);
}

TEST_CASE("points: more points win; animals: more animals, then less strength") {
    struct Ending {
        const char* bar;
        int points, animals;  // outcome of player 0
    };
    for (const Ending& ending :
         {Ending{"lion0,hippo0,skunk1", zf::kDraw, zf::kWin},
          Ending{"lion0,skunk1", zf::kLoss, zf::kLoss}, Ending{"zebra0,seal1", zf::kWin, zf::kLoss},
          Ending{"lion0,lion1", zf::kDraw, zf::kDraw},
          Ending{"skunk0,seal1,lion1", zf::kDraw, zf::kLoss}, Ending{"", zf::kDraw, zf::kDraw}}) {
        INFO(ending.bar);
        const std::string text = std::string("player=0 bar=") + ending.bar;
        const BeastyBar points = read(text), animals = read(text, kAnimals);
        REQUIRE(points.to_move() == zf::kOver);
        CHECK(points.outcome(0) == ending.points);
        CHECK(points.outcome(1) == zf::kLoss - ending.points);
        CHECK(animals.outcome(0) == ending.animals);
        CHECK(animals.outcome(1) == zf::kLoss - ending.animals);
    }
}

// ---- what is hidden

TEST_CASE("an observation says where each card is, as its observer sees it") {
    const BeastyBar position = read(
        "player=0 queue=zebra1,lion0 bar=skunk0,parrot1 thats_it=hippo1 hand0=seal,snake "
        "hand1=lion,seal pile0=monkey pile1=snake,monkey,giraffe");
    constexpr int kBytes = 30;
    REQUIRE(BeastyBar::facts(kPoints).observation_bytes == kBytes);
    // skunk, parrot, kangaroo, monkey, chameleon, seal, zebra, giraffe, snake, crocodile, hippo,
    // lion
    const std::vector<uint8_t> seen_by[2] = {{4, 0, 0, 2, 0, 3, 0, 0, 3, 0, 0, 7,  //
                                              0, 4, 0, 1, 0, 1, 6, 1, 1, 0, 5, 1,  //
                                              2, 1, 3, 4, 4, 1},
                                             {0, 4, 0, 2, 0, 3, 6, 2, 2, 0, 5, 3,  //
                                              4, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 7,  //
                                              2, 3, 1, 4, 4, 0}};
    for (const int player : {0, 1})
        CHECK(observation(position, BeastyBar::facts(kPoints), player) == seen_by[player]);
}

TEST_CASE("resampling draws each hidden state equally often and leaves the rest alone") {
    // Player 0 cannot see the order of its pile (2 ways) nor which of three cards the other holds
    // and in which order the other two lie (6 ways).
    const BeastyBar position = read(
        "player=0 queue=zebra1 bar=lion0,hippo0 thats_it=skunk1 hand0=seal,snake hand1=lion "
        "pile0=monkey,giraffe pile1=snake,seal");
    std::map<std::string, int> counts;
    Rng rng(3);
    constexpr int kDraws = 12000;
    for (int draw = 0; draw < kDraws; ++draw) {
        BeastyBar drawn = position;
        drawn.resample_hidden(0, rng);
        ++counts[drawn.to_text()];
    }
    CHECK(counts.size() == 12);
    for (const auto& [text, count] : counts) {
        INFO(text);
        CHECK(contains(text,
                       "player=0 queue=zebra1 bar=lion0,hippo0 thats_it=skunk1 hand0=seal,snake "));
        CHECK(std::abs(count - kDraws / 12) < 150);  // five standard deviations
    }
}

TEST_CASE("what was hidden before does not show after resampling") {
    const BeastyBar one =
        read("player=0 hand0=seal hand1=lion,hippo pile0=monkey,skunk pile1=snake,seal");
    const BeastyBar two =
        read("player=0 hand0=seal hand1=snake,lion pile0=skunk,monkey pile1=seal,hippo");
    for (uint64_t seed = 0; seed < 100; ++seed)
        CHECK(resampled(one, 0, seed) == resampled(two, 0, seed));
}

TEST_CASE("a resampled position of a dealt game has forgotten the deal") {
    Rng rng(4);
    BeastyBar position = BeastyBar::start(kPoints, rng);
    for (int ply = 0; ply < 7; ++ply) position.play(position.random_action(rng));
    const int player = position.to_move();
    const BeastyBar drawn = resampled(position, player, 5);
    CHECK(drawn.to_text().starts_with("player="));
    CHECK(drawn == resampled(read(drawn.to_text()), player, 5));
}

TEST_CASE("a description for a player holds sizes where it cannot see") {
    const BeastyBar position =
        read("player=1 queue=zebra1 hand0=seal,snake hand1=lion pile0=monkey pile1=snake,seal");
    const Described seen = position.describe(1);
    CHECK(*(*seen.field("hands")->list())[0].number() == 2);
    CHECK(list_text((*seen.field("hands")->list())[1]) == "lion1");
    CHECK(*(*seen.field("piles")->list())[0].number() == 1);
    CHECK(*(*seen.field("piles")->list())[1].number() == 2);
    const auto refused = BeastyBar::from_describe(kPoints, seen);
    REQUIRE(!refused);
    CHECK(refused.error().text ==
          "hands: player 0: is a number, as one player sees it; a position needs all the cards");
}

// ---- bytes and texts

TEST_CASE("a deal is 13 bytes that must be two whole decks") {
    Rng rng(6);
    const BeastyBar position = BeastyBar::start(kPoints, rng);
    const std::vector<uint8_t> bytes = position.write_start();
    CHECK(bytes.size() == 13);
    const auto again = BeastyBar::read_start(kPoints, bytes);
    REQUIRE(bool(again));
    CHECK(*again == position);
    for (size_t size = 0; size < bytes.size(); ++size)
        CHECK(!BeastyBar::read_start(kPoints, {bytes.data(), size}));
    for (size_t at = 0; at < bytes.size(); ++at) {
        for (int value = 0; value < 256; ++value) {
            std::vector<uint8_t> changed = bytes;
            changed[at] = uint8_t(value);
            const uint8_t swapped = uint8_t(bytes[at] << 4 | bytes[at] >> 4);
            const bool valid = at == 0 ? value <= 1 : value == bytes[at] || value == swapped;
            CHECK(bool(BeastyBar::read_start(kPoints, changed)) == valid);
        }
    }
}

TEST_CASE("a deal is fair: each player begins half the time and each place holds each animal") {
    Rng rng(7);
    constexpr int kDeals = 12000;
    int num_first[2] = {0, 0}, num_at[2][12][13] = {};
    for (int deal = 0; deal < kDeals; ++deal) {
        const std::vector<uint8_t> bytes = BeastyBar::start(kPoints, rng).write_start();
        ++num_first[bytes[0]];
        for (int i = 0; i < 24; ++i)
            ++num_at[i / 12][i % 12][(bytes[1 + i / 2] >> (4 * (i % 2))) & 15];
    }
    CHECK(std::abs(num_first[0] - kDeals / 2) < 330);  // six standard deviations
    for (int i = 0; i < 24; ++i)
        for (int species = 1; species <= 12; ++species)
            CHECK(std::abs(num_at[i / 12][i % 12][species] - kDeals / 12) < 182);
}

TEST_CASE("texts of games and of states give equal positions back") {
    Rng rng(8);
    for (int game = 0; game < 200; ++game) {
        BeastyBar position = BeastyBar::start(kPoints, rng);
        while (true) {
            CHECK(read(position.to_text()) == position);
            const BeastyBar state = resampled(position, game % 2, 9);
            CHECK(read(state.to_text()) == state);
            const auto told = BeastyBar::from_describe(kPoints, state.describe(-1));
            REQUIRE(bool(told));
            CHECK(*told == state);
            if (position.to_move() == zf::kOver) break;
            position.play(position.random_action(rng));
        }
    }
}

TEST_CASE("each action has a distinct text") {
    Rng rng(10);
    const BeastyBar position = BeastyBar::start(kPoints, rng);
    std::set<std::string> texts;
    for (int action = 0; action < 38; ++action)
        texts.insert(position.action_text(zf::Action(action)));
    CHECK(BeastyBar::facts(kPoints).num_actions == 38);
    CHECK(texts.size() == 38);
    CHECK(texts.count("chameleon 2 1") == 1);
}

TEST_CASE("an action that cannot be played is refused with the reason and what can be") {
    const BeastyBar position =
        read("player=0 queue=seal1,chameleon1 hand0=seal,parrot,chameleon hand1=lion");
    const auto refusal = [](const BeastyBar& at, const std::string& text) {
        const auto action = at.action_from_text(text);
        REQUIRE(!action);
        return action.error().text;
    };
    const std::string legal = "; legal: seal, parrot 0, parrot 1, chameleon 0";
    CHECK(refusal(position, "parrot 3") == "parrot 3: the queue has only 2 animals" + legal);
    CHECK(refusal(position, "parrot") == "parrot: a choice is missing" + legal);
    CHECK(refusal(position, "chameleon 1") ==
          "chameleon 1: a chameleon does not copy a chameleon" + legal);
    CHECK(refusal(position, "lion") == "lion: it is not in the hand of player 0" + legal);
    CHECK(refusal(position, "seal 1") == "seal 1: there is no such choice" + legal);
    CHECK(refusal(position, "parrot x") == "parrot x: there is no such choice" + legal);
    CHECK(contains(refusal(position, "lyon"),
                   "'lyon' is no animal; the animals are skunk, parrot, "));
    CHECK(contains(refusal(position, ""), "'' is no animal"));
    CHECK(contains(refusal(read("player=0 queue=parrot1 hand0=chameleon hand1=lion,seal,hippo"),
                           "chameleon 0"),
                   "the choice of the copied parrot is missing; legal: chameleon 0 0"));
    CHECK(refusal(read("player=0 hand0=seal"), "seal") == "seal: the game is over");
}

TEST_CASE("a text that is not a position is refused with the reason") {
    const std::string deck =
        "hippo,kangaroo,monkey,zebra,parrot,crocodile,snake,chameleon,giraffe,lion,skunk,seal";
    const std::string lacking = deck.substr(0, deck.rfind(','));
    struct Refusal {
        std::string text, reason;
    };
    for (const Refusal& refusal : {
             Refusal{"", "starts with first= (a deal) or player= (a state)"},
             Refusal{"first=2 deck0=" + deck + " deck1=" + deck, "first: must be 0 or 1, not '2'"},
             Refusal{"first=0 deck0=" + deck, "deck1: skunk is missing; a deck has all 12 animals"},
             Refusal{"first=0 deck0=" + deck + " deck1=" + lacking, "deck1: seal is missing"},
             Refusal{"first=0 deck0=" + deck + ",seal deck1=" + deck, "deck0: seal is there twice"},
             Refusal{"first=0 deck0=" + deck + " deck1=" + deck + " moves=hippo;lion",
                     "move 2: lion: it is not in the hand of player 1; legal: "},
             Refusal{"first=0 deck0=" + deck + " deck1=" + deck + " deck2=" + deck,
                     "not understood"},
             Refusal{"player=0 queue=lion0,lion0", "lion0 is there twice, in queue and in queue"},
             Refusal{"player=0 bar=lion1 hand1=lion", "lion1 is there twice, in bar and in hand1"},
             Refusal{"player=0 queue=lion", "queue: 'lion' must be an animal and its owner"},
             Refusal{"player=0 hand0=lion0", "hand0: 'lion0' is no animal"},
             Refusal{"player=0 hand0=lion hand0=seal", "hand0= is there twice"},
             Refusal{"player=0 hand0= pile0=seal", "hand0 is empty, but pile0 is not"},
             Refusal{"player=0 queue=lion0,seal0,lion1,seal1,hippo0", "at most 4"},
             Refusal{"player=0 hand2=lion",
                     "'hand2=lion' is not understood; known are player=, queue="},
         }) {
        const auto position = BeastyBar::from_text(kPoints, refusal.text);
        REQUIRE(!position);
        INFO(position.error().text);
        CHECK(contains(position.error().text, refusal.reason));
    }
}

TEST_CASE("a description that is not a position is refused with the reason") {
    const auto refusal = [](const Described& described) {
        const auto position = BeastyBar::from_describe(kPoints, described);
        REQUIRE(!position);
        return position.error().text;
    };
    using Fields = Described::Fields;
    using List = Described::List;
    CHECK(contains(refusal(Described(1)), "named fields"));
    CHECK(contains(refusal(Fields{{"queue", List{}}}), "needs 'player'"));
    CHECK(contains(refusal(Fields{{"player", 2}}), "player: must be 0 or 1"));
    CHECK(contains(refusal(Fields{{"player", 0}, {"line", List{}}}),
                   "line: is not known; known are queue"));
    CHECK(contains(refusal(Fields{{"player", 0}, {"hands", List{List{"lion1"}, List{}}}}),
                   "lion1 is in hand0, where only animals of player 0 can be"));
    CHECK(contains(refusal(Fields{{"player", 0}, {"bar", List{"lion1"}}, {"points", List{2, 0}}}),
                   "points: can be left out; the bar gives 0 and 2"));
}

TEST_CASE("a changed text is read or refused, never worse") {
    Rng rng(11);
    BeastyBar position = BeastyBar::start(kPoints, rng);
    for (int ply = 0; ply < 12; ++ply) position.play(position.random_action(rng));
    const Names texts = {position.to_text(), resampled(position, 0, 12).to_text()};
    const std::string letters = "01 ,;=abcdefghijklmnopqrstuvwxyz";
    for (int change = 0; change < 20000; ++change) {
        std::string text = texts[change % 2];
        const int num_changes = 1 + int(rng.below(3));
        for (int i = 0; i < num_changes; ++i)
            text[rng.below(uint32_t(text.size()))] = letters[rng.below(uint32_t(letters.size()))];
        text.resize(rng.below(8) ? text.size() : rng.below(uint32_t(text.size())));
        const auto read_back = BeastyBar::from_text(kPoints, text);
        if (read_back) CHECK(read(read_back->to_text()) == *read_back);
    }
}

TEST_CASE("the picture shows the queue, the bar, the hands and who is to move") {
    const std::string picture =
        read("player=1 queue=zebra1,lion0 bar=skunk0 hand0=seal hand1=lion,seal").picture();
    CHECK(picture ==
          "queue      front | zebra1 lion0 | back\n"
          "bar        skunk0\n"
          "That's It  \n"
          "player 0   4 points | hand seal | pile \n"
          "player 1   0 points | hand lion seal | pile \n"
          "player 1 to move\n");
}

TEST_SUITE_END();
