"""Commands and hooks in the guest: exit codes, output, logs, time-outs."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from gym_anything.errors import GuestCommandFailed
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.conformance.case import ConformanceCase
from gym_anything.testing.conformance.guest_words import GuestWords, words_of

_PROMPT_S = 10.0


class CommandChecks(ConformanceCase):
    """For worlds that run commands."""

    def commanded(self) -> tuple[BaseRunner, GuestWords]:
        """Return a world that runs commands, and its words; skip where there is none."""
        can = self.subject.cls.overrides(["exec"])
        if not can and self.subject.profile == "desktop_linux":
            self.fail("the profile desktop_linux promises exec")
        self.needs(can, "this world runs no commands")
        runner = self.world()
        return runner, words_of(runner.get_platform_family())

    def test_exec_returns_the_exit_code(self) -> None:
        runner, words = self.commanded()
        self.assertEqual(self.bounded(lambda: runner.exec(words.echo)), 0)
        self.assertEqual(self.bounded(lambda: runner.exec(words.exit_with_3)), 3)

    def test_exec_passes_the_environment(self) -> None:
        runner, words = self.commanded()
        self.assertEqual(self.bounded(lambda: runner.exec(words.check_variable, env={"CONFORMANCE": "yes"})), 0)
        self.assertNotEqual(self.bounded(lambda: runner.exec(words.check_variable)), 0)

    def test_exec_capture_returns_the_output(self) -> None:
        runner, words = self.commanded()
        self.needs(runner.overrides(["exec_capture", "exec_capture_bytes"]), "this world returns no output")
        self.assertEqual(self.bounded(lambda: runner.exec_capture(words.echo)).strip(), "conformance-mark")

    def test_a_command_past_its_time_out_is_ended_and_reported(self) -> None:
        runner, words = self.commanded()
        self.needs(not runner.supports_time_control(), "a world with its own clock sleeps in no time")
        began = time.monotonic()
        with self.assertRaises(GuestCommandFailed) as caught:
            self.bounded(lambda: runner.exec(words.sleep_30, timeout=0.5))
        self.assertLess(time.monotonic() - began, _PROMPT_S)
        self.assertTrue(caught.exception.detail.get("timed_out"), "detail['timed_out'] is not set")

    def test_a_command_after_a_timed_out_one_works(self) -> None:
        runner, words = self.commanded()
        self.needs(not runner.supports_time_control(), "a world with its own clock sleeps in no time")
        with self.assertRaises(GuestCommandFailed):
            self.bounded(lambda: runner.exec(words.sleep_30, timeout=0.2))
        self.assertEqual(self.bounded(lambda: runner.exec(words.echo)), 0)

    def test_a_background_command_runs_until_it_is_killed(self) -> None:
        runner, words = self.commanded()
        self.needs(runner.overrides(["exec_async"]), "this world starts no background commands")
        self.needs(not runner.supports_time_control(), "a world with its own clock sleeps in no time")
        process = self.bounded(lambda: runner.exec_async(words.sleep_30))
        self.assertIsNone(process.poll())
        process.kill()
        self.assertNotEqual(self.bounded(lambda: process.wait(_PROMPT_S)), 0)


class HookChecks(CommandChecks):
    """For worlds that run hooks."""

    def hooked(self) -> tuple[BaseRunner, GuestWords]:
        """Return a world that runs hooks in a shell, and its words."""
        self.needs(self.subject.cls.overrides(["exec"]), "this world has no shell to run hooks in")
        runner = self.world()
        return runner, words_of(runner.get_platform_family())

    def test_the_specs_own_hooks_succeed(self) -> None:
        hooks = self.subject.spec().hooks
        runner = self.fresh()
        told = [(stage, getattr(hooks, stage)) for stage in ("pre_start", "post_start") if getattr(hooks, stage)]
        self.needs(bool(told), "the spec has no hooks")
        for stage, cmd in told:
            self.assertEqual(self.bounded(lambda stage=stage, cmd=cmd: runner.run_hook(cmd, stage=stage)), 0, cmd)  # type: ignore[misc]

    def test_a_hook_returns_its_exit_code(self) -> None:
        runner, words = self.hooked()
        self.assertEqual(self.bounded(lambda: runner.run_hook(words.echo, stage="pre_start")), 0)
        self.assertEqual(self.bounded(lambda: runner.run_hook(words.exit_with_3, stage="pre_start")), 3)

    def test_a_hook_is_a_whole_command_line_with_a_log(self) -> None:
        runner, words = self.hooked()
        self.assertEqual(self.bounded(lambda: runner.run_hook(words.two_commands, stage="post_start")), 0)
        self.needs(runner.overrides(["copy_from"]), "this world has no files to read the log from")
        (log,) = runner.hook_log_paths(["post_start"])
        with tempfile.TemporaryDirectory() as folder:
            self.bounded(lambda: runner.copy_from(log, Path(folder) / "hook.log"))
            text = (Path(folder) / "hook.log").read_text(errors="replace")
        self.assertIn("conformance mark", text, f"the hook's output is not in {log}")

    def test_a_hook_past_its_time_out_is_ended(self) -> None:
        runner, words = self.hooked()
        self.needs(not runner.supports_time_control(), "a world with its own clock sleeps in no time")
        began = time.monotonic()
        with self.assertRaises(GuestCommandFailed):
            self.bounded(lambda: runner.run_hook(words.sleep_30, stage="pre_task", timeout=0.5))
        self.assertLess(time.monotonic() - began, _PROMPT_S)

    def test_there_is_one_log_per_stage(self) -> None:
        runner = self.world()
        stages = ["pre_start", "post_start", "pre_task", "post_task"]
        paths = runner.hook_log_paths(stages)
        self.assertEqual(len(set(paths)), len(stages), paths)

    def test_a_failing_reset_or_init_script_is_an_error(self) -> None:
        runner, words = self.commanded()
        self.bounded(lambda: runner.run_reset(words.echo, seed=1))
        self.bounded(lambda: runner.run_task_init(words.echo))
        with self.assertRaises(GuestCommandFailed):
            self.bounded(lambda: runner.run_reset(words.exit_with_3))
        with self.assertRaises(GuestCommandFailed):
            self.bounded(lambda: runner.run_task_init(words.exit_with_3))
