"""Whatever is asked within the OpenAPI schema or beside it, the server never fails.

schemathesis draws requests from the schema, valid ones and others. Each is sent as it was drawn,
and once more with names that exist, so that it gets past the first check.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance
from web_client import wait_until_up

from zerofleet.web import safety
from zerofleet.web.safety import Rate
from zerofleet.web.server import Server

NUM_EXAMPLES = 12
"""Of each operation."""
TIMEOUT_S = 60
"""Of a request, on a busy machine too."""
UNLIMITED = Rate(burst=10**9, per_s=10**9)
SEATS = [{"player": "human"}, {"player": "playout", "num_simulations": 2}]


@pytest.fixture(scope="module")
def unlimited(runs: Path) -> Iterator[httpx.Client]:
    """A server that does not mind how often it is asked."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("READS", "CHANGES", "SEARCHES"):
            patch.setattr(safety, name, UNLIMITED)
        server = Server(port=0)
        server.start()
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}/api/v1", timeout=30) as client:
            wait_until_up(client)
            yield client
        server.stop()


@pytest.fixture(scope="module")
def play(unlimited: httpx.Client) -> str:
    asked = {"game": "beastybar", "seats": SEATS}
    return str(unlimited.post("/plays", json=asked).json()["id"])


SCHEMA = schemathesis.openapi.from_path(Path(__file__).parents[2] / "web" / "openapi.json")
OPERATIONS = {each.ok().label: each.ok() for each in SCHEMA.get_all_operations()}


@pytest.mark.parametrize("label", OPERATIONS)
def test_the_server_never_fails(unlimited: httpx.Client, play: str, label: str) -> None:
    base = str(unlimited.base_url).removesuffix("/api/v1/")
    checks = (not_a_server_error, response_schema_conformance)
    names = {"run": "ttt", "episode": "3", "play": play, "saved": "connect4-1"}
    names |= {"account": "1", "action": "pause"}

    def send(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=base, checks=checks, timeout=TIMEOUT_S)
        for name in case.path_parameters or {}:
            case.path_parameters[name] = names[name]
        if isinstance(case.body, dict):
            bounds = {"game": "beastybar", "options": {}, "seats": SEATS, "seconds": None}
            case.body.update({name: each for name, each in bounds.items() if name in case.body})
            if "num_simulations" in case.body:
                case.body["num_simulations"] = 2
        case.call_and_validate(base_url=base, checks=checks, timeout=TIMEOUT_S)

    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        draw = OPERATIONS[label].as_strategy(generation_mode=mode)
        bounded = settings(max_examples=NUM_EXAMPLES, suppress_health_check=list(HealthCheck))
        with suppress(Unsatisfiable):  # an operation without parameters has no wrong ones
            bounded(given(draw)(send))()
