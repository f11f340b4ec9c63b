"""Which episodes were seen: ids as ranges of sequence numbers per worker.

A worker numbers its games from 0 and finishes most of them in order, so a few ranges stand for
millions of ids.
"""

from bisect import bisect_left

Ranges = list[tuple[int, int]]
"""Ascending, apart from one another: first, and one after the last."""


class SeenIds:
    def __init__(self) -> None:
        self._ranges: dict[int, Ranges] = {}

    def __contains__(self, episode_id: tuple[int, int]) -> bool:
        worker, sequence = episode_id
        ranges = self._ranges.get(worker, [])
        at = num_begun(ranges, sequence)
        return at > 0 and sequence < ranges[at - 1][1]

    def add(self, worker: int, first: int, end: int) -> None:
        """Adds first…end-1, joined with the ranges that they touch."""
        ranges = self._ranges.setdefault(worker, [])
        at = num_begun(ranges, first)
        if at > 0 and ranges[at - 1][1] >= first:
            at -= 1
        after = at
        while after < len(ranges) and ranges[after][0] <= end:
            first, end = min(first, ranges[after][0]), max(end, ranges[after][1])
            after += 1
        ranges[at:after] = [(first, end)]

    def to_json(self) -> dict[str, Ranges]:
        return {str(worker): ranges for worker, ranges in self._ranges.items()}

    def add_json(self, seen: dict[str, Ranges]) -> None:
        for worker, ranges in seen.items():
            for first, end in ranges:
                self.add(int(worker), first, end)


def num_begun(ranges: Ranges, sequence: int) -> int:
    """How many ranges begin at or before a number."""
    return bisect_left(ranges, (sequence + 1, 0))
