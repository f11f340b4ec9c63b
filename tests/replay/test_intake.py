"""Deliveries into the log: each counts once; a bad one is refused with its reason."""

from contextlib import closing, contextmanager

import pytest
from episode_bytes import rehashed
from kuhn import Kuhn

import zerofleet as zf
from zerofleet._core import check_episodes
from zerofleet.bus import Delivery, Sender
from zerofleet.config import ReplayConfig
from zerofleet.replay import Intake, Replay
from zerofleet.replay.intake import MAX_KEPT, MAX_KEPT_BYTES
from zerofleet.storage import Disk

CONFIG = ReplayConfig(min_rows=1, segment_bytes=4096)
INCARNATION = 2**64 - 5
ANNA = Sender("anna", INCARNATION)


@pytest.fixture
def connect4(play):
    game, episodes = play("connect4", 20, worker=INCARNATION)
    return game, [Delivery(ANNA, number, each.encode()) for number, each in enumerate(episodes)]


@contextmanager
def opened(folder, game, num_threads=1):
    """An intake, its replay and what it says."""
    said = []
    with closing(Replay(folder / "episodes", game, CONFIG, seed=1)) as replay:
        intake = Intake(
            replay, folder / "refused", Disk(), said.append, syncs=True, num_threads=num_threads
        )
        with closing(intake):
            yield intake, replay, said


def ids_of(replay):
    return [id_of(data) for data in replay.log.episodes()]


def id_of(data):
    episode = zf.games.Episode.decode(data)
    return episode.worker, episode.sequence


def ids_in(deliveries, *numbers):
    return [id_of(deliveries[number].episode) for number in numbers]


@pytest.mark.parametrize("num_threads", [1, 3])
def test_good_ones_are_logged_in_their_order_with_their_rows_and_marks(
    tmp_path, connect4, num_threads
):
    game, deliveries = connect4
    with opened(tmp_path, game, num_threads) as (intake, replay, said):
        intake.take(deliveries)
        assert list(replay.log.episodes()) == [each.episode for each in deliveries]
        assert replay.buffer.num_added == replay.log.position.num_rows > 100
        assert replay.log.marks() == {ANNA: 20}
        assert (intake.counts.num_episodes, said) == (20, [])


def test_threads_give_the_rows_that_one_thread_gives(tmp_path, play):
    game, episodes = play("beastybar", 70, worker=INCARNATION)
    deliveries = [Delivery(ANNA, number, each.encode()) for number, each in enumerate(episodes)]
    buffers = []
    for num_threads in (1, 3):
        with opened(tmp_path / str(num_threads), game, num_threads) as (intake, replay, _):
            intake.take(deliveries)
            buffers.append(replay.buffer)
    one, three = buffers
    assert one.num_added == three.num_added
    assert (one.rows_C == three.rows_C).all()


def test_each_delivery_three_times_counts_once(tmp_path, connect4):
    game, deliveries = connect4
    with opened(tmp_path, game) as (intake, replay, _):
        intake.take([*deliveries[:9], *deliveries[3:12]])
        intake.take(deliveries)
        intake.take(deliveries)
        assert len(set(ids_of(replay))) == len(ids_of(replay)) == 20
        assert replay.limiter.state.num_rows == replay.buffer.num_added
        assert intake.counts.num_duplicates == 6 + 12 + 20
    with opened(tmp_path, game) as (intake, replay, _):
        intake.take(deliveries)
        assert len(ids_of(replay)) == 20


def test_an_episode_that_was_sent_again_under_another_number_is_done_under_both(tmp_path, connect4):
    game, deliveries = connect4
    again = [Delivery(ANNA, 20 + each.number, each.episode) for each in deliveries]
    with opened(tmp_path, game) as (intake, replay, _):
        intake.take(deliveries[:10])
        intake.take(again)
        assert sorted(ids_of(replay)) == sorted(ids_in(deliveries, *range(20)))
        assert replay.log.marks() == {ANNA: 10}
        intake.take(deliveries)
        assert replay.log.marks() == {ANNA: 40}
        assert len(ids_of(replay)) == 20


# ---- refused


def bad_episodes(play, deliveries):
    """Episodes that must be refused, by what their reason says."""
    _, (other,) = play("beastybar", 1, worker=INCARNATION)
    _, (stranger,) = play("connect4", 1, worker=7)
    whole = deliveries[0].episode
    damaged = bytearray(whole)
    damaged[20] ^= 1
    return {
        "does not begin with ZFE": bytes(range(256)) * 4,
        "of beastybar, not of connect4": other.encode(),
        f"names worker 7, but its sender is {INCARNATION}": stranger.encode(),
        "hash differs": bytes(damaged),
        "cut short or damaged": whole[:-1],
        "bytes; at most 4194304 are read": b"ZFE\1" + bytes(2**22),
        "at least 12 bytes": b"ZFE",
        "format 9": b"ZFE\x09" + whole[4:],
    }


def test_a_bad_episode_is_kept_with_its_reason_and_never_holds_up_its_batch(
    tmp_path, play, connect4
):
    game, deliveries = connect4
    for number, (reason, data) in enumerate(bad_episodes(play, deliveries).items()):
        folder = tmp_path / str(number)
        with opened(folder, game) as (intake, replay, said):
            bad = Delivery(ANNA, 1, data)
            intake.take([deliveries[0], bad, *deliveries[2:5]])
            assert ids_of(replay) == ids_in(deliveries, 0, 2, 3, 4), reason
            assert replay.log.marks() == {ANNA: 5}
            text = (folder / "refused" / "1.txt").read_text()
            assert reason in text
            assert "worker 'anna'" in text
            assert "spool number 1" in text
            assert (folder / "refused" / "1.episode").read_bytes() == data[:MAX_KEPT_BYTES]
            assert intake.counts.num_refused == 1
            assert "refused 1, the newest of anna: " in said[0]
            assert reason in said[0]
            intake.take([bad])
            assert (intake.counts.num_refused, intake.counts.num_duplicates) == (1, 1)
        with opened(folder, game) as (_, replay, _):
            assert replay.log.marks() == {ANNA: 5}


def test_a_game_against_the_rules_is_refused_by_its_event(tmp_path, connect4):
    """Seven stones in a column of six; its bytes are whole."""
    game, _ = connect4
    played = [0, 0, 0, 0, 0, 0, 1, 2, 1, 2, 1, 2, 1]
    good = zf.games.Episode.record(game, 1, played, worker=INCARNATION).encode()
    assert rehashed(good[:-8]) == good
    seventh = good.index(bytes([1, 0] * 6 + [1, 1])) + 13
    bad = rehashed(good[:seventh] + b"\0" + good[seventh + 1 : -8])
    with opened(tmp_path, game) as (intake, replay, _):
        intake.take([Delivery(ANNA, 0, bad), Delivery(ANNA, 1, good)])
        assert len(ids_of(replay)) == 1
        assert replay.log.marks() == {ANNA: 2}
    text = (tmp_path / "refused" / "1.txt").read_text()
    assert text.startswith("event 6: id 0 is not possible here\n")


def test_a_length_of_a_gigabyte_takes_no_memory(connect4):
    game, deliveries = connect4
    whole = deliveries[0].episode
    gigabyte = bytes([0x80, 0x80, 0x80, 0x80, 0x04])  # 2**30 as a varint
    claims_name = rehashed(b"ZFE\1" + gigabyte + whole[5:-8])
    start = whole.index(INCARNATION.to_bytes(8, "little")) + 16
    claims_start = rehashed(whole[:start] + gigabyte + whole[start + 1 : -8])
    faults = check_episodes(game, [claims_name, claims_start, whole], []).faults
    assert [bool(fault) for fault in faults] == [True, True, False]


def test_a_version_that_leaves_no_room_above_it_is_refused(tmp_path, connect4):
    """Weights are published above every version met, so one that is too high would end that."""
    game, _ = connect4
    good = zf.games.Episode.record(game, 1, [0, 1, 0, 1, 0, 1, 0], worker=INCARNATION).encode()
    at = good.index(bytes([7, 0, 1, 0, 1, 1])) + 1  # seven events, version 0, the first events
    bad = rehashed(good[:at] + b"\xff" * 8 + b"\x7f" + good[at + 1 : -8])
    with opened(tmp_path, game) as (intake, replay, said):
        intake.take([Delivery(ANNA, 0, bad)])
        assert replay.log.newest_version == 0
    assert "weights 9223372036854775807 played in it; versions are at most" in said[0]


class Fragile(Kuhn):
    """Its rules fail after one deal."""

    bad_deal = ""

    def play(self, action):
        if self.to_text().startswith(self.bad_deal or "-"):
            raise LookupError("no such deal")
        super().play(action)


def test_rules_of_a_custom_game_that_fail_refuse_that_episode_alone(tmp_path, monkeypatch):
    game = zf.games.from_class(Fragile)
    played = zf.selfplay.play(
        game, "hash", num_episodes=20, num_simulations=2, num_threads=0, worker=INCARNATION
    )
    deliveries = [Delivery(ANNA, number, data) for number, data in enumerate(played)]
    deals = [
        zf.games.Episode.decode(each.episode).positions(game)[0].to_text() for each in deliveries
    ]
    monkeypatch.setattr(Fragile, "bad_deal", deals[0][:3])
    num_bad = sum(deal.startswith(deals[0][:3]) for deal in deals)
    with opened(tmp_path, game) as (intake, replay, said):
        intake.take(deliveries)
        assert len(ids_of(replay)) == 20 - num_bad > 0
        assert replay.log.marks() == {ANNA: 20}
        assert intake.counts.num_refused == num_bad
    assert "no such deal" in said[0]


def test_a_reason_may_quote_bytes_that_are_no_text(tmp_path, connect4):
    game, deliveries = connect4
    whole = deliveries[0].episode
    name = b"connect4"
    bad = rehashed(whole.replace(name, b"conn\xff\x1b[4")[:-8])
    with opened(tmp_path, game) as (intake, _, said):
        intake.take([Delivery(ANNA, 0, bad)])
    assert said[0].startswith("episodes: refused 1, the newest of anna: an episode of conn\\xff")
    assert "conn\\xff" in (tmp_path / "refused" / "1.txt").read_text()


def test_an_incarnation_belongs_to_the_worker_that_used_it_first(tmp_path, connect4):
    """Another worker can neither mark nor replace its games."""
    game, deliveries = connect4
    bob = Sender("bob", INCARNATION)
    with opened(tmp_path, game) as (intake, _, _):
        intake.take(deliveries[:2])
    with opened(tmp_path, game) as (intake, replay, _):
        intake.take([Delivery(bob, each.number, each.episode) for each in deliveries])
        assert replay.log.marks() == {ANNA: 2, bob: 20}
        assert intake.counts.num_refused == 20
        intake.take(deliveries)
        assert len(ids_of(replay)) == 20
        assert replay.log.marks() == {ANNA: 20, bob: 20}
    assert "is of worker anna" in (tmp_path / "refused" / "1.txt").read_text()


def test_what_cannot_be_counted_is_refused_without_a_mark(tmp_path, connect4):
    game, deliveries = connect4
    data = deliveries[0].episode
    nobody, long, wide = Sender("", 1), Sender("x" * 10_000, 1), Sender("anna", 2**64)
    odd = [Delivery(each, 0, data) for each in (nobody, long, wide)]
    odd += [Delivery(ANNA, number, data) for number in (-1, 2**63)]
    with opened(tmp_path, game) as (intake, replay, _):
        intake.take([*odd, deliveries[0]])
        assert replay.log.marks() == {ANNA: 1}
        assert intake.counts.num_refused == 5
    reasons = [(tmp_path / "refused" / f"{n}.txt").read_text() for n in range(1, 6)]
    for reason, expected in zip(
        reasons,
        ["id has 0 ", "id has 10,000 ", "64 bits", "number -1 ", "number 9223"],
        strict=True,
    ):
        assert expected in reason


def test_the_newest_refused_ones_are_kept_and_no_more(tmp_path, connect4):
    game, _ = connect4
    folder = tmp_path / "refused"
    with opened(tmp_path, game) as (intake, _, said):
        for first in (0, 150):
            intake.take([Delivery(ANNA, first + n, b"rubbish %d" % n) for n in range(150)])
        assert intake.counts.num_refused == 300
        assert len(said) == 1  # not a line for each
    with opened(tmp_path, game) as (intake, _, _):
        intake.take([Delivery(ANNA, 300, bytes(2 * MAX_KEPT_BYTES))])
    assert len(list(folder.iterdir())) == 2 * MAX_KEPT
    newest = max(folder.glob("*.episode"), key=lambda path: int(path.stem))
    assert newest.stat().st_size == MAX_KEPT_BYTES
    assert "131,072 bytes, the first 65,536 are in" in newest.with_suffix(".txt").read_text()


# ---- cleared, withdrawn, lost


def test_cleared_numbers_are_done(tmp_path, connect4):
    game, deliveries = connect4
    with opened(tmp_path, game) as (intake, _, _):
        intake.take(deliveries[:3])
        intake.clear([(ANNA, number) for number in (3, 5)])
    with opened(tmp_path, game) as (intake, replay, _):
        assert replay.log.marks() == {ANNA: 4}
        intake.take(deliveries[3:6])
        assert ids_of(replay) == ids_in(deliveries, 0, 1, 2, 4)
        assert replay.log.marks() == {ANNA: 6}


def test_a_withdrawn_game_is_not_sampled_any_more_nor_after_a_restart(tmp_path, connect4):
    game, deliveries = connect4
    withdrawn = ids_in(deliveries, 1)
    num_rows = [len(zf.games.Episode.decode(each.episode).events) for each in deliveries[:3]]
    with opened(tmp_path, game) as (intake, replay, _):
        intake.take(deliveries[:3])
        replay.sampler.sample(1000)
        intake.withdraw(withdrawn)
        expected = 1000 * num_rows[1] / sum(num_rows)
        assert abs(intake.counts.num_withdrawn_samples - expected) < 0.2 * expected
        assert replay.buffer.num_excluded == num_rows[1]
        assert drawn_games(replay) == {0, 2}
        num_samples = intake.counts.num_withdrawn_samples
        intake.withdraw(withdrawn)
        assert intake.counts.num_withdrawn_samples == num_samples
    with opened(tmp_path, game) as (_, replay, _):
        assert replay.buffer.num_excluded == num_rows[1]
        assert drawn_games(replay) == {0, 2}


def drawn_games(replay):
    """Which of the logged games samples come from."""
    return set((replay.sampler.sample(1000).rows_B["final"] // 2).tolist())


def test_a_game_that_was_withdrawn_before_it_came_is_done_and_not_logged(tmp_path, connect4):
    game, deliveries = connect4
    with opened(tmp_path, game) as (intake, _, _):
        intake.withdraw(ids_in(deliveries, 1))
    with opened(tmp_path, game) as (intake, replay, _):
        intake.take(deliveries[:3])
        assert ids_of(replay) == ids_in(deliveries, 0, 2)
        assert replay.buffer.num_added == replay.log.position.num_rows
        assert replay.log.marks() == {ANNA: 3}


def test_when_every_game_is_withdrawn_there_is_nothing_to_sample(tmp_path, connect4):
    game, deliveries = connect4
    with opened(tmp_path, game) as (intake, replay, _):
        intake.take(deliveries[:1])
        intake.withdraw(ids_in(deliveries, 0))
        with pytest.raises(zf.errors.Inconsistent, match="nothing to sample"):
            replay.sampler.sample(1)


def test_what_a_sender_has_lost_is_done_and_counted(tmp_path, connect4):
    game, deliveries = connect4
    with opened(tmp_path, game) as (intake, replay, said):
        intake.take([Delivery(ANNA, 0, b""), deliveries[1], Delivery(ANNA, 2, b"")])
        assert replay.log.marks() == {ANNA: 3}
        assert (intake.counts.num_lost, intake.counts.num_refused) == (2, 0)
        assert said == ["episodes: 2 games of anna are lost: its spool lacks them"]
    assert not (tmp_path / "refused").exists()


def test_marks_ahead_of_a_restored_log_are_reported_and_never_lowered(tmp_path, connect4):
    """The bus says 8; the log has 0…2 and 5: four games are lost, and the sender continues at 8."""
    game, deliveries = connect4
    with opened(tmp_path, game) as (intake, replay, said):
        intake.take([*deliveries[:3], deliveries[5]])
        intake.count_lost({ANNA: 8, Sender("new", 9): 0})
        assert intake.counts.num_lost == 4
        assert said == [
            "episodes: 4 games of anna are lost: they were logged once, and this log, restored "
            "from an older copy, lacks them"
        ]
        assert replay.log.marks() == {ANNA: 8}
        intake.take(deliveries[8:])
    with opened(tmp_path, game) as (intake, replay, said):
        intake.count_lost({ANNA: 20})
        assert replay.log.marks() == {ANNA: 20}
        assert (intake.counts.num_lost, said) == (0, [])
