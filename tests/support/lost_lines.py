"""Every line of play against a trained network, searched to its end: a judge of learnt play."""

import zerofleet as zf


def chosen(position, evaluator, num_simulations):
    """Without proofs and with few simulations, so that it is the network that knows."""
    found = zf.search.analyse(
        position, evaluator, num_simulations=num_simulations, prove=False, seed=1
    )
    return found.best_action


def num_lost_lines(game, evaluator, seat, num_simulations=12):
    """Games lost out of all that an opponent can play against the evaluator in that seat."""
    lost = total = 0
    waiting = [game.new_position()]
    while waiting:
        position = waiting.pop()
        if position.to_move == zf.OVER:
            total += 1
            lost += position.rewards()[seat] < 0
        elif position.to_move == seat:
            position.play(chosen(position, evaluator, num_simulations))
            waiting.append(position)
        else:
            for action in position.legal_actions():
                after = position.copy()
                after.play(action)
                waiting.append(after)
    assert total > 5
    return lost
