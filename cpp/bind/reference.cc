// Plays and searches natively what the WebAssembly module is asked to, by the same code: its tests
// compare the answers, its benchmark the speed.
//
//   zerofleet_reference selfplay GAME SETTINGS EVALUATOR GROUPS GAMES_PER_GROUP SEED EPISODES
//   zerofleet_reference search GAME POSITION SETTINGS EVALUATOR SEED
//   zerofleet_reference speed GAME SETTINGS EVALUATOR GROUPS GAMES_PER_GROUP SEED SECONDS
//
// It prints episodes as hexadecimal lines, the result of a search as JSON, or simulations per
// second of CPU time, on one thread.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "bind/json.h"
#include "bind/registry.h"
#include "bind/search_batch.h"
#include "bind/selfplay.h"

namespace zf {
namespace {

template <class T>
T value_or_exit(Result<T> result) {
    if (!result) {
        std::fprintf(stderr, "%s\n", result.error().text.c_str());
        std::exit(1);
    }
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// The arguments after the command, in the order above.
std::unique_ptr<Driver> driver_of(char** arguments) {
    const auto game = value_or_exit(make_game(std::string(arguments[0]), {}));
    SelfPlayOptions options;
    value_or_exit(read_selfplay_settings(arguments[1], options));
    options.seed = std::strtoull(arguments[5], nullptr, 10);
    return value_or_exit(
        make_driver(*game, options, value_or_exit(optional_evaluator(arguments[2])), nullptr,
                    uint32_t(std::atoi(arguments[3])), uint32_t(std::atoi(arguments[4])), 0));
}

void selfplay(char** arguments) {
    const auto driver = driver_of(arguments);
    for (int num_left = std::atoi(arguments[6]); num_left > 0 && driver->advance();) {
        for (const auto& episode : driver->take_episodes()) {
            if (num_left-- <= 0) break;
            for (const uint8_t byte : episode) std::printf("%02x", byte);
            std::printf("\n");
        }
    }
}

void search(char** arguments) {
    const auto game = value_or_exit(make_game(std::string(arguments[0]), {}));
    const auto position = value_or_exit(game->from_text(arguments[1]));
    SearchOptions options;
    value_or_exit(read_search_settings(arguments[2], options));
    SearchBatch searches(*game, options, value_or_exit(evaluator_kind(arguments[3])));
    value_or_exit(searches.add(*position, std::strtoull(arguments[4], nullptr, 10)));
    while (!searches.finished()) searches.run(1024);
    std::printf("%s\n", result_json(searches.results()[0]).c_str());
}

void speed(char** arguments) {
    const auto driver = driver_of(arguments);
    const double seconds = std::atof(arguments[6]);
    // Every game has trees before the clock starts.
    for (int turn = 0; turn < 200; ++turn) driver->advance();
    const uint64_t before = driver->counts().num_simulations;
    const std::clock_t start = std::clock();
    double spent = 0;
    while (spent < seconds) {
        for (int turn = 0; turn < 10; ++turn) driver->advance();
        driver->take_episodes();
        spent = double(std::clock() - start) / CLOCKS_PER_SEC;
    }
    std::printf("%.0f\n", double(driver->counts().num_simulations - before) / spent);
}

}  // namespace
}  // namespace zf

int main(int num_arguments, char** arguments) {
    const std::string command = num_arguments > 1 ? arguments[1] : "";
    if (command == "selfplay" && num_arguments == 9) {
        zf::selfplay(arguments + 2);
    } else if (command == "search" && num_arguments == 7) {
        zf::search(arguments + 2);
    } else if (command == "speed" && num_arguments == 9) {
        zf::speed(arguments + 2);
    } else {
        std::fprintf(stderr, "see cpp/bind/reference.cc for the arguments\n");
        return 2;
    }
}
