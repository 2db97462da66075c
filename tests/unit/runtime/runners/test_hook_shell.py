"""Hook command lines, wrapped for each family and run in a real shell."""

from __future__ import annotations

import subprocess

import pytest

from gym_anything.runtime.runners.hook_shell import hook_command, hook_log_path

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("family", "path"),
    [
        ("linux", "/home/ga/env_setup_pre_start.log"),
        ("windows", "C:\\Users\\Docker\\env_setup_pre_start.log"),
        ("android", "/sdcard/env_setup_pre_start.log"),
        ("macos", "/Users/lume/env_setup_pre_start.log"),
    ],
)
def test_each_family_keeps_its_logs_in_the_users_home(family, path):
    assert hook_log_path("pre_start", family=family) == path


@pytest.mark.parametrize(
    ("cmd", "code", "logged"),
    [
        ("echo one && echo 'two  words'", 0, "one\ntwo  words\n"),
        ("FOO='a b'; echo \"$FOO\" | tr a-z A-Z", 0, "A B\n"),
        ("echo out; echo err >&2; exit 7", 7, "out\nerr\n"),
        ("false | true", 0, ""),
        ("echo '; rm -rf' \"$(echo sub)\" \\$HOME", 0, "; rm -rf sub $HOME\n"),
        ("cat <<'END'\nline 'one'\nEND", 0, "line 'one'\n"),
        ("no_such_command_xyz 2>/dev/null", 127, ""),
    ],
)
@pytest.mark.parametrize("family", ["linux", "android"])
def test_a_whole_command_line_keeps_its_meaning_its_exit_code_and_its_output(tmp_path, family, cmd, code, logged):
    log = tmp_path / "it's a log"
    wrapped = hook_command(cmd, family=family, log_path=str(log))
    assert subprocess.run(["sh", "-c", wrapped], check=False, timeout=30).returncode == code
    assert log.read_text() == logged


def test_powershell_gets_the_hook_as_one_quoted_block():
    wrapped = hook_command("Write-Output 'it''s'", family="windows", log_path="C:\\Users\\O'Neil\\x.log")
    assert "Create('Write-Output ''it''''s''')" in wrapped
    assert "'C:\\Users\\O''Neil\\x.log'" in wrapped
