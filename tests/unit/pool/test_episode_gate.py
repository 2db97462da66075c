"""Room for a benchmark's episodes: by memory, learnt from those that ended."""

from __future__ import annotations

import pytest

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest
from gym_anything.episode.outcome import Outcome
from gym_anything.pool.episode_gate import MemoryGate
from gym_anything.pool.guard import GuardRules, HostReading

pytestmark = pytest.mark.unit
ASKED = EpisodeRequest(env_dir="/e/notes", env="notes", task="a")
OTHER = EpisodeRequest(env_dir="/e/other", env="other", task="a")


def gate(available_mib: float) -> MemoryGate:
    reading = HostReading(memory_mib=10_000, available_mib=available_mib, cores=2, load=99.0, waiting=1.0)
    return MemoryGate(GuardRules(unknown_mib=2000), read=lambda: reading)


def record(mib: float | None) -> EpisodeRecord:
    return EpisodeRecord(ASKED.public(), Outcome.passed(100), memory={} if mib is None else {"whole_mib": mib})


def test_memory_is_set_aside_until_the_world_is_up() -> None:
    room = gate(5500)  # 1,000 stay free, so two unknown ones fit
    assert [bool(room.ask(who, ASKED)) for who in (0, 1, 2)] == [False, False, True]
    assert "set aside" in room.ask(2, ASKED)
    room.is_up(0)
    assert room.ask(2, ASKED) == ""


def test_what_ended_teaches_what_the_next_takes_and_only_of_its_environment() -> None:
    room = gate(5500)
    assert room.ask(0, ASKED) == ""
    room.is_over(0, record(300))
    assert [room.ask(who, ASKED) for who in range(1, 16)] == [""] * 15
    assert room.ask(16, ASKED)
    for who in range(1, 16):
        room.is_over(who, None)
    assert [bool(room.ask(who, OTHER)) for who in (20, 21, 22)] == [False, False, True]


def test_an_episode_of_unknown_memory_teaches_nothing() -> None:
    room = gate(5500)
    assert room.ask(0, ASKED) == ""
    room.is_over(0, record(None))
    assert [bool(room.ask(who, ASKED)) for who in (1, 2, 3)] == [False, False, True]


def test_a_busy_processor_holds_nothing_up() -> None:
    assert [gate(9000).ask(0, ASKED)] == [""]
