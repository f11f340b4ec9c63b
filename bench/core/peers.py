"""Throughput of the core's peers, OpenSpiel and mctx. Runs in its own environment.

Prints one JSON object. Usage: peers.py SECONDS
"""

import json
import random
import sys
import time
from importlib.metadata import version

import numpy as np


def throughput(do, seconds):
    """Items per second; each call of `do` returns the number of items it processed."""
    do()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        done += do()
    return done / (time.perf_counter() - start)


def spiel_random_game(game):
    def play():
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(random.choices(actions, weights)[0])
            else:
                state.apply_action(random.choice(state.legal_actions()))
        return 1

    return play


def spiel_mcts(game, num_simulations, num_plies):
    """Simulations of OpenSpiel's C++ MCTSBot, one random playout each, after some random plies."""
    import pyspiel

    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    bot = pyspiel.MCTSBot(game, evaluator, 1.4, num_simulations, 1000, False, 1, False)
    rng = random.Random(1)

    def search():
        state = game.new_initial_state()
        for _ in range(num_plies):
            if state.is_chance_node():
                state.apply_action(rng.choice(state.chance_outcomes())[0])
            else:
                state.apply_action(rng.choice(state.legal_actions()))
        while state.is_chance_node():
            state.apply_action(rng.choice(state.chance_outcomes())[0])
        bot.step(state)
        return num_simulations

    return search


def mctx_gumbel(batch_size, num_simulations):
    """mctx's Gumbel search over 225 actions with a network of zero outputs, on one CPU core."""
    import jax
    import jax.numpy as jnp
    import mctx

    def recurrent(params, rng, action, embedding):
        del params, rng
        output = mctx.RecurrentFnOutput(
            reward=jnp.zeros(batch_size),
            discount=-jnp.ones(batch_size),
            prior_logits=jnp.zeros((batch_size, 225)),
            value=jnp.zeros(batch_size),
        )
        return output, embedding.at[jnp.arange(batch_size), action].set(1)

    @jax.jit
    def run(key):
        root = mctx.RootFnOutput(
            prior_logits=jnp.zeros((batch_size, 225)),
            value=jnp.zeros(batch_size),
            embedding=jnp.zeros((batch_size, 225), dtype=jnp.int8),
        )
        return mctx.gumbel_muzero_policy(
            params=(),
            rng_key=key,
            root=root,
            recurrent_fn=recurrent,
            num_simulations=num_simulations,
        ).action

    keys = iter(range(10**9))

    def search():
        np.asarray(run(jax.random.PRNGKey(next(keys))))
        return batch_size * num_simulations

    return search


def main():
    import pyspiel

    seconds = float(sys.argv[1])
    gomoku = pyspiel.load_game("gomoku")
    backgammon = pyspiel.load_game("backgammon")
    per_s = {
        "backgammon random games": throughput(spiel_random_game(backgammon), seconds),
        "gomoku random games": throughput(spiel_random_game(gomoku), seconds),
        "gomoku playout search": throughput(spiel_mcts(gomoku, 200, 8), seconds),
        "backgammon playout search": throughput(spiel_mcts(backgammon, 100, 8), seconds),
        "gomoku batched search, 200": throughput(mctx_gumbel(64, 200), seconds),
        "gomoku batched search, 800": throughput(mctx_gumbel(64, 800), seconds),
    }
    versions = {name: version(name) for name in ("open_spiel", "mctx", "jax")}
    print(json.dumps({"per_s": per_s, "versions": versions}))


if __name__ == "__main__":
    main()
