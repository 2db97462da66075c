"""What the process of a started pool does: makes the pool, tells of it, serves it, ends it."""

from __future__ import annotations

import asyncio
import logging
import logging.handlers
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_anything._util import env_vars
from gym_anything._util.json_logs import JsonFormatter, write_json_logs
from gym_anything._util.secrets import Redactor
from gym_anything.errors import MissingExtra
from gym_anything.pool.metrics import PoolMetrics
from gym_anything.pool.metrics_server import MetricsServer, json_lines
from gym_anything.pool.observer import Observers, PoolObserver
from gym_anything.pool.pool import Pool
from gym_anything.pool.pool_log import PoolLog
from gym_anything.pool.started.control import ControlServer
from gym_anything.pool.started.folder import PoolFolder
from gym_anything.pool.started.report import PoolReport
from gym_anything.pool.traces import PoolTraces
from gym_anything.pool.transition_stream import TransitionStream

_LOG_BYTES = 16 << 20
MakePool = Callable[[PoolObserver], Pool]


@dataclass(frozen=True, slots=True)
class ServePlan:
    """How a pool is served.

    Attributes:
        name: of the pool. environment: of what it is, in words.
        facts: more for its manifest; JSON values, never secrets.
        log: JSON lines; turned over twice at 16 MiB.
        metrics_port: on loopback; 0: any free one; None: no metrics.
        secrets: values that no log line may show.
    """

    name: str
    environment: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    log: Path | None = None
    metrics_port: int | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)


def serve_pool(
    plan: ServePlan, make_pool: MakePool, on_serving: Callable[[PoolFolder], object] = lambda _: None
) -> None:
    """Serve a pool until somebody stops it, or drains it and it is empty. Blocks; call it in the main thread.

    Args:
        on_serving: called once the pool can be found and asked; its replicas come up by then.
    Raises: StateError when the name is taken; MissingExtra, HostError for metrics that cannot be served.
    """
    folder = PoolFolder.claim(plan.name, {"environment": plan.environment, **plan.facts})
    try:
        asyncio.run(_serve(plan, make_pool, folder, on_serving))
    finally:
        folder.remove()


async def _serve(
    plan: ServePlan, make_pool: MakePool, folder: PoolFolder, on_serving: Callable[[PoolFolder], object]
) -> None:
    stream, log = TransitionStream(), PoolLog()
    observers: list[PoolObserver] = [stream, log]
    async with AsyncExitStack() as stack:
        if plan.log is not None:
            secrets = (*plan.secrets, *_own_secrets(), folder.token, folder.metrics_token)
            formatter = JsonFormatter(Redactor(secrets), log.episode_of)
            stack.callback(write_json_logs(_log_file(plan.log), formatter))
        url = None
        if plan.metrics_port is not None:
            metrics = PoolMetrics(plan.name, plan.environment)
            observers.append(metrics)
            pages = {
                "/metrics": ("text/plain; version=0.0.4; charset=utf-8", metrics.render),
                "/transitions": (
                    "application/jsonl; charset=utf-8",
                    lambda: json_lines([one.to_dict() for one in stream.since(0)]),
                ),
            }
            server = stack.enter_context(MetricsServer(pages, folder.metrics_token, plan.metrics_port))
            url = f"http://127.0.0.1:{server.port}/metrics"
        observers += _traces()
        pool = make_pool(Observers(observers))
        stack.push_async_callback(pool.stop)
        report = PoolReport(pool, stream, {"name": plan.name, "environment": plan.environment, "metrics_url": url})
        control = ControlServer(pool, folder.token, report.answers())
        _end_on_signals(report)
        await control.listen(folder.socket)
        stack.push_async_callback(control.close)
        folder.publish(metrics_url=url, metrics_token_file=str(folder.metrics_token_file), log=str(plan.log or ""))
        pool.start()
        on_serving(folder)
        await report.ended()


def _traces() -> list[PoolObserver]:
    try:
        return [PoolTraces()]
    except MissingExtra:
        return []  # nobody asked for them: they are there when the extra is


def _own_secrets() -> list[str]:
    values = [os.environ.get(one.name, "") for one in env_vars.declared() if one.secret]
    return [value for value in values if value]


def _log_file(path: Path) -> logging.Handler:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = logging.handlers.RotatingFileHandler(
        path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
    )
    path.touch(mode=0o600)
    return handler


def _end_on_signals(report: PoolReport) -> None:
    """SIGTERM and SIGINT stop the pool; the second one ends the process at once, and the supervisor what it had."""
    loop = asyncio.get_running_loop()
    began: list[float] = []

    def on_signal() -> None:
        if began:
            os._exit(1)
        began.append(time.monotonic())
        report.stop("a signal came")

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal it was started from may go
