"""Hook command lines wrapped for the shell of the guest's family, with their log."""

from __future__ import annotations

import shlex

_LOG_NAMES = {
    "pre_start": "env_setup_pre_start.log",
    "post_start": "env_setup_post_start.log",
    "pre_task": "task_pre_task.log",
    "post_task": "task_post_task.log",
}
_LOG_FOLDERS = {
    "linux": "/home/ga/",
    "windows": "C:\\Users\\Docker\\",
    "android": "/sdcard/",
    "macos": "/Users/lume/",
}


def hook_log_path(stage: str, *, family: str) -> str:
    """Return the guest path of a stage's log: in the desktop user's home."""
    return _LOG_FOLDERS.get(family, _LOG_FOLDERS["linux"]) + _LOG_NAMES.get(stage, f"env_{stage}.log")


def hook_command(cmd: str, *, family: str, log_path: str) -> str:
    """Return the command line that runs ``cmd`` whole in the family's shell, its output appended to ``log_path``.

    The exit code of ``cmd`` is the exit code of the result: no pipe through ``tee``.
    """
    if family == "windows":
        quoted_log = log_path.replace("'", "''")
        quoted = cmd.replace("'", "''")
        return (
            "$ErrorActionPreference='Continue'; $global:LASTEXITCODE=0; "
            f"& ([ScriptBlock]::Create('{quoted}')) *>> '{quoted_log}'; "
            "if (-not $? -and $LASTEXITCODE -eq 0) { exit 1 }; exit $LASTEXITCODE"
        )
    shell = "sh -c" if family == "android" else "bash -lc"
    return f"{shell} {shlex.quote(cmd)} >> {shlex.quote(log_path)} 2>&1"
