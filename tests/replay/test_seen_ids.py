"""Ranges of ids say the same as a plain set of them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from zerofleet.replay.segment import SeenNumbers

IDS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 12)))


@given(IDS, IDS)
def test_exactly_what_was_added_was_seen_also_through_json(early, late):
    seen = SeenNumbers()
    for worker, sequence in early:
        seen.add(worker, sequence, sequence + 1)
    again = SeenNumbers()
    for worker, sequence in late:
        again.add(worker, sequence, sequence + 1)
    again.add_all(SeenNumbers(json.loads(json.dumps(list(seen.items())))))
    for worker in range(3):
        for sequence in range(14):
            assert ((worker, sequence) in again) == ((worker, sequence) in {*early, *late})


def test_numbers_in_a_row_take_one_range_in_any_order():
    seen = SeenNumbers()
    for sequence in (3, 1, 0, 4, 2):
        seen.add(7, sequence, sequence + 1)
    assert list(seen.items()) == [(7, [(0, 5)])]
