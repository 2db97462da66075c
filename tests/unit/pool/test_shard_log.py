"""Records of a shard on their way to the pool's process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from gym_anything._util.logs import logger
from gym_anything.pool.shards import messages as say
from gym_anything.pool.shards import shard_log
from gym_anything.pool.shards.shard_log import ShardLog, log_here, package_level

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def level_as_before() -> Iterator[None]:
    package = logging.getLogger("gym_anything")
    before = package.level
    yield
    package.setLevel(before)


async def told(work: Any, level: int = logging.INFO) -> list[say.Logged]:
    said: list[Any] = []
    log = ShardLog(said.append, {3: "3.7"}.get)
    log.begin(level)
    try:
        work()
    finally:
        log.end()
    return [say.parse_messages(f"[{one.text()}]".encode())[0] for one in said]  # type: ignore[misc]


def test_a_record_says_its_replica_and_its_task() -> None:
    def work() -> None:
        logger("world").warning("%s happened", "it", extra={"replica": 3, "odd": {(1, 2): float("inf")}})
        logger("world").warning("of nobody")

    first, second = asyncio.run(told(work))
    assert (first.logger, first.level, first.words) == ("gym_anything.world", logging.WARNING, "it happened")
    assert first.extras == {"replica": 3, "episode": "3.7", "odd": {"(1, 2)": "inf"}} and first.error is None
    assert second.extras == {}


def test_of_a_flood_it_is_said_how_much_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_log, "MOST_WAITING", 3)

    def work() -> None:
        for number in range(10):
            logger("world").info("%d", number)

    said = asyncio.run(told(work))
    assert [one.words for one in said[:3]] == ["0", "1", "2"]
    assert len(said) == 4 and said[3].words.startswith("7 records were left out")


def test_a_record_that_cannot_be_written_breaks_nobodys_work(capsys: pytest.CaptureFixture[str]) -> None:
    async def whole() -> list[Any]:
        said: list[Any] = []
        log = ShardLog(said.append, {3: "3.7"}.get)
        log.emit(logging.makeLogRecord({"msg": "%d", "args": ("no number",)}))
        log.end()
        return said

    assert asyncio.run(whole()) == []
    assert "no number" in capsys.readouterr().err


def test_what_nobody_takes_here_is_not_logged_here(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "gym_anything")
    assert package_level() == logging.WARNING
    log_here(say.Logged("gym_anything.world", logging.INFO, 1.5, "hello", {}, None))
    log_here(say.Logged("gym_anything.world", logging.ERROR, 1.5, "100 %s", {"replica": 3}, "Traceback …"))
    (record,) = caplog.records
    assert (record.getMessage(), record.created, record.msecs, record.exc_text) == ("100 %s", 1.5, 500.0, "Traceback …")
    assert vars(record)["replica"] == 3
