"""The episode log: each episode once, in order, for as long as it is needed."""

from contextlib import closing

import pytest
from played_games import entries

import zerofleet as zf
from zerofleet.bus import Sender
from zerofleet.config import ReplayConfig
from zerofleet.replay import EpisodeLog, LogInUse, LogPosition
from zerofleet.replay.recovery import START, log_without_episodes
from zerofleet.replay.segment import CRC, FILE_HEADER, NOTE_MAGIC, crc32

ROWS = 10
"""Rows that each episode declares."""


def append(log, episodes):
    return log.append(entries(episodes, [ROWS] * len(episodes)))


def sequences(episodes):
    return [zf.games.Episode.decode(data).sequence for data in episodes]


def segments(folder):
    return sorted(folder.glob("segment-*.zfl"))


@pytest.fixture
def tictactoe(play):
    return play("gomoku", 40, options=(("size", 3), ("line", 3)))


def small_files(**settings):
    return ReplayConfig(segment_bytes=1024, min_rows=1, **settings)


def test_what_was_appended_is_there_in_order_when_the_log_is_opened_again(tmp_path, tictactoe):
    game, episodes = tictactoe
    with closing(EpisodeLog(tmp_path, game, small_files())) as log:
        for start in range(0, 40, 5):
            assert append(log, episodes[start : start + 5]) == [True] * 5
        position = log.position
        assert (position.num_episodes, position.num_rows) == (40, 400)
    assert len(segments(tmp_path)) > 3
    with closing(EpisodeLog(tmp_path, game, small_files())) as log:
        assert (log.report.torn_bytes, log.report.damage) == (0, ())
        assert log.position == position
        assert list(log.episodes()) == [episode.encode() for episode in episodes]


def test_an_id_counts_once(tmp_path, tictactoe):
    game, episodes = tictactoe
    first, second = episodes[:2]
    with closing(EpisodeLog(tmp_path, game, ReplayConfig())) as log:
        assert append(log, [first, first, second]) == [True, False, True]
        assert append(log, [second]) == [False]
    with closing(EpisodeLog(tmp_path, game, ReplayConfig())) as log:
        assert append(log, [first, second]) == [False, False]
        assert log.position.num_episodes == 2
        assert len(list(log.episodes())) == 2


def test_the_same_number_of_another_worker_is_another_episode(tmp_path, play):
    options = (("size", 3), ("line", 3))
    game, ours = play("gomoku", 40, options=options)
    _, theirs = play("gomoku", 40, options=options, worker=2**64 - 1)
    assert {each.sequence for each in ours} & {each.sequence for each in theirs}
    with closing(EpisodeLog(tmp_path, game, ReplayConfig())) as log:
        assert append(log, ours + theirs) == [True] * 80


def test_a_file_is_full_at_its_size_and_whole_old_files_are_removed(tmp_path, tictactoe):
    game, episodes = tictactoe
    config = small_files(max_log_bytes=3000, capacity_rows=1)
    with closing(EpisodeLog(tmp_path, game, config)) as log:
        for episode in episodes:
            append(log, [episode])
        files = segments(tmp_path)
        sizes = [path.stat().st_size for path in files]
        assert max(sizes) <= 1024
        assert log.num_bytes == sum(sizes)
        num_removed = log.trim(log.position)
        assert segments(tmp_path) == files[num_removed:]
        assert sum(sizes[num_removed:]) <= 3000 < sum(sizes[num_removed - 1 :])
        assert log.position.num_episodes == 40


def test_what_the_buffer_needs_stays_even_above_the_size(tmp_path, tictactoe):
    game, episodes = tictactoe
    config = small_files(max_log_bytes=1024, capacity_rows=20 * ROWS)
    with closing(EpisodeLog(tmp_path, game, config)) as log:
        for episode in episodes[:35]:
            append(log, [episode])
        checkpoint = log.position
        for episode in episodes[35:]:
            append(log, [episode])
        assert log.trim(checkpoint) > 0
        left = sequences(log.episodes())
        at_checkpoint = sequences(episode.encode() for episode in episodes[15:35])
        assert set(at_checkpoint) <= set(left)
        num_before, kept = log.newest(25 * ROWS)
        assert num_before == 15 * ROWS
        assert len(list(kept)) == 25


def test_an_id_still_counts_once_when_its_file_is_gone(tmp_path, tictactoe):
    game, episodes = tictactoe
    config = small_files(max_log_bytes=1024, capacity_rows=1)
    with closing(EpisodeLog(tmp_path, game, config)) as log:
        for episode in episodes:
            append(log, [episode])
        log.trim(log.position)
        assert len(list(log.episodes())) < 10
    with closing(EpisodeLog(tmp_path, game, config)) as log:
        assert log.report.damage == ()
        assert log.position.num_episodes == 40
        assert append(log, episodes) == [False] * 40


def test_the_newest_are_the_fewest_that_give_so_many_rows(tmp_path, tictactoe):
    game, episodes = tictactoe
    lengths = [index % 4 for index in range(40)]
    with closing(EpisodeLog(tmp_path, game, small_files())) as log:
        for episode, length in zip(episodes, lengths, strict=True):
            log.append(entries([episode], [length]))
        for wanted in (1, 5, 30, sum(lengths), 1000):
            num_before, newest = log.newest(wanted)
            kept = [entry.data for entry in newest]
            first = 40 - len(kept)
            assert kept == [episode.encode() for episode in episodes[first:]]
            assert num_before == sum(lengths[:first])
            assert sum(lengths[first:]) == min(wanted, sum(lengths)) or (
                sum(lengths[first:]) >= wanted > sum(lengths[first + 1 :])
            )


def test_a_log_truncated_to_a_checkpoint_resumes_as_if_nothing_came_after(tmp_path, tictactoe):
    game, episodes = tictactoe
    config = small_files()
    with closing(EpisodeLog(tmp_path, game, config)) as log:
        for episode in episodes[:13]:
            append(log, [episode])
        checkpoint = log.position
        for episode in episodes[13:]:
            append(log, [episode])
    with closing(EpisodeLog(tmp_path, game, config, until=checkpoint)) as log:
        assert log.position == checkpoint
        assert list(log.episodes()) == [episode.encode() for episode in episodes[:13]]
        assert append(log, episodes[12:15]) == [False, True, True]


def test_a_log_truncated_to_its_start_is_empty(tmp_path, tictactoe):
    game, episodes = tictactoe
    with closing(EpisodeLog(tmp_path, game, small_files())) as log:
        append(log, episodes)
    with closing(EpisodeLog(tmp_path, game, small_files(), until=START)) as log:
        assert list(log.episodes()) == []
        assert append(log, episodes) == [True] * 40


def test_a_place_that_is_not_in_the_log_is_refused_and_nothing_is_removed(tmp_path, tictactoe):
    game, episodes = tictactoe
    with closing(EpisodeLog(tmp_path, game, small_files())) as log:
        append(log, episodes[:2])
        within = log.position
        append(log, episodes[2:20])
        end = log.position
    before = [path.read_bytes() for path in segments(tmp_path)]
    elsewhere = [
        LogPosition(within.segment, within.offset - 1, within.num_episodes, within.num_rows),
        LogPosition(end.segment, end.offset + 1, end.num_episodes, end.num_rows),
        LogPosition(end.segment + 1, end.offset, end.num_episodes, end.num_rows),
    ]
    for until in elsewhere:
        with pytest.raises(zf.errors.Inconsistent, match="cannot be truncated to"):
            EpisodeLog(tmp_path, game, small_files(), until)
    assert [path.read_bytes() for path in segments(tmp_path)] == before


def test_another_game_or_other_options_are_refused_by_name(tmp_path, play, tictactoe):
    game, episodes = tictactoe
    connect4, _ = play("connect4", 1)
    larger = zf.games.get("gomoku", size=4, line=3)
    with closing(EpisodeLog(tmp_path, game, ReplayConfig())) as log:
        append(log, episodes[:1])
    for other in (connect4, larger):
        with pytest.raises(zf.errors.Inconsistent, match=r"segment-00000001\.zfl holds .* size=3"):
            EpisodeLog(tmp_path, other, ReplayConfig())


def test_a_file_of_another_format_is_refused_by_name(tmp_path, tictactoe):
    game, _ = tictactoe
    EpisodeLog(tmp_path, game, ReplayConfig()).close()
    (path,) = segments(tmp_path)
    text = path.read_bytes()[FILE_HEADER.size + CRC.size :]
    head = FILE_HEADER.pack(b"ZFL", 1, len(text))
    path.write_bytes(head + CRC.pack(crc32(text, crc32(head))) + text)
    with pytest.raises(
        zf.errors.Unsupported, match=r"segment-00000001\.zfl: .* format 1; .* reads 3"
    ):
        EpisodeLog(tmp_path, game, ReplayConfig())


def test_a_log_that_is_open_is_refused_until_it_is_closed(tmp_path, tictactoe):
    game, _ = tictactoe
    log = EpisodeLog(tmp_path, game, ReplayConfig())
    with pytest.raises(LogInUse, match="in use by another process"):
        EpisodeLog(tmp_path, game, ReplayConfig())
    log.close()
    EpisodeLog(tmp_path, game, ReplayConfig()).close()


# ---- spool numbers and marks

ANNA = Sender("anna", 0)


def numbered(episodes, numbers, sender="anna"):
    """The episodes as they came under these spool numbers."""
    plain = entries(episodes, [ROWS] * len(episodes))
    return [
        each._replace(number=number, sender=sender)
        for each, number in zip(plain, numbers, strict=True)
    ]


def test_a_mark_stands_below_the_first_number_that_is_missing(tmp_path, tictactoe):
    game, episodes = tictactoe
    with closing(EpisodeLog(tmp_path, game, small_files())) as log:
        marks = []
        for number, episode in zip((2, 0, 4, 1, 3, 9), episodes, strict=False):
            log.append(numbered([episode], [number]), sync=True)
            marks.append(log.marks()[ANNA])
        assert marks == [0, 1, 1, 3, 5, 5]
        log.append([], [(ANNA, number) for number in (5, 6, 8)], sync=True)
        assert log.marks() == {ANNA: 7}
    with closing(EpisodeLog(tmp_path, game, small_files())) as log:
        assert log.marks() == {ANNA: 7}
        assert [log.is_done(ANNA, number) for number in range(11)] == [
            number not in (7, 10) for number in range(11)
        ]


def test_a_mark_rises_when_its_games_are_synced_and_not_before(tmp_path, tictactoe):
    game, episodes = tictactoe
    config = ReplayConfig(min_rows=1, fsync_interval_s=3600)
    with closing(EpisodeLog(tmp_path, game, config)) as log:
        log.append(numbered(episodes[:2], [0, 1]))
        assert log.marks([ANNA]) == {ANNA: 0}
        log.sync()
        assert log.marks([ANNA]) == {ANNA: 2}
        log.append(numbered(episodes[2:3], [2]))
        assert log.marks() == {ANNA: 2}


def test_numbers_senders_and_versions_are_known_when_their_files_are_gone(tmp_path, tictactoe):
    game, episodes = tictactoe
    bob = Sender("bob", 5)
    config = small_files(max_log_bytes=1024, capacity_rows=1)
    with closing(EpisodeLog(tmp_path, game, config)) as log:
        first, *others = numbered(episodes, range(40))
        log.append([first._replace(version=300)], [(bob, 0), (bob, 3)])
        log.withdraw([(9, 9)])
        for entry in others:
            log.append([entry])
        assert log.trim(log.position) > 3
    with closing(EpisodeLog(tmp_path, game, config)) as log:
        assert log.marks() == {ANNA: 40, bob: 1}
        assert log.is_done(bob, 3)
        assert log.is_withdrawn((9, 9))
        assert log.worker_of(0) == "anna"
        assert log.newest_version == 300


def test_truncated_at_any_byte_a_mark_never_covers_a_game_that_is_gone(tmp_path, tictactoe):
    game, episodes = tictactoe
    with closing(EpisodeLog(tmp_path, game, ReplayConfig())) as log:
        log.append(numbered(episodes[:1], [0]), [(ANNA, 1)])
        log.append(numbered(episodes[1:3], [2, 3]))
    (path,) = segments(tmp_path)
    data = path.read_bytes()
    start = data.index(NOTE_MAGIC)
    for size in range(start, len(data), 7):
        path.write_bytes(data[:size])
        with closing(EpisodeLog(tmp_path, game, ReplayConfig())) as log:
            num_episodes = len(list(log.episodes()))
            done = {0: 0, 1: 2, 2: 3, 3: 4}[num_episodes]
            assert log.marks() in ({ANNA: done}, {} if num_episodes == 0 else None)


def test_damage_to_a_note_makes_its_worker_resend_and_loses_no_game(tmp_path, tictactoe):
    game, episodes = tictactoe
    with closing(EpisodeLog(tmp_path, game, ReplayConfig())) as log:
        log.append(numbered(episodes[:3], [0, 1, 2]))
    (path,) = segments(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"anna"', b'"Anna"', 1))
    with closing(EpisodeLog(tmp_path, game, ReplayConfig())) as log:
        (damage,) = log.report.damage
        assert "up to a whole record at byte" in damage
        assert len(list(log.episodes())) == 3
        assert log.marks() == {}
        assert log.append(numbered(episodes[:3], [0, 1, 2]), sync=True) == [False] * 3
        assert log.marks() == {ANNA: 3}


def test_a_log_without_episodes_keeps_all_that_the_log_has_counted(tmp_path, tictactoe):
    game, episodes = tictactoe
    assert log_without_episodes(tmp_path) is None
    with closing(EpisodeLog(tmp_path / "log", game, small_files())) as log:
        for number, entry in enumerate(numbered(episodes[:30], range(30))):
            log.append([entry], [(Sender("bob", 5), number)])
        position = log.position
    before = {path: path.read_bytes() for path in segments(tmp_path / "log")}
    name, data = log_without_episodes(tmp_path / "log")
    assert {path: path.read_bytes() for path in segments(tmp_path / "log")} == before
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / name).write_bytes(data)
    with closing(EpisodeLog(tmp_path / "copy", game, small_files())) as log:
        assert log.report.damage == ()
        assert (log.position.num_episodes, log.position.num_rows) == (30, position.num_rows)
        assert log.marks() == {ANNA: 30, Sender("bob", 5): 30}
        assert append(log, episodes) == [False] * 30 + [True] * 10
