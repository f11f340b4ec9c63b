"""Rating work in Redis: blocks that raters lease and report.

Uses plain commands only, none of which deletes: a lease is a key that expires, and a result is
written only where there is none yet, while the match exists.
"""

import time
from collections.abc import Callable, Collection
from typing import Any

import redis

from zerofleet.bus.contract import Block, BlockResult
from zerofleet.bus.lead import MAX_TASK_BYTES, checked_size
from zerofleet.bus.link import RedisLink


class Ratings:
    """The matches of a run, as raters and idle workers see them."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    def lease_block(self, lease_s: float, without: Collection[str] = ()) -> Block | None:
        def look(client: Any) -> Block | None:
            for rating in (each.decode() for each in client.zrange(self._link.keys.ratings, 0, -1)):
                if rating not in without:
                    for number in self._free_blocks(client, rating):
                        lease = self._link.keys.lease(rating, number)
                        if client.set(lease, "1", nx=True, px=max(1, round(lease_s * 1000))):
                            task = client.hget(self._link.keys.blocks(rating), str(number))
                            if task is not None:
                                return Block(rating, number, task)
            return None

        found: Block | None = self._link.call(look)
        return found

    def _free_blocks(self, client: Any, rating: str) -> list[int]:
        """Blocks of a match that are neither finished nor leased."""
        pipeline = client.pipeline(transaction=False)
        pipeline.hkeys(self._link.keys.blocks(rating))
        pipeline.hkeys(self._link.keys.results(rating))
        added, finished = (set(filter(bytes.isdigit, numbers)) for numbers in pipeline.execute())
        if not (numbers := sorted(int(each) for each in added - finished)):
            return []
        leases = client.mget([self._link.keys.lease(rating, each) for each in numbers])
        return [number for number, lease in zip(numbers, leases, strict=True) if lease is None]

    def return_block(self, block: Block, reason: str) -> None:
        def write(pipeline: Any) -> None:
            pipeline.set(self._link.keys.lease(block.rating, block.number), "1", px=1)
            if reason:
                pipeline.sadd(self._link.keys.returns(block.rating), reason)

        self._write_if_there(block.rating, block.number, write)
        time.sleep(0.002)  # the lease has expired; who rates may delete nothing

    def finish_block(self, result: BlockResult) -> bool:
        checked_size(f"the result of block {result.number}", result.result, MAX_TASK_BYTES)

        def write(pipeline: Any) -> None:
            pipeline.hsetnx(
                self._link.keys.results(result.rating), str(result.number), result.result
            )

        written = self._write_if_there(result.rating, result.number, write)
        return bool(written and written[0])

    def _write_if_there(self, rating: str, number: int, write: Callable[[Any], None]) -> list[Any]:
        """What a transaction answers; nothing where the match was dropped."""
        blocks = self._link.keys.blocks(rating)

        def attempt(client: Any) -> list[Any] | None:
            with client.pipeline(transaction=True) as pipeline:
                pipeline.watch(blocks)
                if not pipeline.hexists(blocks, str(number)):
                    return []
                pipeline.multi()
                write(pipeline)
                try:
                    return list(pipeline.execute())
                except redis.WatchError:
                    return None

        while (answer := self._link.call(attempt)) is None:
            pass
        return list(answer)

    def block_results(self, rating: str) -> list[BlockResult]:
        key = self._link.keys.results(rating)
        found = self._link.call(lambda client: client.hgetall(key))
        numbered = sorted((int(each), result) for each, result in found.items() if each.isdigit())
        return [BlockResult(rating, number, result) for number, result in numbered]

    def block_returns(self, rating: str) -> list[str]:
        key = self._link.keys.returns(rating)
        found = self._link.call(lambda client: client.smembers(key))
        return sorted(reason.decode(errors="replace") for reason in found)

    def ratings(self) -> list[str]:
        found = self._link.call(lambda client: client.zrange(self._link.keys.ratings, 0, -1))
        return [each.decode(errors="replace") for each in found]
