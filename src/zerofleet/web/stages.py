"""The stages of a run: how fast each is, and which other one it waits for."""

from collections.abc import Mapping
from typing import Any

from zerofleet.web.records import RunRecords, per_second, waiting_share
from zerofleet.web.schema import Stage

MIN_SHARE = 0.02
"""A stage that waits less does not wait for anybody."""
SPAN = 3
"""Rates cover so many status intervals, where there are."""


def stages_of(records: RunRecords) -> list[Stage]:
    """Self-play, inference, intake, training and rating, from the newest statuses."""
    after: Mapping[str, Any] | None = records.status[-1] if records.status else None
    before = earlier(records)
    if after is None:
        return []
    last_rating = records.rating[-1] if records.rating else None
    rated = f"step {last_rating['step']:,} against {last_rating['opponent']}" if last_rating else ""
    return [
        stage("self-play", before, after, "games", "games/s", "waiting_to_play_s", "training"),
        stage("inference", before, after, "inferences", "inferences/s"),
        stage("intake", before, after, "rows", "rows/s"),
        stage(
            "training",
            before,
            after,
            "samples",
            "samples/s",
            "waiting_to_train_s",
            "self-play",
            str(after.get("stall") or ""),
        ),
        Stage(
            name="rating",
            rate=None,
            unit="games/s",
            waits_for=None,
            waiting_share=None,
            note=f"last: {rated}" if rated else "",
        ),
    ]


def earlier(records: RunRecords) -> Mapping[str, Any] | None:
    """A status of the same session, some intervals before the newest."""
    newest = records.status[-1] if records.status else None
    for record in records.status[-1 - SPAN : -1]:
        if newest is not None and record["elapsed_s"] < newest["elapsed_s"]:
            return record
    return None


def stage(
    name: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    counter: str,
    unit: str,
    waiting: str | None = None,
    whom: str | None = None,
    note: str = "",
) -> Stage:
    share = waiting_share(before, after, waiting) if waiting else None
    waits = share is not None and share >= MIN_SHARE
    return Stage(
        name=name,
        rate=per_second(before, after, counter),
        unit=unit,
        waits_for=whom if waits else None,
        waiting_share=share,
        note=note,
    )
