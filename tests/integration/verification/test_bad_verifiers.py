"""A thousand verifiers as bad as they come: each gives a verdict or a typed error, and spoils nothing for the next."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_anything.errors import SpecInvalid, VerifierError
from tests.integration.verification.judged import DictWorld, judged, write_task

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(300)]

# The verifier does what its task says, so that one file serves for all cases.
SOURCE = """
import ctypes, math, os, resource, signal, socket, sys, threading, time

def verify(traj, env_info, task_info):
    scope = {**globals(), "env_info": env_info, "traj": traj}
    for line in task_info["metadata"]["lines"]:
        exec(line, scope)
    return scope.get("result")
"""

LINES = st.sampled_from(
    [
        "1/0",
        "raise SystemExit(0)",
        "raise SystemExit('text')",
        "raise KeyboardInterrupt",
        "raise GeneratorExit",
        "raise MemoryError",
        "raise type('Odd', (BaseException,), {'__str__': lambda self: 1/0})()",
        "os._exit(0)",
        "os._exit(255)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os.kill(os.getpid(), signal.SIGSEGV)",
        "os.kill(0, signal.SIGTERM)",
        "os.closerange(3, 200)",
        "os.close(1); os.close(2)",
        "sys.stdout = None; sys.stderr = None",
        "sys.stdout.close()",
        "os.write(1, bytes(range(256)) * 300)",
        "print('x' * 100000)",
        "[socket.socket(fileno=fd).send(b'junk') for fd in range(3, 12)]",
        "threading.Thread(target=lambda: time.sleep(50)).start()",
        "threading.Thread(target=lambda: 1/0).start()",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "os.fork() or os._exit(0)",
        "os.fork() or time.sleep(50)",
        "os.setsid()",
        "os.chdir('/')",
        "os.environ.clear()",
        "sys.path.clear(); sys.modules.clear()",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
        "exec('def f(): f()'); f()",
        "import no_such_module",
        "env_info['copy_from_env']('/none', '/proc/none')",
        "env_info['copy_from_env'](None, None)",
        "env_info['exec_capture'](5)",
        "env_info['exec_capture']('x', timeout='soon')",
        "env_info['query_vlm'](images=[5])",
        "env_info['nothing']",
        "env_info.clear(); traj.clear()",
        "result = result",
        "result = {'passed': True, 'score': object()}",
        "result = {'passed': type('T', (), {'__bool__': lambda self: 1/0})()}",
        "result = type('D', (dict,), {'__contains__': lambda *a: 1/0})(passed=True)",
        "result = {'passed': True, 'x': type('R', (), {'__str__': lambda self: 1/0})()}",
        "result = {'passed': True, 'x': '\\ud800'}",
        "result = {'passed': True, 'x': 10 ** 5000}",
        "result = {'passed': True}; result['x'] = result",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def spelled(value: Any) -> str:
    """Return Python source of a value; NaN and infinity have no literal."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, list):
        return "[" + ", ".join(map(spelled, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{spelled(k)}: {spelled(v)}" for k, v in value.items()) + "}"
    return repr(value)


RESULTS = st.fixed_dictionaries({}, optional={"passed": VALUES, "score": VALUES, "feedback": VALUES}) | VALUES
CASES = st.tuples(st.lists(LINES, max_size=2), st.none() | RESULTS.map(lambda value: f"result = {spelled(value)}"))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CASES)
def test_any_verifier_gives_a_verdict_or_a_typed_error(tmp_path: Path, case: tuple[list[str], str | None]) -> None:
    """V2, V5: a crashed or hung judge is broken, not 0."""
    _gives_a_verdict_or_a_typed_error(tmp_path, *case)


@pytest.mark.soak
@settings(max_examples=1100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CASES)
def test_a_thousand_verifiers_do(tmp_path: Path, case: tuple[list[str], str | None]) -> None:
    _gives_a_verdict_or_a_typed_error(tmp_path, *case)


def _gives_a_verdict_or_a_typed_error(tmp_path: Path, lines: list[str], last: str | None) -> None:
    task = write_task(tmp_path / "t", SOURCE)
    task_info = {"task_id": "t", "metadata": {"lines": [*lines, *([last] if last else [])]}, "task_spec": {}}
    try:
        verdict = judged(task, world=DictWorld(), task_info=task_info, seconds=5)
    except VerifierError as error:
        assert str(error)
    else:
        assert isinstance(verdict.passed, bool) and 0 <= verdict.score <= 100


REFERENCES = st.text(max_size=30) | st.sampled_from(
    ["../t/verifier.py::verify", "verifier.py::", "verifier.py::a.b.c", "/dev/null::x", "/::x", "verifier.py::verify::x"]
) | VALUES  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(REFERENCES)
def test_any_reference_to_a_program_is_found_or_a_typed_error(tmp_path: Path, reference: Any) -> None:
    task = write_task(tmp_path / "t", "def verify(t, e, i): return {'passed': True}")
    try:
        judged(task, program=reference, seconds=5)
    except (VerifierError, SpecInvalid) as error:
        assert str(error)
