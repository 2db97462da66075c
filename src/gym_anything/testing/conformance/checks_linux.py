"""What a Linux desktop promises beyond a desktop: a real shell as root, with real processes."""

from __future__ import annotations

import time

from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.testing.conformance.case import ConformanceCase

_PROMPT_S = 10.0


class LinuxChecks(ConformanceCase):
    """For the profile ``desktop_linux`` only."""

    def linux(self) -> BaseRunner:
        """Return the shared world; skip for other profiles."""
        self.needs(self.subject.profile == "desktop_linux", f"the profile is {self.subject.profile!r}")
        return self.world()

    def output(self, cmd: str) -> str:
        """Return a command's output."""
        runner = self.linux()
        return str(self.bounded(lambda: runner.exec_capture(cmd))).strip()

    def test_commands_run_as_root_in_a_login_shell_with_the_display(self) -> None:
        self.assertEqual(self.output("id -u"), "0")
        self.assertEqual(self.output("echo $DISPLAY"), self.linux().default_exec_env()["DISPLAY"])

    def test_output_beyond_a_pipes_buffer_neither_blocks_nor_is_lost(self) -> None:
        """L8: more than 64 KiB of output with a time-out does not deadlock."""
        self.assertEqual(len(self.output("head -c 300000 /dev/zero | tr '\\0' x")), 300000)

    def test_a_child_left_in_the_background_does_not_hold_the_call(self) -> None:
        """L8: a background child that holds the pipe does not hang the call."""
        began = time.monotonic()
        self.assertEqual(self.output("sleep 60 & echo started"), "started")
        self.assertLess(time.monotonic() - began, _PROMPT_S)
        self.output("pkill -f 'sleep 60' || true")

    def test_standard_input_is_empty(self) -> None:
        """L8: stdin is /dev/null."""
        self.assertEqual(self.output("cat; echo end"), "end")

    def test_a_timed_out_command_leaves_no_process_in_the_guest(self) -> None:
        """L8: a time-out kills the process in the guest, too."""
        runner = self.linux()
        with self.assertRaises(Exception):  # noqa: B017 - which error is another test's matter
            self.bounded(lambda: runner.exec("sleep 61.25 & sleep 61.25", timeout=0.3))
        self.assertEqual(self.output("pgrep -fc '[s]leep 61.25' || true"), "0")

    def test_text_of_any_script_passes_through_a_command(self) -> None:
        text = "héllo Ж 你好 🙂 'q' \"d\" $HOME \\n"
        self.assertEqual(self.output("cat <<'END_OF_TEXT'\n" + text + "\nEND_OF_TEXT"), text)

    def test_a_command_ended_by_a_signal_says_so(self) -> None:
        runner = self.linux()
        self.assertEqual(self.bounded(lambda: runner.exec("kill -9 $$")), 128 + 9)
