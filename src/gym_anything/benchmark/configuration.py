"""Whether a result was played under the configuration that is asked for now: what ``--skip-existing`` counts."""

from __future__ import annotations

from gym_anything.benchmark.episode_record import EpisodeRecord
from gym_anything.benchmark.episode_request import EpisodeRequest, masked
from gym_anything.benchmark.plain_json import plain_json
from gym_anything.runtime.runners.select import RUNNER_VARIABLE
from gym_anything.verification.judge import MODES, VERIFIER_MODE

_FROM_THE_BEGINNING = ("agent", "seed", "max_steps", "time_limit_s", "step_deadline_s")
_COMPARED_WHERE_RECORDED = ("fast_io", "pacing", "use_cache", "cache_level", "use_savevm", "overrides")
"""A record of a version that did not write one of these counts without it."""


def has_same_configuration(record: EpisodeRecord, request: EpisodeRequest) -> bool:
    """Tell whether a record's agent, limits, world, pacing, caching, overrides and judge are those of a request.

    The runner and the judge's mode also follow ``GYM_ANYTHING_RUNNER`` and ``GYM_ANYTHING_VERIFIER_MODE`` as they are
    set now. Where nobody names a runner, a record counts for which nobody did, whatever world was then chosen.
    """
    then, now = record.request, plain_json(request.public())
    keys = (*_FROM_THE_BEGINNING, *(key for key in _COMPARED_WHERE_RECORDED if key in then))
    return (
        all(then.get(key) == now[key] for key in keys)
        and plain_json(masked(then.get("agent_args") or {})) == now["agent_args"]
        and _same_runner(record, request)
        and _same_judge(record)
    )


def _same_runner(record: EpisodeRecord, request: EpisodeRequest) -> bool:
    wanted = request.runner or RUNNER_VARIABLE.get()
    if wanted:
        return wanted in (record.runner, record.request.get("runner"))
    return record.request.get("runner") is None


def _same_judge(record: EpisodeRecord) -> bool:
    verdict, wanted = record.verifier or {}, VERIFIER_MODE.get()
    if wanted in MODES and "mode" in verdict:
        return bool(verdict["mode"] == wanted)
    return verdict.get("mode_source") != "environment"
