"""The gateway of one run: tabs connect, get games, and send them."""

from zerofleet.web.lend.schema import LentRun


class Gateway:
    run_id: str
    version: int

    def lent_run(self) -> LentRun:
        raise NotImplementedError

    def num_online(self, account: int | None = None) -> int:
        return 0

    def close_tabs(self, account: int, code: str, reason: str) -> None:
        return None
