"""Metrics records with everything that their kind needs."""

from typing import Any


def status_values(**given: Any) -> dict[str, Any]:
    names = (
        *("elapsed_s", "games", "rows", "inference_s", "search_s", "waiting_to_play_s"),
        *("training_s", "intake_s", "waiting_to_train_s"),
    )
    return dict.fromkeys(names, 0) | given


def rating_values(**given: Any) -> dict[str, Any]:
    score = {"games": 2, "score": 0.5, "low": 0.1, "high": 0.9, "pairs": [0, 0, 1, 0, 0]}
    return {"opponent": "random", **score, "points": 0.0, "elapsed_s": 1} | given
