// Binds the solver of Gomoku.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>

#include "bind/python_game.h"
#include "bind/python_solve.h"
#include "solve/gomoku.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

// With Python's patience: it is asked about single positions.
constexpr GomokuEffort kEffort{
    .endgame_nodes = 20'000'000, .root_nodes = 1'000'000, .action_nodes = 20'000};
constexpr int kTableBits = 20;

class PyGomokuSolver {
  public:
    explicit PyGomokuSolver(const PyGame& game)
        : options_(options_of(game)), solver_(options_, kEffort, kTableBits, [this] {
              check_signals();
              if (deadline_ && Clock::now() >= *deadline_) throw TimeIsUp{};
          }) {}

    PyGomokuSolver(const PyGomokuSolver&) = delete;
    PyGomokuSolver& operator=(const PyGomokuSolver&) = delete;

    std::optional<std::vector<int>> threats(const PyPosition& position, uint64_t max_nodes,
                                            double max_seconds) {
        const Gomoku core = core_of(position);
        const nb::gil_scoped_release unlocked;
        if (max_seconds > 0)
            deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(max_seconds));
        std::vector<Action> line;
        try {
            line = solver_.threats(core, {.max_nodes = max_nodes});
        } catch (const TimeIsUp&) {
        } catch (...) {
            deadline_.reset();
            throw;
        }
        deadline_.reset();
        if (line.empty()) return {};
        return std::vector<int>(line.begin(), line.end());
    }

    bool verify_threats(const PyPosition& position, const std::vector<int>& line,
                        uint64_t max_nodes) {
        const Gomoku core = core_of(position);
        std::vector<Action> actions;
        for (const int action : line) {
            if (action < 0 || action >= position.game.core->facts().num_actions) return false;
            actions.push_back(Action(action));
        }
        const nb::gil_scoped_release unlocked;
        return solver_.verify_line(core, actions, {.max_nodes = max_nodes});
    }

    // Action, outcome and plies of what is proven, and whether that decides the position.
    std::pair<std::vector<std::tuple<int, int, int>>, bool> prove(const PyPosition& position) {
        const Gomoku core = core_of(position);
        const nb::gil_scoped_release unlocked;
        const ProvenRoot root = solver_.solve_root(core);
        std::vector<std::tuple<int, int, int>> actions;
        for (const auto& [action, value] : root.actions) {
            int outcome = 0;
            while (value.outcomes_to_move[outcome] == 0) ++outcome;
            actions.emplace_back(action, outcome, int(value.plies_to_end));
        }
        return {actions, root.decided};
    }

    std::optional<int> plies_to_end(const PyPosition& position) {
        const Gomoku core = core_of(position);
        const nb::gil_scoped_release unlocked;
        const auto score = solver_.endgame_score(core);
        if (!score) return {};
        Action actions[GomokuLines::kMaxCells];
        return GomokuEndgame::plies_to_end(core.legal_actions(actions), *score);
    }

    uint64_t num_nodes() const { return solver_.num_nodes(); }
    uint64_t num_refused() const { return solver_.num_refused(); }

  private:
    static Gomoku::Options options_of(const PyGame& game) {
        if (game.core->facts().name != "gomoku")
            raise({Error::Kind::unsupported,
                   "threat search knows gomoku, not " + game.core->facts().name});
        return value_or_raise(Gomoku::parse_options(game.core->options()));
    }

    Gomoku core_of(const PyPosition& position) const {
        const Gomoku::Options options = options_of(position.game);
        if (options.size != options_.size || options.line != options_.line ||
            options.exact != options_.exact)
            raise({Error::Kind::inconsistent, "the position is of gomoku with other options"});
        if (position.core->to_move() == kOver) raise({Error::Kind::illegal, "the game is over"});
        return value_or_raise(Gomoku::from_text(options, position.core->to_text()));
    }

    using Clock = std::chrono::steady_clock;
    struct TimeIsUp {};  // ends a search from its poll: the core knows no clock

    Gomoku::Options options_;
    GomokuSolver solver_;
    std::optional<Clock::time_point> deadline_;
};

}  // namespace

void bind_solve_gomoku(nb::module_& m) {
    nb::class_<PyGomokuSolver>(m, "GomokuSolver",
                               "Threat search and endgames of Gomoku with the options of this "
                               "game; see cpp/solve/gomoku.h. One thread at a time. Ctrl-C ends "
                               "its work.")
        .def(nb::init<const PyGame&>(), "game"_a)
        .def("threats", &PyGomokuSolver::threats, "position"_a, "max_nodes"_a = 1'000'000,
             "max_seconds"_a = 0.0,
             "A proven win of the player to move by fours and threes, as actions to the end of the "
             "game with the replies that last longest; None where none is proven. max_seconds=0: "
             "no bound.")
        .def("verify_threats", &PyGomokuSolver::verify_threats, "position"_a, "line"_a,
             "max_nodes"_a = 1'000'000,
             "Whether the player to move wins with this line: every legal reply is answered, by "
             "the line or by a win that is searched for with at most max_nodes, and all of it is "
             "verified by the rules alone.")
        .def("prove", &PyGomokuSolver::prove, "position"_a,
             "(action, index of its outcome, plies to the end) of each action that is proven, and "
             "whether the best of them is the best there is.")
        .def("plies_to_end", &PyGomokuSolver::plies_to_end, "position"_a,
             "Plies to the end of an endgame with perfect play; None before.")
        .def_prop_ro("num_nodes", &PyGomokuSolver::num_nodes, "Of all its searches.")
        .def_prop_ro("num_refused", &PyGomokuSolver::num_refused,
                     "Proofs of the search that the verifier refused. It should be 0.");
}

}  // namespace zf
