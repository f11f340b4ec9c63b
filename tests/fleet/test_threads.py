"""Turns of Python's threads."""

import sys

import pytest

from zerofleet.fleet.hardware import SWITCH_INTERVAL_S, short_switch_interval


@short_switch_interval()
def fail_within():
    assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S)
    raise KeyError


def test_turns_are_short_within_and_as_before_afterwards_whatever_happens():
    before_s = sys.getswitchinterval()
    assert before_s > SWITCH_INTERVAL_S
    with pytest.raises(KeyError):
        fail_within()
    assert sys.getswitchinterval() == before_s
