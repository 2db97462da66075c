"""Verifiers in processes of their own: what they get, where their imports come from, and how they may break."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything._util.state_dir import Run
from gym_anything.errors import SpecInvalid, VerifierError, VlmNotConfigured
from tests.integration.verification.judged import DictWorld, judged, write_task

pytestmark = pytest.mark.real


def test_a_verifier_gets_what_the_contract_says(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        import os, tempfile
        def verify(traj, env_info, task_info):
            path = os.path.join(tempfile.mkdtemp(), "copied")
            assert env_info["copy_from_env"]("/guest/file", path) == path
            with open(path) as f: text = f.read()
            with open(path, "w") as f: f.write(text + "!")
            env_info["copy_to_env"](path, "/guest/back")
            assert env_info["exec_capture"]("id; echo 'x'") == "ran id; echo 'x'"
            try:
                env_info["copy_from_env"]("/guest/missing", path)
            except FileNotFoundError as error:
                missing = str(error)
            keys = {"env_id", "episode_dir", "container", "query_vlm", "sample_trajectory_frames",
                    "get_final_screenshot", "get_first_screenshot"}
            assert keys <= set(env_info), set(env_info)
            assert env_info["sample_trajectory_frames"](traj, n=3) == [] and env_info["get_final_screenshot"](traj) is None
            return {"passed": task_info["metadata"]["answer"] == 42 and len(traj["steps"]) == 1, "score": 77,
                    "feedback": missing, "subscores": {"a": 1}, "env": env_info["env_id"]}
        """,
    )
    world = DictWorld({"/guest/file": "häagen"})
    verdict = judged(task, world=world)
    assert verdict.passed and verdict.score == 77 and "/guest/missing" in verdict.feedback
    assert verdict.extra == {"subscores": {"a": 1}, "env": "env@1"}
    assert world.files["/guest/back"] == "häagen!"
    assert world.commands == ["id; echo 'x'"]


def test_without_a_score_it_is_all_or_nothing(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t", "def verify(t, e, i): return {'passed': True}\ndef no(t, e, i): return {'passed': 0}"
    )
    assert judged(task).score == 100
    assert judged(task, program="verifier.py::no").score == 0


def test_imports_resolve_from_task_parent_env_and_utils_also_lazily(tmp_path: Path) -> None:
    env = tmp_path / "env"
    task = write_task(
        env / "tasks" / "t",
        """
        import beside_task
        from beside_tasks import TWO
        import dataclasses
        @dataclasses.dataclass
        class Found:
            total: int = 0
        def verify(traj, env_info, task_info):
            import in_env
            from in_utils import FOUR
            return {"passed": True, "score": Found(beside_task.ONE + TWO + in_env.THREE + FOUR).total}
        """,
    )
    write_task(task, "ONE = 1", "beside_task.py")
    write_task(env / "tasks", "TWO = 2", "beside_tasks.py")
    write_task(env, "THREE = 3", "in_env.py")
    write_task(env / "utils", "FOUR = 4", "in_utils.py")
    assert judged(task, env_root=env).score == 10
    assert not list(env.rglob("__pycache__")), "a verdict leaves no trace in the content"


def test_same_named_modules_of_two_tasks_do_not_collide(tmp_path: Path) -> None:
    scores = []
    for number in (11, 22, 11):
        task = write_task(
            tmp_path / f"t{number}",
            """
            import ground_truth
            def verify(traj, env_info, task_info):
                import late_truth
                assert ground_truth.N == late_truth.N
                return {"passed": True, "score": ground_truth.N}
            """,
        )
        for name in ("ground_truth.py", "late_truth.py"):
            write_task(task, f"N = {number}", name)
        scores.append(judged(task).score)
    assert scores == [11, 22, 11]


def test_a_program_may_be_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_task(tmp_path / "lib" / "somewhere", "def check(t, e, i): return {'passed': True, 'score': 5}", "checks.py")
    (tmp_path / "lib" / "somewhere" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    assert judged(tmp_path, program="somewhere.checks:check").score == 5
    for wrong in ("somewhere.nothing:check", "somewhere.checks:nothing", "nowhere:f"):
        with pytest.raises(SpecInvalid):
            judged(tmp_path, program=wrong)


def test_files_named_like_modules_in_use_are_no_trap(tmp_path: Path) -> None:
    source = "import json\ndef verify(t, e, i): return {'passed': json.loads('true') is True}"
    for name in ("json.py", "socket.py", "a-b c.py", "ünï.py"):
        task = write_task(tmp_path / name.replace(".", "_"), source if name != "json.py" else source.replace(
            "import json", "class json:\n    loads = staticmethod(lambda text: True)"), name)  # fmt: skip
        assert judged(task, program=f"{name}::verify").passed, name


def test_the_vlm_front_door_works_inside_a_verifier(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        from gym_anything.vlm import query_vlm, sample_trajectory_frames, get_final_screenshot, get_first_screenshot
        def verify(traj, env_info, task_info):
            assert sample_trajectory_frames(traj, num_samples=4) == []
            return {"passed": True}
        def caught(traj, env_info, task_info):
            try:
                query_vlm(prompt="?", images=["a.png"])
            except Exception:
                pass
            return {"passed": False, "score": 30}
        def uncaught(traj, env_info, task_info):
            return {"passed": bool(env_info["query_vlm"](prompt="?", image="a.png"))}
        def unneeded(traj, env_info, task_info):
            return {**caught(traj, env_info, task_info), "passed": True}
        """,
    )
    assert judged(task).passed
    assert judged(task, program="verifier.py::unneeded").passed
    for program in ("caught", "uncaught"):
        with pytest.raises(VlmNotConfigured):
            judged(task, program=f"verifier.py::{program}")


def test_what_a_verifier_prints_is_kept_in_order_and_without_secrets(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        import sys, os, logging, subprocess
        logging.basicConfig(level=logging.INFO)
        def verify(traj, env_info, task_info):
            print("one", flush=True)
            print("two s3cr3t-token", file=sys.stderr)
            subprocess.run(["sh", "-c", "echo three"])
            logging.info("four")
            print("fünf", input() if False else "")
            return {"passed": True, "feedback": "it said s3cr3t-token", "said": ["s3cr3t-token"]}
        """,
    )
    verdict = judged(task, secrets=["s3cr3t-token"])
    output = (task / "episode" / "output.txt").read_text()
    assert output == "one\ntwo [secret]\nthree\nINFO:root:four\nfünf \n"
    assert verdict.feedback == "it said [secret]" and verdict.extra["said"] == ["[secret]"]


def test_a_verifier_has_no_input_its_own_temporary_folder_and_the_given_variables(tmp_path: Path) -> None:
    task = write_task(
        tmp_path / "t",
        """
        import os, sys, tempfile
        def verify(traj, env_info, task_info):
            assert sys.stdin.read() == ""
            handle, left_behind = tempfile.mkstemp()
            return {"passed": os.environ["VLM_MODEL"] == "m", "cwd": os.getcwd(), "left": left_behind}
        """,
    )
    verdict = judged(task, environment={"VLM_MODEL": "m"})
    assert verdict.passed and verdict.extra["cwd"] == str(Path.cwd())
    assert not Path(str(verdict.extra["left"])).exists(), "what it left in its temporary folder is gone"
    assert Path(str(verdict.extra["left"])).is_relative_to(Run.current().path), (
        "where left-overs of kills are collected"
    )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def verify(t, e, i): 1/0", "ZeroDivisionError"),
        ("def verify(t, e, i): raise SystemExit(0)", "SystemExit"),
        ("def verify(t, e, i): raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("def verify(t, e, i): return None", "dict"),
        ("def verify(t, e, i): return {'passed': True, 'score': float('nan')}", "finite"),
        ("def verify(t, e): return {'passed': True}", "TypeError"),
        ("def verify(t, e, i)\n return", "SyntaxError"),
        ("import no_such_module\ndef verify(t, e, i): return {'passed': True}", "no_such_module"),
        ("raise ValueError('at import')\ndef verify(t, e, i): return {'passed': True}", "at import"),
        ("import os\ndef verify(t, e, i): os._exit(3)", "exit code 3"),
        ("import os\ndef verify(t, e, i): os.kill(os.getpid(), 9)", "signal 9"),
        ("import os\ndef verify(t, e, i): os.abort()", "signal 6"),
        ("import ctypes\ndef verify(t, e, i): ctypes.string_at(0)", "signal 11"),
        ("def verify(t, e, i): return verify(t, e, i)", "RecursionError"),
        ("import os\ndef verify(t, e, i):\n os.closerange(3, 99)\n return {'passed': True}", "ended|OSError"),
        ("def verify(t, e, i): e['copy_from_env']('/none', '/tmp/x')", "GuestFileNotFound"),
        ("class E(Exception):\n def __str__(self): raise ValueError\ndef verify(t, e, i): raise E", "E|ended"),
        ("class D(dict):\n def get(self, *a): raise OSError('odd')\ndef verify(t, e, i): return D(passed=True)", "odd"),
    ],
)  # fmt: skip
def test_a_verifier_that_breaks_is_broken_with_blame_judge(tmp_path: Path, source: str, words: str) -> None:
    """V2: a crashed judge is broken, not 0."""
    with pytest.raises(VerifierError, match=words) as error:
        judged(write_task(tmp_path / "t", source))
    assert error.value.blame == "judge"


def test_a_missing_verifier_is_the_contents(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", "def other(t, e, i): return {'passed': True}\nvalue = 3")
    for program in ("nothing.py::verify", "verifier.py::verify", "verifier.py::value"):
        with pytest.raises(SpecInvalid) as error:
            judged(task, program=program)
        assert error.value.blame == "content"
    with pytest.raises(SpecInvalid, match="it has other"):
        judged(task)
