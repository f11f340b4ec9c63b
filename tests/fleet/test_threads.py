"""The switch interval of Python's threads."""

import sys

import pytest

from zerofleet.cores import SWITCH_INTERVAL_S, short_switch_interval


@short_switch_interval()
def fail_within():
    assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S)
    raise KeyError


def test_the_switch_interval_is_short_inside_and_restored_after_an_error():
    before_s = sys.getswitchinterval()
    assert before_s > SWITCH_INTERVAL_S
    with pytest.raises(KeyError):
        fail_within()
    assert sys.getswitchinterval() == before_s
