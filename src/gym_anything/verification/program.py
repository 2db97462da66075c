"""Mode ``program``: the task's own Python function decides, in a process of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gym_anything._util.deadline import Deadline
from gym_anything._util.secrets import Redactor
from gym_anything._util.state_dir import Run
from gym_anything.errors import (
    Aborted,
    GymAnythingError,
    ModelBudgetSpent,
    SpecInvalid,
    VerifierError,
    VlmNotConfigured,
    WorldLost,
    from_wire,
)
from gym_anything.models.usage import Usage
from gym_anything.verification.cancellation import Cancellation
from gym_anything.verification.contract import Capabilities, JudgeRequest, Verdict
from gym_anything.verification.fork_server import ForkServer, JudgeRun

_OUTPUT_TAIL_CHARACTERS = 4000


def judge_by_program(request: JudgeRequest, spec: Mapping[str, Any], capabilities: Capabilities) -> Verdict:
    """Run ``spec["program"]`` (``file.py::func`` beside the task, or ``pkg.mod:func``) and return what it decided.

    Raises: SpecInvalid (blame content) when the program is not there, VerifierError (blame judge) when it crashed, hung
        or returned nonsense, WorldLost when the world died under it, VlmNotConfigured or a ModelError when it asked a
        vision model in vain and did not pass the task without one, Aborted.
    """
    program = locate_program(spec.get("program"), request.task_root)
    calls = _ServedCalls(capabilities, request.deadline)
    run, output = _run(request, program, calls, wants="verdict")
    plain = (run.answer or {}).get("verdict")
    if calls.vlm_error is not None and not (plain and plain["passed"]):
        raise calls.vlm_error
    if plain is None:
        raise _failure(run, program, output)
    score = plain["score"] if plain["score"] is not None else (100.0 if plain["passed"] else 0.0)
    extra = {**plain["extra"], "vlm": calls.vlm_spent()} if calls.vlm_answers else plain["extra"]
    return Verdict(plain["passed"], score, plain["feedback"], extra, seconds=run.seconds)


def reward_by_program(request: JudgeRequest, reference: Any, capabilities: Capabilities) -> float:
    """Run a reward function, found and called like a verifier, and return its number.

    Raises: as ``judge_by_program``.
    """
    program = locate_program(reference, request.task_root, key="init.reward_shaping")
    run, output = _run(request, program, _ServedCalls(capabilities, request.deadline), wants="number")
    answer = run.answer or {}
    if "number" not in answer:
        raise _failure(run, program, output)
    return float(answer["number"])


def locate_program(reference: Any, task_root: Path | None, *, key: str = "success.spec.program") -> dict[str, str]:
    """Return ``{file, module, function}`` of a program reference; ``file`` or ``module`` is empty.

    Raises: SpecInvalid, with the blame on the content, when it is malformed or the file is missing.
    """
    if not isinstance(reference, str) or not reference.strip():
        raise _content_error(f"{key} must be 'file.py::function', it is {reference!r}", task_root, key)
    reference = reference.strip()
    place, separator, function = reference.partition("::")
    if not separator and not place.endswith(".py"):
        place, separator, function = reference.rpartition(":")
    function = function.strip() or "verify"
    place = place.strip() or reference
    if not place.endswith(".py"):
        if not separator or not all(part.isidentifier() for part in place.split(".")):
            message = f"{key} {reference!r} is neither 'file.py::function' nor 'pkg.mod:func'"
            raise _content_error(message, task_root, key)
        return {"file": "", "module": place, "function": function}
    path = Path(place)
    if not path.is_absolute():
        if task_root is None:
            raise _content_error(f"{key} {reference!r} lies beside the task, but the task has no folder", None, key)
        path = task_root / path
    if not path.is_file():
        raise _content_error(f"the program {path} does not exist ({key} = {reference!r})", task_root, key)
    return {"file": str(path.resolve()), "module": "", "function": function}


def import_path(task_root: Path | None, env_root: Path | None) -> list[str]:
    """Return where a verifier's imports are looked for: task, its parent, env, its ``utils/``, then ours."""
    folders: list[Path] = []
    if task_root is not None:
        folders += [task_root, task_root.parent]
    if env_root is not None:
        folders += [env_root, env_root / "utils"]
    own = [str(Path(folder).resolve()) for folder in folders]
    return [*dict.fromkeys(own), *(entry or str(Path.cwd()) for entry in sys.path)]


def _content_error(message: str, task_root: Path | None, key: str) -> SpecInvalid:
    file = str(task_root) if task_root is not None else ""
    return SpecInvalid(message, detail={"file": file, "key": key, "fix": f"add the file, or correct {key}"})


def _run(request: JudgeRequest, program: Mapping[str, str], calls: _ServedCalls, *, wants: str) -> tuple[JudgeRun, str]:
    """Run the function; returns how it went and what it printed, both without secrets."""
    # In the run's own folder: what a killed owner leaves is found there and collected.
    with tempfile.TemporaryDirectory(prefix="verifier-", dir=Run.current().path) as scratch:
        job = {
            "wants": wants,
            "program": dict(program),
            "traj": dict(request.traj),
            "env_info": dict(request.env_info),
            "task_info": dict(request.task_info),
            "environment": {**os.environ, "TMPDIR": scratch, **request.environment},
            "cwd": str(Path.cwd()),
            "import_path": import_path(request.task_root, request.env_root),
        }
        cancellation = request.cancellation or Cancellation()
        run = ForkServer.shared().run(job, calls.serve, deadline=request.deadline, cancellation=cancellation)
    redactor = Redactor(request.secrets)
    output = redactor.text(run.output)
    if request.output_path is not None and output:
        with request.output_path.open("a", encoding="utf-8") as stream:
            stream.write(output)
    if calls.world_error is not None:
        raise calls.world_error
    return replace(run, answer=redactor.json(run.answer)), output


def _failure(run: JudgeRun, program: Mapping[str, str], output: str) -> GymAnythingError:
    """Return the error of a program that gave nothing usable."""
    name = f"{Path(program['file']).name or program['module']}::{program['function']}"
    detail: dict[str, Any] = {"verifier": name, "output_tail": output[-_OUTPUT_TAIL_CHARACTERS:]}
    if run.answer is None:
        if run.timed_out:
            return VerifierError(f"verifier {name} was stopped: no verdict after {run.seconds:.1f} s", detail=detail)
        return VerifierError(f"verifier {name} ended without a verdict ({_ending(run.exit_code)})", detail=detail)
    error = run.answer.get("error") or {}
    message = str(error.get("message"))
    if error.get("kind") == "missing":
        return SpecInvalid(message, detail={**detail, "fix": "correct the function's name"})
    if error.get("kind") == "invalid":
        return VerifierError(f"verifier {name}: {message}", detail=detail)
    return VerifierError(
        f"verifier {name} raised {message}", detail={**detail, "traceback": error.get("traceback", "")}
    )


def _ending(exit_code: int | None) -> str:
    if exit_code is None:
        return "its process is gone"
    return f"killed by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


class _ServedCalls:
    """Serves the verifier's calls, and remembers what it must not hide: a dead world, a missing vision model."""

    def __init__(self, capabilities: Capabilities, deadline: Deadline) -> None:
        self._capabilities = capabilities
        self._deadline = deadline
        self.world_error: WorldLost | Aborted | None = None
        self.vlm_error: GymAnythingError | None = None
        self.vlm_answers: list[Mapping[str, Any]] = []

    def vlm_spent(self) -> dict[str, Any]:
        """Return what the vision model took in all."""
        models = sorted({str(answer.get("model")) for answer in self.vlm_answers})
        total = Usage.total(answer["usage"] for answer in self.vlm_answers)
        return {"model": ", ".join(models), **total.as_dict()}

    def serve(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do one call; its error travels back to the verifier."""
        try:
            return {"result": self._do(name, arguments)}
        except (WorldLost, Aborted) as error:
            self.world_error = error
            return {"error": error.to_wire()}
        except (VlmNotConfigured, ModelBudgetSpent) as error:
            self.vlm_error = error
            return {"error": error.to_wire()}
        except GymAnythingError as error:
            return {"error": error.to_wire()}
        except FileNotFoundError as error:
            return {"error": {"code": "guest-file-not-found", "message": str(error)}}
        except Exception as error:  # noqa: BLE001 - boundary: anybody's runner serves the call
            return {"error": {"code": "world-error", "message": f"{name}: {type(error).__name__}: {error}"}}

    def _do(self, name: str, arguments: dict[str, Any]) -> Any:
        world, deadline = self._capabilities, self._deadline
        if name == "exec_capture":
            return world.exec_capture(arguments["command"], deadline=deadline.tightened(arguments.get("timeout")))
        if name == "copy_from_env":
            return world.copy_from_env(arguments["guest_path"], arguments["host_path"], deadline=deadline)
        if name == "copy_to_env":
            return world.copy_to_env(arguments["host_path"], arguments["guest_path"], deadline=deadline)
        if name == "query_vlm":
            return self._query_vlm(arguments)
        raise VerifierError(f"a verifier cannot call {name!r}")

    def _query_vlm(self, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = dict(self._capabilities.query_vlm(arguments, deadline=self._deadline))
        failure = answer.pop("wire", None)
        if failure is not None:
            self.vlm_error = from_wire(failure)  # a verdict without the model's word cannot be trusted as a fail
        elif isinstance(answer.get("usage"), Mapping):
            self.vlm_answers.append(answer)
        return answer
