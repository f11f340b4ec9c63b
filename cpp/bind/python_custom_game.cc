// Binds games written in Python.

#include "bind/python_custom_game.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind/game_of.h"
#include "bind/python_game.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace zf {
namespace {

// The game that a class is, and positions of it.
class PyCustomGame {
  public:
    PyCustomGame(nb::type_object type, const std::string& name, int num_actions,
                 int num_chance_outcomes, int observation_bytes, int max_plies, bool hidden,
                 const std::vector<std::tuple<std::string, float, int>>& outcomes,
                 bool takes_seed) {
        auto own = std::make_shared<CustomClass>();
        own->type = type;
        own->takes_seed = takes_seed;
        Facts& facts = own->facts;
        facts.name = name;
        facts.num_actions = num_actions;
        facts.num_chance_outcomes = num_chance_outcomes;
        facts.observation_bytes = observation_bytes;
        facts.max_plies = max_plies;
        facts.hidden = hidden;
        for (const auto& [outcome, reward, opposite] : outcomes)
            facts.outcomes.push_back({outcome, reward, opposite});
        Symmetry& identity = facts.symmetries.emplace_back();
        for (int i = 0; i < num_actions; ++i) identity.action.push_back(Action(i));
        for (int i = 0; i < observation_bytes; ++i) identity.byte.push_back(uint16_t(i));
        own_ = own;
        core_ = std::make_shared<const GameOf<PythonGame>>(own_, OptionValues{});
    }

    PyGame game() const { return {core_, own_->type}; }
    PyPosition position(nb::handle instance) const {
        return {game(), core_->hold(PythonGame::of_instance(own_, instance))};
    }

  private:
    PythonGame::Options own_;
    std::shared_ptr<const GameOf<PythonGame>> core_;
};

}  // namespace

void bind_custom_game(nb::module_& m) {
    nb::class_<PyCustomGame>(m, "CustomGame",
                             "A game written in Python; for zerofleet.games.custom.")
        .def(nb::init<nb::type_object, const std::string&, int, int, int, int, bool,
                      const std::vector<std::tuple<std::string, float, int>>&, bool>(),
             "type"_a, nb::kw_only(), "name"_a, "num_actions"_a, "num_chance_outcomes"_a,
             "observation_bytes"_a, "max_plies"_a, "hidden"_a, "outcomes"_a, "takes_seed"_a)
        .def("game", &PyCustomGame::game)
        .def("position", &PyCustomGame::position, "instance"_a,
             "A copy of an instance of the class.");
}

}  // namespace zf
