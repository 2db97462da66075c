"""Real environments as the worlds of a pool: on fake worlds, and on a real desktop."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import (
    ActionError,
    InputDeliveryUnknown,
    InputNotDelivered,
    ReplicaFailed,
    SpecInvalid,
    StateError,
    WorldLost,
)
from gym_anything.pool.data_server import DataServer
from gym_anything.pool.environment_world import EnvironmentChoice, EnvironmentWorld, environment_rules
from gym_anything.pool.guard import HostReading
from gym_anything.pool.pool import Lease, Pool
from gym_anything.pool.replica_health import HealthRules
from gym_anything.pool.task_request import TaskRequest
from gym_anything.pool.tasks import run_task
from gym_anything.specs.loading import checked_env
from gym_anything.testing.fakes.world import CLICKS_FILE, TYPED_FILE, FakeWorld
from tests.conftest import RequireBackend
from tests.e2e.local_world import require_local_world
from tests.unit.episode.fake_envs import MISBEHAVING, env_spec, task_spec

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

T = TypeVar("T")
ROOMY = HostReading(memory_mib=1e9, available_mib=1e9, cores=1e6, load=0.0)
CLICK = {"mouse": {"left_click": [10, 10]}}


def pool_of(choice: EnvironmentChoice, count: int = 1) -> Pool:
    return Pool(choice.make_world, environment_rules(choice, least=count), read=lambda: ROOMY)


def on_a_lease(choice: EnvironmentChoice, work: Callable[[Lease], Awaitable[T]]) -> T:
    async def whole() -> T:
        async with pool_of(choice) as pool:
            lease = await pool.acquire(Deadline.after(30))
            return await work(lease)

    return asyncio.run(whole())


def summaries(folder: Path) -> list[dict[str, Any]]:
    found = sorted(folder.glob("artifacts/episode_*/summary.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in found]


def test_tasks_are_played_on_warm_environments_and_leave_all_their_artifacts(tmp_path: Path) -> None:
    choice = EnvironmentChoice(env_spec(tmp_path, hooks={"post_start": "true"}))
    with DataServer(lambda: pool_of(choice, 2)) as server:
        begun = server.reset([{"task": task_spec(id=f"t{number}@1"), "max_steps": 5} for number in range(3)][:2])
        assert [reply.value["info"]["task_id"] for reply in begun] == ["t0@1", "t1@1"]
        assert all("screen" in reply.value["observation"] for reply in begun)
        played = server.step([(reply.episode, CLICK) for reply in begun])
        assert [reply.value["done"] for reply in played] == [False, False]
        judged = server.evaluate([reply.episode for reply in begun])
        assert all(reply.ok for reply in judged)
        (seen,) = server.perform("observe", [(begun[0].episode, None)])
        assert seen.kind == "observe" and "screen" in seen.value
        (report,) = server.perform("finish", [(begun[0].episode, None)])
        assert report.value["episode_dir"] == begun[0].value["info"]["episode_dir"]
        server.close([reply.episode for reply in begun])
        (third,) = server.reset([task_spec(id="t2@1")])
        assert third.ok and third.value["info"]["warnings"] == begun[0].value["info"]["warnings"]
        (ended,) = server.step([(third.episode, {"actions": [CLICK], "mark_done": True})])
        assert ended.value["done"] and ended.value["info"]["reason"] == "Agent Completed"
    assert sorted(one["task"] for one in summaries(tmp_path)) == ["t0@1", "t1@1", "t2@1"]
    for folder in tmp_path.glob("artifacts/episode_*"):
        assert {"traj.jsonl", "summary.json", "final.png", "frame_00000.png"} <= {
            path.name for path in folder.iterdir()
        }


def test_a_second_reset_on_one_lease_begins_another_episode(tmp_path: Path) -> None:
    async def work(lease: Lease) -> None:
        first = await lease.perform("reset", task_spec(id="a@1"))
        second = await lease.perform("reset", {"task": task_spec(id="b@1"), "seed": 7})
        assert first["info"]["episode_dir"] != second["info"]["episode_dir"]
        report = await lease.perform("finish")
        assert report["episode_dir"] == second["info"]["episode_dir"] and "outcome" in report
        with pytest.raises(StateError):
            await lease.perform("step", CLICK)

    on_a_lease(EnvironmentChoice(env_spec(tmp_path)), work)
    assert sorted(one["task"] for one in summaries(tmp_path)) == ["a@1", "b@1"]


class NumbKeyboard(FakeWorld):
    """Its keyboard takes nothing, and says so, for the first two times."""

    refusals = 2

    def inject_action(self, action: dict[str, Any]) -> Any:
        if "keyboard" in action and self.refusals:
            self.refusals -= 1
            raise InputNotDelivered("nobody reads the keyboard")
        return super().inject_action(action)


def test_a_step_is_sent_again_only_where_none_of_it_was_done(tmp_path: Path) -> None:
    async def work(lease: Lease) -> None:
        begun = await lease.perform("reset", task_spec())
        with pytest.raises(InputDeliveryUnknown, match="1 of this step's inputs"):
            await lease.perform("step", [CLICK, {"keyboard": {"text": "a"}}])
        second = await lease.perform("step", {"keyboard": {"text": "b"}})
        assert second["info"]["step"] == 2, "the first counts, as it may have been done; the tries of one step are one"
        await lease.perform("copy_from", {"guest_path": CLICKS_FILE, "host_path": str(tmp_path / "clicks")})
        await lease.perform("copy_from", {"guest_path": TYPED_FILE, "host_path": str(tmp_path / "typed")})
        trajectory = Path(begun["info"]["episode_dir"]) / "traj.jsonl"
        said = [json.loads(line)["event"] for line in trajectory.read_text().splitlines()]
        assert said[-3:] == ["step", "not_delivered", "step"]

    on_a_lease(EnvironmentChoice(env_spec(tmp_path, runner=f"{__name__}:{NumbKeyboard.__name__}")), work)
    assert (tmp_path / "clicks").read_text() == "left 10 10 1\n"
    assert (tmp_path / "typed").read_text() == "b"


def test_a_lost_world_is_an_error_that_names_its_episode_and_the_replica_recovers(tmp_path: Path) -> None:
    crashes = {"runner": MISBEHAVING.format("CrashingWorld"), "runner_options": {"time_control": False}}
    choice = EnvironmentChoice(env_spec(tmp_path, **crashes), fast_io=True)

    async def whole() -> None:
        async with pool_of(choice) as pool:
            lease = await pool.acquire(Deadline.after(30))
            begun = await lease.perform("reset", task_spec())
            for _ in range(2):
                await lease.perform("step", CLICK)
            with pytest.raises(Exception, match=r"crashed|not on this task") as caught:
                await lease.perform("step", CLICK)
            lost = caught.value if isinstance(caught.value, WorldLost) else caught.value.__cause__
            assert isinstance(lost, WorldLost)
            assert lost.detail["episode_dir"] == begun["info"]["episode_dir"]
            assert lost.detail["outcome"]["status"] == "broken"
            lease.release()
            again = await pool.acquire(Deadline.after(30))
            assert (await again.perform("reset", task_spec()))["observation"]

    asyncio.run(whole())


@pytest.mark.parametrize(
    ("request_", "beyond_s"),
    [
        ({"task": {"init": {"timeout_sec": 50}, "hooks": {"pre_task": "true", "pre_task_timeout": 7}}}, 50 + 7),
        ({"task": {"hooks": {"pre_task_timeout": 7}}, "timeout_sec": 90}, 90 + 7),
        ({"task": {"hooks": {"pre_task_timeout": 7}}, "timeout_sec": 90, "verifier": {"timeout_sec": 1600}}, 1097),
        (
            {"task": {"hooks": {"pre_task_timeout": 7, "post_task": "true"}, "init": {"init_script": "true"}}},
            3607 + 600,
        ),
        ({"task": None, "timeout_sec": 90}, 90),
        ({"task": None}, None),
    ],
)
def test_a_task_may_take_as_long_as_it_says_and_its_set_up_and_judge(
    tmp_path: Path, request_: dict[str, Any], beyond_s: float | None
) -> None:
    task = request_["task"] and task_spec(**request_["task"])
    rules = environment_rules(EnvironmentChoice(env_spec(tmp_path, hooks={"reset": "true"})), least=1)
    assert rules.limit_of is not None
    limit_s = rules.limit_of({**request_, "task": task})
    assert limit_s == (None if beyond_s is None else 600 + 1800 + 600 + beyond_s)


def test_each_task_is_ended_at_a_limit_of_its_own_and_at_that_of_the_pool_where_that_is_shorter(tmp_path: Path) -> None:
    choice = EnvironmentChoice(env_spec(tmp_path), fast_io=True)
    known = environment_rules(choice, least=2)
    assert known.limit_of is not None
    most_s = known.limit_of(task_spec(init={"timeout_sec": 1}))
    assert most_s is not None

    def limit_of(task: Any) -> float | None:
        assert known.limit_of is not None
        limit_s = known.limit_of(task)
        return limit_s and max(0.05, limit_s - most_s)  # what is beyond the shorter one's

    tasks = [task_spec(id="short@1", init={"timeout_sec": 1}), task_spec(id="long@1", init={"timeout_sec": 500})]

    async def ended(**changes: Any) -> list[str]:
        rules = dataclasses.replace(known, limit_of=limit_of, **changes)
        async with Pool(choice.make_world, rules, read=lambda: ROOMY) as pool:

            async def is_ended(lease: Lease) -> None:
                while not lease.ended:
                    pool._changed.clear()
                    await pool._changed.wait()
                await lease.perform("observe")

            leases = [await pool.acquire_for(task, Deadline.after(30)) for task in tasks]
            for lease in leases[: 2 if changes else 1]:
                with pytest.raises(ReplicaFailed, match="over its time limit"):
                    await is_ended(lease)
            own = await run_task(pool, is_ended, Deadline.after(30), task_limit_s=0.05)
            assert [attempt.blame for attempt in own.attempts] == ["policy"], "an acquisition may bring its own"
            return [lease.ended for lease in leases]

    over = "it is over its time limit"
    assert asyncio.run(ended()) == [over, ""]
    assert asyncio.run(ended(task_limit_s=0.1)) == [over, over]


def test_bad_input_is_refused_and_the_replica_stays_good(tmp_path: Path) -> None:
    async def work(lease: Lease) -> None:
        for wrong in ({"tusk": "x"}, 7, {"task": "no_such_task"}, {"seed": "many"}):
            with pytest.raises((SpecInvalid, LookupError)):
                await lease.perform("reset", wrong)
        await lease.perform("reset", None)
        with pytest.raises(ActionError, match="markdone"):
            await lease.perform("step", {"actions": [], "markdone": True})
        with pytest.raises(ActionError):
            await lease.perform("step", {"mouse": {"left_click": [9999, 0]}})
        with pytest.raises(StateError, match="no 'dance'"):
            await lease.perform("dance")
        assert (await lease.perform("step", CLICK))["done"] is False

    on_a_lease(EnvironmentChoice(env_spec(tmp_path)), work)


def test_a_start_that_never_ends_is_given_up_when_the_pool_stops(tmp_path: Path) -> None:
    choice = EnvironmentChoice(env_spec(tmp_path, runner_options={"boot_s": 60.0}))

    async def whole() -> None:
        async with pool_of(choice, 2):
            await asyncio.wait_for(asyncio.to_thread(threading.Event().wait, 0.1), 5)

    asyncio.run(asyncio.wait_for(whole(), 20))


def test_a_world_tells_of_its_death_and_not_while_it_is_changed(tmp_path: Path) -> None:
    world = EnvironmentWorld(EnvironmentChoice(env_spec(tmp_path)))
    assert world.probe(deep=True).memory_mib is None
    world.create()
    try:
        world.probe(deep=False)
        env = world._env
        assert env is not None
        env.runner.lose()  # type: ignore[attr-defined]
        with pytest.raises(WorldLost):
            world.probe(deep=False)
    finally:
        world.destroy()
    world.destroy()


def test_a_choice_is_plain_data(tmp_path: Path) -> None:
    choice = EnvironmentChoice(env_spec(tmp_path), fast_io=True, cache_level="post_start")
    again = EnvironmentChoice.from_dict(json.loads(json.dumps(choice.to_dict())))
    assert again == choice and again.kind == choice.kind
    assert EnvironmentChoice(env_spec(tmp_path)).kind != choice.kind
    assert choice.with_runner().runner == env_spec(tmp_path)["runner"]
    assert TaskRequest.read({"id": "x@1"}).task == {"id": "x@1"}
    spec, _ = checked_env(env_spec(tmp_path))
    assert EnvironmentChoice.from_dict(EnvironmentChoice(spec).to_dict()).make_env().env_spec == spec


def test_a_desktop_that_hangs_is_found_and_its_replica_recovers(
    tmp_path: Path, require_backend: RequireBackend
) -> None:
    """Its guest's way in answers all the time; the look that takes so long is what makes the pool ask for more."""
    require_local_world(require_backend)
    spec = {
        "id": "hung-desktop@1",
        "runner": "local",
        "observation": [{"type": "rgb_screen", "resolution": [640, 480]}],
        "action": [{"type": "mouse"}],
        "recording": {"enable": False, "output_dir": str(tmp_path / "artifacts")},
    }
    choice, made = EnvironmentChoice(spec), list[EnvironmentWorld]()
    rules = environment_rules(choice, least=1)
    health = HealthRules(probe_every_s=0.3, probe_limit_s=1.0)
    rules = replace(rules, replica=replace(rules.replica, health=health))

    def make() -> EnvironmentWorld:
        made.append(EnvironmentWorld(choice))
        return made[-1]

    async def whole() -> None:
        async with Pool(make, rules, read=lambda: ROOMY) as pool:
            lease = await pool.acquire(Deadline.after(30))
            await lease.perform("reset", task_spec())
            env = made[0]._env
            assert env is not None
            await asyncio.to_thread(env.runner.exec, "pkill -STOP ga-desktop")
            with pytest.raises(ReplicaFailed, match="hangs: "):
                await asyncio.wait_for(lease.perform("observe"), 15)
            lease.release()
            again = await pool.acquire(Deadline.after(30))
            assert "screen" in (await again.perform("reset", task_spec()))["observation"]

    asyncio.run(whole())
    assert len(made) == 2


def test_a_task_of_the_benchmark_is_played_on_a_warm_desktop(tmp_path: Path, require_backend: RequireBackend) -> None:
    require_local_world(require_backend)
    spec = {
        "id": "warm-desktop@1",
        "runner": "local",
        "observation": [{"type": "rgb_screen", "resolution": [640, 480]}],
        "action": [{"type": "mouse"}, {"type": "keyboard"}],
        "recording": {"enable": False, "output_dir": str(tmp_path / "artifacts")},
        "hooks": {"post_start": "touch /home/ga/made_before_the_task"},
    }
    hook = "test -e /home/ga/made_before_the_task && echo set-up > /home/ga/task.txt && ! test -e /home/ga/dirt"
    task = task_spec(hooks={"pre_task": hook})
    with DataServer(lambda: pool_of(EnvironmentChoice(spec, fast_io=True))) as server:
        for _ in range(2):  # the second on the recycled world
            (begun,) = server.reset([task])
            assert begun.ok, begun.error
            assert not [text for text in begun.value["info"]["warnings"] if "pre_task" in text]
            assert begun.value["observation"]["screen"]["array"].shape == (480, 640, 3)
            (played,) = server.step([(begun.episode, {"mouse": {"left_click": [100, 100]}})])
            assert played.ok, played.error
            server.close([begun.episode])
    assert len(summaries(tmp_path)) == 2
