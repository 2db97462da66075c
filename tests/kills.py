"""``kill -9`` of a world's owner at a random moment, then ``gym-anything cache gc``: what is left, and who else suffered.

A *life* is a process that starts a world, clicks in it, saves it, starts it again from what it saved, and stops it; it
says when each phase begins. It is killed somewhere in a phase chosen at random. Others must not notice: a world of a
process that lives, a file in the state folder that is not ours and, with an engine, a container that is not ours.

``python -m tests.kills life|stay RUNNER NAME`` is such a process.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything._util import control_groups, kernel_mounts, labels, proc
from gym_anything._util.state_dir import run_prefix
from gym_anything.runtime.apptainer.orphans import label_in
from gym_anything.runtime.checkpoints.store import CheckpointStore
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.registry import resolve_runner
from gym_anything.specs.env_spec import EnvSpec

ROOT = Path(__file__).parents[1]
PHASES = ("start", "step", "checkpoint", "restart", "stop")
_STEPS = 20
_OURS = "kill-"
_BYSTANDER = "none-of-ours"


# --- a life ------------------------------------------------------------------------------------------------------


def runner_of(key: str, name: str) -> BaseRunner:
    """Return the runner of a small desktop; ``name`` tells one life's checkpoints from another's."""
    spec = {
        "id": f"{_OURS}{name}@1",
        "resources": {"cpu": 2, "mem_gb": 1, "net": False},
        "observation": [{"type": "rgb_screen", "resolution": [640, 480]}],
        "action": [{"type": "mouse"}],
    }
    return resolve_runner(key)(EnvSpec.from_dict(spec))


def live(key: str, name: str) -> None:
    """Live a whole life, and say when each phase begins."""
    runner = runner_of(key, name)
    try:
        for phase in PHASES:
            print(phase, flush=True)
            if phase == "start":
                runner.start()
            elif phase == "step":
                for n in range(_STEPS):
                    runner.inject_action({"mouse": {"left_click": [100 + n, 100 + n]}})
                    runner.capture_frame()
            elif phase == "checkpoint":
                runner.set_checkpoint_key("pre_start")
                runner.create_checkpoint()
            elif phase == "restart":
                runner.stop()
                runner.start_from_checkpoint()
            else:
                runner.stop()
        print("end", flush=True)
    finally:
        runner.stop()


def stay(key: str, name: str) -> None:
    """Run a world until the input ends; each line of it is answered from inside the world."""
    runner = runner_of(key, name)
    try:
        runner.start()
        print("up", flush=True)
        for line in sys.stdin:
            print(runner.exec_capture(f"echo {line.strip()}").strip(), flush=True)
    finally:
        runner.stop()


# --- the one who kills -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kill:
    """One killed life.

    Attributes:
        after_s: seconds into the phase. gc_s: how long the collection took. orphans: how many things it found.
        left: what was still there after it.
    """

    phase: str
    after_s: float
    gc_s: float
    orphans: int
    left: tuple[str, ...]


class Killer:
    """Kills lives of one runner's worlds. Everything of theirs lies in ``folder``, but for checkpoints and images."""

    def __init__(self, key: str, folder: Path, seed: int = 0) -> None:
        self._key = key
        self._random = random.Random(f"{key} {seed}")
        self._count = 0
        self.state, self._temp = folder / "state", folder / "tmp"
        for path in (self.state, self._temp):
            path.mkdir(mode=0o700)
        own = {"GYM_ANYTHING_STATE_DIR": str(self.state), "TMPDIR": str(self._temp)}
        self._environ = {**os.environ, **own}
        self._lasts: dict[str, float] = {}

    def calibrate(self) -> Mapping[str, float]:
        """Live two whole lives and return how long each phase of the second one took, in seconds."""
        for _ in range(2):
            life, moments = self._life("life"), {}
            for phase in [*PHASES, "end"]:
                self._await(life, phase)
                moments[phase] = time.monotonic()
            life.communicate()
            times = [*moments.values()]
            self._lasts = {phase: times[n + 1] - times[n] for n, phase in enumerate(PHASES)}
            self.forget_checkpoints()
        return self._lasts

    def kill(self) -> Kill:
        """Kill a new life at a random moment, collect, and look at what is left."""
        phase = self._random.choice(PHASES)
        moment = self._random.uniform(0, self._lasts[phase])
        with self._life("life") as life:
            try:
                self._await(life, phase)
                began = time.monotonic()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    life.wait(timeout=moment)
            finally:
                life.kill()
            after = time.monotonic() - began
        began = time.monotonic()
        orphans = self._collect()
        took = time.monotonic() - began
        found = Kill(phase, after, took, orphans, tuple(self.left()))
        self.forget_checkpoints()
        return found

    @contextmanager
    def bystanders(self) -> Iterator[list[str]]:
        """Have others around for the block; the list gets what happened to them."""
        touched: list[str] = []
        note = self.state / "a note of somebody else"
        note.write_text("mine")
        with self._life("stay", stdin=subprocess.PIPE) as world:
            self._await(world, "up")
            assert world.stdin is not None and world.stdout is not None
            try:
                yield touched
                world.stdin.write("still there\n")
                world.stdin.flush()
                if world.stdout.readline() != "still there\n":
                    touched.append("the world of a process that lives")
                if note.read_text() != "mine":
                    touched.append(str(note))
            finally:
                world.communicate()

    def left(self) -> list[str]:
        """Return what there is of lives that have ended."""
        prefix = run_prefix(self.state)
        found = []
        for pid in proc.pids():
            environ = proc.environ(pid)
            texts = (labels.Label.parse(environ.get(labels.ENV_NAME, "")), label_in(environ.get("ENGINE_CONFIG1", "")))
            if any(label and label.run.startswith(prefix) and label.owner.is_dead() for label in texts):
                found.append(f"process {pid}: {' '.join(proc.command_line(pid))[:100]}")
        living = {path.name for path in self.state.iterdir() if not _is_dead(path)}
        found += [f"folder {path}" for path in self.state.iterdir() if path.name not in living]
        found += [f"mount {m}" for m in kernel_mounts.mounts_below(self.state) if not living & {*m.parts}]
        for place, folders, _ in os.walk("/sys/fs/cgroup"):
            named = [(name, control_groups.label_of(name)) for name in folders]
            found += [
                f"group {place}/{n}" for n, la in named if la and la.run.startswith(prefix) and la.owner.is_dead()
            ]
        found += [f"temporary file {path}" for path in self._temp.iterdir() if not _leads_into(path, living)]
        for store, _ in self._stores():
            found += [f"half a checkpoint of nobody who lives {path}" for path in store.collect(dry_run=True)]
        return [*found, *self._in_engine(prefix)]

    def forget_checkpoints(self) -> None:
        """Remove what lives have saved: it stays, as it should."""
        for store, _ in self._stores():
            for checkpoint in store.all():
                if str(checkpoint.manifest.get("env", "")).startswith(_OURS):
                    store.remove(checkpoint.key)

    def _in_engine(self, prefix: str) -> list[str]:
        if self._key != "docker":
            return []
        from gym_anything.runtime.runners.docker.checkpoint import orphaned_images
        from gym_anything.runtime.runners.docker.vendor import Engine

        engine = Engine.connect()
        try:
            rows = [(row, labels.Label.from_dict(row["Labels"])) for row in engine.labelled(labels.RUN)]
            dead = [row for row, la in rows if la and la.run.startswith(prefix) and la.owner.is_dead()]
            images = orphaned_images(engine, lambda label: label.run.startswith(prefix) and label.owner.is_dead(), True)
        finally:
            engine.close()
        return [*(f"container {row['Names']}" for row in dead), *(orphan.what for orphan in images)]

    def _stores(self) -> list[tuple[CheckpointStore, Mapping[str, Any]]]:
        rows = [row for row in resolve_runner(self._key).cache_components() if row["category"] == "checkpoints"]
        found = []
        for row in rows:
            removal = {"removal": row["removal"]} if row.get("removal") else {}
            found += [(CheckpointStore(Path(path), **removal), row) for path in row["paths"]]
        return found

    def _life(self, what: str, **pipes: Any) -> subprocess.Popen[str]:
        self._count += 1
        argv = [sys.executable, "-m", "tests.kills", what, self._key, f"{os.getpid()}-{self._count}"]
        log = (self._temp.parent / "lives.log").open("a")
        return subprocess.Popen(
            argv, cwd=ROOT, env=self._environ, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
            **pipes,
        )  # fmt: skip

    def _await(self, life: subprocess.Popen[str], word: str) -> None:
        assert life.stdout is not None
        for line in life.stdout:
            if line.strip() == word:
                return
        life.wait()
        said = (self._temp.parent / "lives.log").read_text(errors="replace")[-3000:]
        raise AssertionError(f"a life ended before {word!r} ({life.returncode}):\n{said}")

    def _collect(self) -> int:
        argv = [sys.executable, "-m", "gym_anything.cli.main", "cache", "gc", "--json"]
        done = subprocess.run(argv, cwd=ROOT, env=self._environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"cache gc: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return len(json.loads(done.stdout)["orphans"])


def _is_dead(path: Path) -> bool:
    """Tell whether a run's folder is one of a process that has ended; anything else in a state folder is not ours."""
    if not path.is_dir():
        return False
    try:
        owner = labels.Owner.parse(str(json.loads((path / "manifest.json").read_bytes())["owner"]))
    except (OSError, ValueError, KeyError):
        return True
    return owner is None or owner.is_dead()


def _leads_into(path: Path, runs: set[str]) -> bool:
    return path.is_symlink() and bool(runs & {*path.readlink().parts})


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    {"life": live, "stay": stay}[sys.argv[1]](sys.argv[2], sys.argv[3])
