// Reading and writing the words that texts of Beasty Bar are made of: animals, lists of them, and
// parts such as `queue=lion0,seal1`.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/described.h"
#include "base/result.h"
#include "games/beastybar/cards.h"

namespace zf::beastybar {

inline Error bad_text(const std::string& text) { return {Error::Kind::bad_text, text}; }
inline Error within(const std::string& where, const Error& error) {
    return {error.kind, where + ": " + error.text};
}

// The parts between separators; none of an empty text.
inline std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    for (size_t at = 0; !text.empty() && at <= text.size();) {
        const size_t end = std::min(text.find(separator, at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

inline std::string join(const std::vector<std::string>& parts, const std::string& separator) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
    return text;
}

inline std::vector<std::string> card_texts(const std::vector<Card>& cards) {
    std::vector<std::string> texts;
    for (const Card card : cards) texts.push_back(card_text(card));
    return texts;
}

inline std::vector<std::string> species_texts(const std::vector<Card>& cards) {
    std::vector<std::string> texts;
    for (const Card card : cards) texts.push_back(kSpeciesNames[species_of(card)]);
    return texts;
}

inline std::vector<Card> cards_of(Cards species, int owner) {
    std::vector<Card> cards;
    for (int i = 0; i < species.size(); ++i) cards.push_back(make_card(species[i], owner));
    return cards;
}

inline Result<Species> species_from_text(const std::string& text) {
    for (int s = 1; s <= kNumSpecies; ++s)
        if (text == kSpeciesNames[s]) return Species(s);
    const std::vector<std::string> known(kSpeciesNames.begin() + 1, kSpeciesNames.end());
    return bad_text("'" + text + "' is no animal; the animals are " + join(known, ", "));
}

// `lion0`: species and owner.
inline Result<Card> card_from_text(const std::string& text) {
    if (text.empty() || (text.back() != '0' && text.back() != '1'))
        return bad_text("'" + text + "' must be an animal and its owner, 0 or 1, such as lion0");
    const Result<Species> species = species_from_text(text.substr(0, text.size() - 1));
    if (!species) return species.error();
    return make_card(*species, text.back() - '0');
}

inline constexpr int kNobody = -1;

// `lion,seal`: cards of one owner; or, where the owner is kNobody, `lion0,seal1`.
inline Result<std::vector<Card>> cards_from_text(const std::string& text, int owner) {
    std::vector<Card> cards;
    for (const std::string& part : split(text, ',')) {
        const Result<Card> card =
            card_from_text(owner == kNobody ? part : part + std::to_string(owner));
        if (!card) return card.error();
        cards.push_back(*card);
    }
    return cards;
}

// A whole deck, in drawing order.
inline Result<Cards> deck_from_text(const std::string& text) {
    const Result<std::vector<Card>> cards = cards_from_text(text, 0);
    if (!cards) return cards.error();
    Cards deck;
    for (const Card card : *cards) {
        const Species species = species_of(card);
        if (deck.find(species) >= 0)
            return bad_text(std::string(kSpeciesNames[species]) + " is there twice");
        deck.append(species);
    }
    for (int s = 1; s <= kNumSpecies; ++s)
        if (deck.find(s) < 0)
            return bad_text(std::string(kSpeciesNames[s]) +
                            " is missing; a deck has all 12 animals");
    return deck;
}

inline Result<int> player_from_text(const std::string& text) {
    if (text != "0" && text != "1") return bad_text("must be 0 or 1, not '" + text + "'");
    return text[0] - '0';
}

inline Described described_cards(const std::vector<Card>& cards) {
    Described::List list;
    for (const Card card : cards) list.push_back(card_text(card));
    return list;
}

inline Result<std::vector<Card>> cards_from_described(const Described& described) {
    if (described.number())
        return bad_text("is a number, as one player sees it; a position needs all the cards");
    const Error malformed = bad_text("must be a list of animals, such as lion0");
    if (!described.list()) return malformed;
    std::vector<Card> cards;
    for (const Described& item : *described.list()) {
        if (!item.text()) return malformed;
        const Result<Card> card = card_from_text(*item.text());
        if (!card) return card.error();
        cards.push_back(*card);
    }
    return cards;
}

// The parts `name=value` of a text, separated by blanks, each known and there at most once.
class NamedParts {
  public:
    static Result<NamedParts> read(const std::string& text, const std::vector<std::string>& known) {
        NamedParts parts;
        for (const std::string& part : split(text, ' ')) {
            const size_t equals = part.find('=');
            const std::string name = part.substr(0, equals);
            if (equals == std::string::npos ||
                std::find(known.begin(), known.end(), name) == known.end())
                return bad_text("'" + part + "' is not understood; known are " +
                                join(known, "=, ") + "=");
            for (const auto& [other_name, value] : parts.parts_)
                if (other_name == name) return bad_text(name + "= is there twice");
            parts.parts_.emplace_back(name, part.substr(equals + 1));
        }
        return parts;
    }
    // Empty where it is missing.
    std::string operator[](const std::string& name) const {
        for (const auto& [key, value] : parts_)
            if (key == name) return value;
        return "";
    }

  private:
    std::vector<std::pair<std::string, std::string>> parts_;
};

}  // namespace zf::beastybar
