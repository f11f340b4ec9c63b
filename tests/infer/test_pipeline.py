"""Batches in flight: their order, their weights, and what is counted."""

import numpy as np
import pytest

from zerofleet import infer
from zerofleet.errors import Inconsistent
from zerofleet.infer.evaluator import CallingStream, Finished, Pipeline, lockstep


def two_streams(evaluator):
    return Pipeline(evaluator, [CallingStream(evaluator), CallingStream(evaluator)])


def test_answers_come_out_in_order_and_are_the_evaluators(make_network, observations_BN):
    evaluator = infer.TorchEvaluator(make_network(1), version=40)
    pipeline = two_streams(evaluator)
    pipeline.submit(7, observations_BN[:3])
    pipeline.submit(2, observations_BN[3:])
    assert pipeline.num_in_flight == 2
    for slot, rows in ((7, observations_BN[:3]), (2, observations_BN[3:])):
        answered = pipeline.collect()
        assert (answered.slot, answered.version) == (slot, 40)
        logits, outcomes = evaluator(rows)
        assert np.array_equal(answered.policy_logits_BA, logits)
        assert np.array_equal(answered.outcomes_BO, outcomes)
    assert pipeline.num_in_flight == 0


def test_new_weights_answer_what_is_submitted_after_them(make_network, observations_BN, expected):
    pipeline = two_streams(infer.TorchEvaluator(make_network(1), version=40))
    pipeline.submit(0, observations_BN)
    pipeline.load(make_network(2).state_dict(), version=41)
    pipeline.submit(1, observations_BN)
    for version, seed in ((40, 1), (41, 2)):
        answered = pipeline.collect()
        assert answered.version == version
        np.testing.assert_allclose(answered.policy_logits_BA, expected(seed)[0], atol=1e-4)


def test_there_is_room_for_as_many_batches_as_streams(make_network, observations_BN):
    pipeline = lockstep(infer.TorchEvaluator(make_network(1)))
    with pytest.raises(Inconsistent, match="nothing in flight has nothing to collect"):
        pipeline.collect()
    assert pipeline.has_room
    pipeline.submit(0, observations_BN)
    assert not pipeline.has_room
    with pytest.raises(Inconsistent, match="1 batches in flight has no room for another"):
        pipeline.submit(1, observations_BN)
    pipeline.collect()
    assert pipeline.has_room


class TimedStream:
    """Three rows of four are real, over times on the device that are known beforehand."""

    def __init__(self, begin_s, end_s):
        self.span = begin_s, end_s

    def start(self, slot, observations_BN):
        pass

    def finish(self):
        return Finished(np.zeros((3, 7)), np.zeros((3, 3)), 4, *self.span, version=0)


def test_time_on_the_device_is_counted_once_where_batches_overlap(make_network, observations_BN):
    spans = [(0, 4), (1, 6), (8, 9)]  # busy from 0 to 6 and from 8 to 9; the second waited 3 s
    streams = [TimedStream(*span) for span in spans]
    pipeline = Pipeline(infer.TorchEvaluator(make_network(1)), streams)
    for slot in range(3):
        pipeline.submit(slot, observations_BN)
    for _ in range(3):
        pipeline.collect()
    counts = pipeline.counts
    assert (counts.num_batches, counts.num_rows, counts.num_computed) == (3, 9, 12)
    assert counts.busy_s == pytest.approx(7)
    assert counts.queued_s == pytest.approx(3)


def test_a_cpu_pipeline_has_room_for_one_batch(make_network):
    evaluator = infer.TorchEvaluator(make_network(1))
    pipeline = infer.make_pipeline(evaluator, num_slots=4, rows_per_slot=8)
    pipeline.submit(0, np.zeros((2, 43), np.uint8))
    assert not pipeline.has_room
