"""A fleet's worker stays small: what pip install 'zerofleet[worker]' brings, by the metadata of the
packages that are installed here."""

from collections.abc import Iterator
from importlib.metadata import distribution

from packaging.requirements import Requirement

MAX_BYTES = 250 << 20
"""Of all files; torch alone has more."""


def requirements(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    """What a package needs with these extras."""
    for text in distribution(name).requires or []:
        needed = Requirement(text)
        marker = needed.marker
        if marker is None or any(marker.evaluate({"extra": each}) for each in ("", *extras)):
            yield needed


def installed_with(name: str, extra: str) -> set[str]:
    """All packages that come with an extra of a package, without itself."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [(name, frozenset([extra]))]
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            waiting += [(each.name, frozenset(each.extras)) for each in requirements(*at)]
    return {each for each, _ in found} - {name}


def num_bytes(name: str) -> int:
    sizes = [each.size or 0 for each in distribution(name).files or []]
    return sum(sizes)


def test_a_worker_needs_no_torch_and_little_space() -> None:
    packages = installed_with("zerofleet", "worker")
    assert {"onnxruntime", "redis", "hiredis", "pyzmq", "numpy"} <= packages
    assert not {"torch", "onnx", "onnxscript", "tensorboard", "matplotlib"} & packages
    sizes = {name: num_bytes(name) for name in packages}
    assert all(sizes.values()), sizes
    assert sum(sizes.values()) < MAX_BYTES, sizes
    assert num_bytes("torch") > MAX_BYTES
