"""Logs for machines."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from gym_anything._util.json_logs import JsonFormatter, write_json_logs
from gym_anything._util.logs import logger
from gym_anything._util.secrets import Redactor

pytestmark = pytest.mark.unit


@pytest.fixture
def lines() -> Iterator[Any]:
    stream = io.StringIO()
    formatter = JsonFormatter(Redactor(["hunter-two"]), lambda replica: "3.7" if replica == 3 else None)
    end = write_json_logs(logging.StreamHandler(stream), formatter)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    end()
    assert logging.getLogger("gym_anything").level == logging.NOTSET


def test_a_line_is_an_object_with_ids_and_extras(lines: Any) -> None:
    logger("pool").info("%s happened", "it", extra={"replica": 3, "generation": 2, "odd": {1: float("nan")}})
    logger("pool").debug("not at this level")
    (line,) = lines()
    assert line["message"] == "it happened" and line["level"] == "info" and line["logger"] == "gym_anything.pool"
    assert (line["replica"], line["episode"], line["generation"], line["odd"]) == (3, "3.7", 2, {"1": "nan"})
    assert line["time"].endswith("Z") and "T" in line["time"]


def test_what_a_replicas_own_thread_says_has_its_number(lines: Any) -> None:
    for name in ("replica 3", "replica 12 senses", "somebody"):
        thread = threading.Thread(target=lambda: logger("world").warning("hello"), name=name)
        thread.start()
        thread.join()
    ids = [(line.get("replica"), line.get("episode")) for line in lines()]
    assert ids == [(3, "3.7"), (12, None), (None, None)]


def test_secrets_are_masked_in_messages_extras_and_errors(lines: Any) -> None:
    try:
        raise ValueError("the password hunter-two is wrong")
    except ValueError:
        logger("pool").exception("tried hunter-two\nin two lines", extra={"given": ["hunter-two"]})
    (line,) = lines()
    assert "hunter" not in json.dumps(line) and line["given"] == ["[secret]"]
    assert line["message"] == "tried [secret]\nin two lines" and "ValueError" in line["error"]
