"""Agents that do one odd thing each, named for it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gym_anything.agents.base import BaseAgent
from gym_anything.errors import ActionError

FOREVER = threading.Event()
TYPE_HELLO = [{"tool_id": "type", "actions": [{"keyboard": {"text": "hello"}}], "metadata": {"thought": "type it"}}]


class Typist(BaseAgent):
    """Types hello and stops: what the tasks want."""

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        self.done = True
        return TYPE_HELLO

    def finish(self, *args: Any, **kwargs: Any) -> None:
        (Path(self.save_path) / "notes.txt").write_text(str(kwargs["info"]["reason"]))


class HangsAfterTyping(BaseAgent):
    """Types hello, then its second step never returns."""

    typed = False

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        if self.typed:
            FOREVER.wait()
        self.typed = True
        return TYPE_HELLO


class HangsInInit(BaseAgent):
    def init(self, *args: Any, **kwargs: Any) -> None:
        FOREVER.wait()


class HangsWithTheGil(BaseAgent):
    """Nothing in its process can run any more, so only the outside can end it."""

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        os.kill(os.getpid(), signal.SIGSTOP)
        return []


class Crashes(BaseAgent):
    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        raise ZeroDivisionError("the agent's own bug")


class CrashesInFinish(Typist):
    def finish(self, *args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("the agent's own bug")


class AnswersNonsense(BaseAgent):
    def step(self, obs: Any, action_outputs: Any) -> Any:
        return "click the button"


class ExitsPython(BaseAgent):
    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        sys.exit(3)


class EndsItsProcess(BaseAgent):
    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        os._exit(3)


class IsKilled(BaseAgent):
    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []


class LeavesThingsBehind(Typist):
    """Starts a program in a session of its own and a thread that is no daemon."""

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        Path(self.agent_args["pid_file"]).write_text(str(child.pid))
        threading.Thread(target=FOREVER.wait).start()
        return super().step(obs, action_outputs)


class DoesNothing(BaseAgent):
    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        return []


class CorrectsItself(BaseAgent):
    """Clicks off the screen, reads why that was refused, then types hello."""

    tries = 0

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        self.tries += 1
        if self.tries == 1:
            return [{"tool_id": "off", "actions": [{"mouse": {"left_click": [99999, 1]}}]}]
        (refused,) = action_outputs
        assert refused["action"] == "error", refused
        assert refused["tool_id"] == "off", refused
        assert "outside" in refused["output"], refused
        self.done = True
        return TYPE_HELLO


class SaysTooMuchAtOnce(BaseAgent):
    """One answer of three turns whose second is refused: the third must wait for a look at the screen."""

    tries = 0

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        self.tries += 1
        if self.tries == 1:
            off = {"tool_id": "off", "actions": [{"mouse": {"left_click": [99999, 1]}}]}
            return [*TYPE_HELLO, off, {"tool_id": "late", "actions": [{"keyboard": {"text": " and more"}}]}]
        kinds = [(output["tool_id"], output["action"]) for output in action_outputs]
        assert kinds == [("type", "other"), ("off", "error"), ("late", "error")], kinds
        assert "not done" in action_outputs[2]["output"], action_outputs
        self.done = True
        return []


class OwnsTheLoop(BaseAgent):
    autonomous: ClassVar[bool] = True

    def run_episode(self, env: Any, task_description: str) -> Any:
        _, _, done, info = env.step(TYPE_HELLO[0]["actions"])
        env.capture_observation()
        env.close()
        return {"task": task_description, "done_after_typing": done, "step": info["step"]}


class AsksTheJudge(BaseAgent):
    """Does what the verdict is highest for, if it is told."""

    autonomous: ClassVar[bool] = True

    def run_episode(self, env: Any, task_description: str) -> Any:
        env.step(TYPE_HELLO[0]["actions"])
        return env.evaluate()["feedback"]


class MayAskTheJudge(AsksTheJudge):
    wants_task_root: ClassVar[bool] = True


class OwnsTheLoopAndErrs(BaseAgent):
    """Thinks, is refused, looks, and types."""

    autonomous: ClassVar[bool] = True

    def run_episode(self, env: Any, task_description: str) -> Any:
        with contextlib.suppress(ActionError):
            env.step({"mouse": {"left_click": [99999, 1]}})
        env.capture_observation()
        env.step(TYPE_HELLO[0]["actions"])


class OwnsTheLoopAndHangs(BaseAgent):
    autonomous: ClassVar[bool] = True

    def run_episode(self, env: Any, task_description: str) -> Any:
        env.step(TYPE_HELLO[0]["actions"])
        FOREVER.wait()


class ReturnsWhatJsonCannotSay(BaseAgent):
    autonomous: ClassVar[bool] = True

    def run_episode(self, env: Any, task_description: str) -> Any:
        env.step(TYPE_HELLO[0]["actions"])
        loop: dict[str, Any] = {"nan": float("nan"), "text": "\ud800", "thing": object()}
        loop["itself"] = loop
        return loop


class WaitsForAFile(BaseAgent):
    """Tells where it is by a file and steps on when another one appears."""

    def step(self, obs: Any, action_outputs: Any) -> list[dict[str, Any]]:
        folder = Path(self.agent_args["folder"])
        (folder / f"{self.episode_context['task_id']}.begun").touch()
        while not (folder / "go").exists():
            threading.Event().wait(0.02)
        self.done = True
        return TYPE_HELLO


class Counts(Typist):
    """Keeps accounts as a stranger's agent may."""

    usage: ClassVar[dict[str, Any]] = {"calls": 2, "input_tokens": 30, "output_tokens": 4, "cost_usd": 0.25}


class LooksAround(BaseAgent):
    """Returns where it is, and what chance gave it."""

    autonomous: ClassVar[bool] = True

    def run_episode(self, env: Any, task_description: str) -> Any:
        return {
            "cwd": str(Path.cwd()),
            "colour": os.environ.get("COLOUR"),
            "chance": random.random(),
            "numpy": float(np.random.random()),  # the global generator, as much agents' code has it
        }


class CannotBeMade(Typist):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_args["colour"]


class EndsItsProcessInItsConstructor(BaseAgent):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        os._exit(3)


class HangsInItsConstructor(BaseAgent):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        FOREVER.wait()
