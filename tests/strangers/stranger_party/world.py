"""The stranger's world: a rover in a crater, whose days are *sols* and whose senses are telemetry and lidar.

No screen, no shell, no wall clock. It runs nothing on the host.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gym_anything.errors import ActionUnsupported, GuestFileNotFound, StateError
from gym_anything.runtime.runners.base import BaseRunner

OPTIONS = {"crater", "fuel", "relay_id"}
STATE_FILE = "rover/state.json"


class RoverRunner(BaseRunner):
    """The six required methods, and those optional ones that a rover has an answer for."""

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.fuel = 0
        self.cell = 0
        self.sol = 0.0
        self.running = False
        self.log: list[str] = []

    # --- required ------------------------------------------------------------------------------------------------

    def start(self, seed: int | None = None) -> None:
        """Land."""
        self.abort_signal.check("start")
        self.fuel = int(self.spec.runner_options.get("fuel", 10))
        self.cell, self.sol, self.running = 0, 0.0, True
        self.log = [f"landed in {self.spec.runner_options.get('crater', 'jezero')} with seed {seed}"]

    def stop(self) -> None:
        """Be gone."""
        self.running = False

    def run_reset(self, script: str, seed: int | None = None) -> None:
        """A script is a rover command."""
        self._command(script)

    def run_task_init(self, script: str) -> None:
        """A script is a rover command."""
        self._command(script)

    def inject_action(self, action: dict[str, Any]) -> Any:
        """Drive, or wait on the rover's own clock."""
        self._alive("inject_action")
        kind = action.get("action")
        if kind == "drive":
            cells = int(action["cells"])
            if abs(cells) > self.fuel:
                return {"moved": 0, "why": "not enough fuel"}
            self.fuel -= abs(cells)
            self.cell += cells
            self.sol += abs(cells) * 0.25
            return {"moved": cells}
        if kind == "wait":
            self.sol += float(action["time"])
            return {"sol": self.sol}
        raise ActionUnsupported(f"a rover cannot {action!r}")

    def capture_observation(self) -> dict[str, Any]:
        """Telemetry and lidar; core knows neither."""
        self._alive("capture_observation")
        return {
            "telemetry": {"sol": self.sol, "cell": self.cell, "fuel": self.fuel},
            "lidar": [abs(self.cell - n) for n in range(5)],
        }

    # --- facts ---------------------------------------------------------------------------------------------------

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        """A relay satellite is all it needs."""
        return {"available": True, "reason": None, "deps": {"relay": {"ok": True, "detail": "in orbit", "fix": ""}}}

    @classmethod
    def compatibility(cls) -> dict[str, Any]:
        """One row, with a key of its own."""
        return {"platforms": ["mars"], "time_control": True, "acks_input_delivery": True, "gravity": 0.38}

    @classmethod
    def install_plan(cls) -> list[dict[str, str]]:
        """What to do on a new host."""
        return [{"title": "Point the dish", "command": "true"}]

    @classmethod
    def cache_components(cls) -> list[dict[str, Any]]:
        """Maps are kept."""
        return [{"name": "rover-maps", "category": "data", "paths": ["/nonexistent/rover-maps"], "desc": "crater maps"}]

    @classmethod
    def validate_options(cls, spec: Any) -> list[str]:
        """Refuse what it does not know."""
        return [f"unknown rover option {name!r}" for name in spec.runner_options if name not in OPTIONS]

    @classmethod
    def volatile_option_paths(cls) -> tuple[str, ...]:
        """The relay is another one in every episode."""
        return ("relay_id",)

    # --- taking part ---------------------------------------------------------------------------------------------

    def on_episode_start(self, context: Any) -> None:
        """Leave a note in the episode's folder."""
        super().on_episode_start(context)
        Path(context["episode_dir"], "rover_mission.json").write_text(json.dumps(dict(context)))

    def supports_time_control(self) -> bool:
        """Sols, not seconds."""
        return True

    def acks_input_delivery(self) -> bool:
        """An action has happened when it returns."""
        return True

    def supports_fast_io(self) -> bool:
        """There is nothing slow about it."""
        return True

    def set_fast_io(self, enabled: bool) -> None:
        """Nothing changes."""

    def abort(self) -> None:
        """Nothing here blocks."""
        super().abort()

    def get_platform_family(self) -> str:
        """Its own word."""
        return "mars"

    def run_hook(self, cmd: str, *, stage: str, timeout: float | None = None, use_pty: bool = True) -> int:
        """A hook is a rover command; there is no shell to wrap it for."""
        self.log.append(f"{stage}: {cmd}")
        return self._command(cmd)

    def exec_capture(self, cmd: str, **_: Any) -> str:
        """Ground truth for verifiers."""
        self._alive("exec_capture")
        if cmd == "state":
            return json.dumps({"cell": self.cell, "fuel": self.fuel, "sol": self.sol, "log": self.log})
        return ""

    def copy_from(self, container_src: str, host_dst: Any) -> None:
        """One file can be had."""
        if container_src != STATE_FILE:
            raise GuestFileNotFound(f"a rover has no {container_src!r}")
        Path(host_dst).write_text(self.exec_capture("state"))

    def _command(self, cmd: str) -> int:
        self._alive("command")
        words = cmd.split()
        if words[:1] == ["fuel"]:
            self.fuel = int(words[1])
            return 0
        return 0 if words[:1] == ["noop"] else 127

    def _alive(self, doing: str) -> None:
        self.abort_signal.check(doing)
        if not self.running:
            raise StateError(f"{doing}: the rover has not landed")
