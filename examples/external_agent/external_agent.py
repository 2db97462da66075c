"""An autonomous agent that wraps a program of its own: any language, any harness, one JSON line each way.

    gym-anything run ENV --task TASK --agent external_agent:ExternalAgent --agent-arg 'command=python3 harness.py'

The program reads one line for each look at the screen::

    {"task": "…", "screen": "/path/of/a/screenshot.png", "resolution": [1280, 800], "result": null}

and writes one line for what it wants: ``{"actions": [{"mouse": {"left_click": [640, 400]}}]}`` or ``{"done": true}``.
``result`` is what came of the last actions: null at first, else ``{"refused": "why"}`` or ``{"refused": null}``.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any, ClassVar

from gym_anything.agents.base import BaseAgent
from gym_anything.errors import ActionError, ActionUnsupported, AgentError

LONGEST_LINE = 1 << 20


class ExternalAgent(BaseAgent):
    """Plays by what an external program says (agent argument command=LIST or one line)."""

    autonomous: ClassVar[bool] = True

    def run_episode(self, env: Any, task_description: str) -> dict[str, Any]:
        """Let the program play until it is done, the episode is over, or the environment is taken back."""
        program = self._program()
        try:
            return {"steps": self._play(program, env, task_description)}
        finally:
            _end(program)  # whatever happens here, the program does not outlive the episode

    def _play(self, program: subprocess.Popen[str], env: Any, task: str) -> int:
        steps, done = 0, False
        result: dict[str, Any] | None = None
        while not done:
            wish = self._ask(program, env, result, task)
            if wish.get("done"):
                break
            try:
                _, _, done, _ = env.step(wish.get("actions", []))
                result = {"refused": None}
            except (ActionError, ActionUnsupported) as refused:
                result = {"refused": str(refused)}
            steps += 1
        return steps

    def _program(self) -> subprocess.Popen[str]:
        command = self.agent_args.get("command")
        argv = shlex.split(command) if isinstance(command, str) else list(command or [])
        if not argv:
            raise AgentError("the external agent needs --agent-arg command=…")
        # No shell; and in our own process group, so that whoever stops this process stops the program, too.
        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _ask(
        self, program: subprocess.Popen[str], env: Any, result: dict[str, Any] | None, task: str
    ) -> dict[str, Any]:
        shown = Path(self.save_path) / "external_screen.png"
        env.capture_screenshot_image().save(shown)
        line = {
            "task": task,
            "screen": str(shown),
            "resolution": list(self.display_resolution),
            "result": result,
        }
        assert program.stdin is not None and program.stdout is not None
        try:
            program.stdin.write(json.dumps(line) + "\n")
            program.stdin.flush()
            answer = json.loads(program.stdout.readline(LONGEST_LINE) or "null")
        except BrokenPipeError:
            answer = None
        except ValueError as error:
            raise AgentError(f"the external program wrote a line that is no JSON: {error}") from error
        if not isinstance(answer, dict):
            raise AgentError(f"the external program ended or answered {answer!r:.100} (exit code {program.poll()})")
        return answer


def _end(program: subprocess.Popen[str]) -> None:
    program.kill()
    program.wait()
    for pipe in (program.stdin, program.stdout):
        with contextlib.suppress(OSError):  # what was not sent has nobody to go to
            if pipe is not None:
                pipe.close()
