#include "bind/nearest.h"

#include <algorithm>
#include <utility>

namespace zf {
namespace {

// How many letters must be put in, taken out or changed to make one word of the other.
int edit_distance(const std::string& a, const std::string& b) {
    std::vector<int> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = int(j);
    for (size_t i = 1; i <= a.size(); ++i) {
        int diagonal = row[0];
        row[0] = int(i);
        for (size_t j = 1; j <= b.size(); ++j) {
            const int changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string unknown_name(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known) {
    std::vector<std::pair<int, std::string>> ranked;
    for (const std::string& each : known) ranked.emplace_back(edit_distance(name, each), each);
    std::sort(ranked.begin(), ranked.end());
    std::string text = "unknown " + what + " " + name;
    if (ranked.empty()) return text + "; there are none";
    const auto& [distance, nearest] = ranked[0];
    text += "; ";
    if (2 * distance <= int(nearest.size())) text += "did you mean " + nearest + "? ";
    text += "known: ";
    for (size_t i = 0; i < ranked.size(); ++i) text += (i ? ", " : "") + ranked[i].second;
    return text;
}

}  // namespace zf
