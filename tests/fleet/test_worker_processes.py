"""How many processes a worker has, and where each evaluates."""

import pytest

from zerofleet.cores import num_cores
from zerofleet.fleet.worker_processes import devices_of, plan_processes


@pytest.mark.parametrize("device", ["cuda:1", "mps"])
def test_a_named_gpu_has_one_process_and_the_cores_search_for_it(device):
    plan = plan_processes(device, given=None)
    assert (plan.num_processes, plan.num_search_threads) == (1, max(1, num_cores() - 1))
    assert devices_of(device, plan) == [device]


def test_on_the_cpu_each_process_has_a_core():
    plan = plan_processes("cpu", given=3)
    assert (plan.num_processes, plan.num_search_threads) == (3, 1)
    assert devices_of("cpu", plan) == ["cpu", "cpu", "cpu"]
