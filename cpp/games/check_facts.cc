#include "games/check_facts.h"

namespace zf {

std::string fault_of_range(const std::string& what, int64_t least, int64_t most, int64_t number) {
    if (number >= least && number <= most) return "";
    return what + " must be in " + std::to_string(least) + ".." + std::to_string(most) + ", got " +
           std::to_string(number);
}

namespace {

template <class T>
bool is_permutation_of(const std::vector<T>& map, int size) {
    std::vector<bool> seen(size, false);
    for (const T to : map) {
        if (int(to) >= size || seen[to]) return false;
        seen[to] = true;
    }
    return int(map.size()) == size;
}

// The first fault in the outcomes, or an empty text.
std::string fault_in_outcomes(const Facts& facts) {
    const int count = int(facts.outcomes.size());
    const std::string number = fault_of_range("the number of outcomes", 2, kMaxOutcomes, count);
    if (!number.empty()) return number;
    for (int i = 0; i < count; ++i) {
        const int opposite = facts.outcomes[i].opposite;
        if (opposite < 0 || opposite >= count)
            return "an outcome's opposite must be the index of an outcome";
        if (facts.outcomes[opposite].opposite != i)
            return "the opposite of the opposite must be the outcome itself";
        if (facts.outcomes[opposite].reward != -facts.outcomes[i].reward)
            return "an outcome and its opposite must have opposite rewards";
    }
    return facts.largest_reward() > 0 ? "" : "some outcome must have a reward other than 0";
}

// The first fault in the names that an episode carries, or an empty text.
std::string fault_in_names(const Facts& facts, const std::vector<OptionSpec>& options) {
    std::string fault = fault_of_range("the bytes of name", 1, kMaxNameBytes, facts.name.size());
    if (fault.empty())
        fault = fault_of_range("the number of options", 0, kMaxOptions, options.size());
    for (const OptionSpec& option : options) {
        std::vector<std::string> texts = option.allowed;
        texts.push_back(option.name);
        for (const std::string& text : texts)
            if (fault.empty())
                fault = fault_of_range("the bytes of '" + text + "', of an option,", 1,
                                       kMaxNameBytes, text.size());
    }
    return fault;
}

}  // namespace

std::string fault_in_facts(const Facts& facts, const std::vector<OptionSpec>& options) {
    for (const std::string& fault :
         {fault_in_names(facts, options),
          fault_of_range("num_actions", 1, 65535, facts.num_actions),
          fault_of_range("observation_bytes", 1, 65536, facts.observation_bytes),
          fault_of_range("max_plies", 1, kMaxPlies, facts.max_plies), fault_in_outcomes(facts)})
        if (!fault.empty()) return fault;
    for (const Symmetry& symmetry : facts.symmetries) {
        if (!is_permutation_of(symmetry.action, facts.num_actions))
            return "a symmetry must permute the actions";
        if (!is_permutation_of(symmetry.byte, facts.observation_bytes))
            return "a symmetry must permute the bytes";
    }
    return "";
}

}  // namespace zf
