"""Messages of lent tabs: typed, bounded, and refused by name."""

import msgspec
import pytest

from zerofleet.web.lend import messages
from zerofleet.web.lend.messages import BadMessage, GamesComplete, PlayGames, decode, encode

READY = {
    "type": "WORKER_READY",
    "protocol": 1,
    "token": "x" * 43,
    "id": b"\0" * 16,
    "backend": "wasm",
    "signatures": {"connect4": "68e6705be0c93f2a"},
    "features": {"simd": True, "threads": False, "webgpu": False},
}


def test_a_message_comes_back_as_it_was() -> None:
    assert isinstance(decode(msgspec.msgpack.encode(READY)), messages.WorkerReady)
    games = GamesComplete(assignment=3, episodes=[b"one", b"two"])
    assert decode(encode(games)) == games
    task = PlayGames(1, "connect4", {}, {"reuse_tree": False}, 2**63, 2**64 - 1, 0, 4, 7, 60.0)
    assert messages.decode_answer(encode(task)) == task


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"type": "WORKER_STEADY"}, "WORKER_STEADY"),
        ({"token": "short"}, "token"),
        ({"id": b"\0" * 17}, "id"),
        ({"backend": "cuda"}, "backend"),
        ({"signatures": {str(i): "x" for i in range(65)}}, "signatures"),
        ({"features": {"simd": True}}, "features"),
        ({"admin": True}, "admin"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changed: dict[str, object], fault: str) -> None:
    with pytest.raises(BadMessage, match=fault):
        decode(msgspec.msgpack.encode(READY | changed))


def test_bytes_that_are_no_message_are_refused() -> None:
    deep = b"\x91" * 100_000 + b"\xc0"
    huge = b"\xdf\xff\xff\xff\xff"  # a map that claims four thousand million entries
    for data in (b"", b"\xc1", b"{}", deep, huge, encode(messages.Heartbeat())[:-1]):
        with pytest.raises(BadMessage):
            decode(data)
    with pytest.raises(BadMessage, match="at most"):
        decode(b"\0" * (messages.MAX_MESSAGE_BYTES + 1))
    with pytest.raises(BadMessage, match="episodes"):
        decode(encode(GamesComplete(1, [b"\0" * (messages.MAX_EPISODE_BYTES + 1)])))
