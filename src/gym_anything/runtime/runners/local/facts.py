"""What the class of local worlds says about itself and this host, before any world exists."""

from __future__ import annotations

import shutil
from typing import Any

from gym_anything.errors import MissingDependency, NativeProgramMissing
from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.runners.compatibility import RunnerCompatibility
from gym_anything.runtime.runners.local.options import LocalOptions
from gym_anything.runtime.runners.local.trial import try_sandbox
from gym_anything.runtime.session.ui_tree import PROGRAMS, missing_packages
from gym_anything.specs.env_spec import EnvSpec

PACKAGES = {
    "Xvnc": "tigervnc-standalone-server",
    "openbox": "openbox",
    "tint2": "tint2",
    "dbus-daemon": "dbus",
    "xkbcomp": "x11-xkb-utils",
}
"""Program -> Debian package that a default desktop needs."""
_SEARCH = "/usr/sbin:/usr/bin:/sbin:/bin"
NATIVE = ("ga-guest", "ga-desktop", "ga-wait")
PRESET = "debian-desktop"

_OTHER_WORLDS = ("image", "dockerfile", "entrypoint", "apptainer", "avd", "adb", "apks")


def eligible(spec: EnvSpec | None) -> bool:
    """Tell whether detection may choose a local world: only for specs without a machine of their own."""
    if spec is None:
        return True
    if spec.os_type != "linux" or (spec.base is not None and spec.base != PRESET):
        return False
    return not any(getattr(spec, name) for name in _OTHER_WORLDS)


def compatibility_row(name: str) -> RunnerCompatibility:
    """Return the row of ``gym-anything compatibility``."""
    return RunnerCompatibility(
        runner=name,
        platforms=("linux",),
        fast_io=True,
        checkpoint_caching=True,
        savevm=False,
        live_recording=True,
        time_control=False,
        acks_input_delivery=True,
        notes=("a private desktop on this machine, in a sandbox of user namespaces", "software: what this host has"),
    )


def missing_programs() -> dict[str, dict[str, Any]]:
    """Return a doctor's row for each program a desktop needs."""
    rows: dict[str, dict[str, Any]] = {}
    for program, package in PACKAGES.items():
        found = shutil.which(program, path=_SEARCH)
        rows[program] = {"ok": found is not None, "detail": found or "not found", "fix": f"apt-get install {package}"}
    for name in NATIVE:
        try:
            rows[name] = {"ok": True, "detail": str(native_program(name)), "fix": ""}
        except NativeProgramMissing as error:
            rows[name] = {"ok": False, "detail": str(error), "fix": str(error.detail.get("fix", ""))}
    return rows


def status() -> dict[str, Any]:
    """Try what a local world needs and return the doctor's answer.

    A failure is asked for again each time, a success is remembered for this process: detection asks at every start.
    """
    global _good
    if _good is None:
        rows = missing_programs()
        if all(row["ok"] for row in rows.values()):
            rows["sandbox"] = try_sandbox()
        for package in missing_packages():
            rows[package] = {
                "ok": False,
                "detail": "no accessibility tree without it",
                "fix": f"apt-get install {package}",
            }
        needed = {name: row for name, row in rows.items() if name not in PROGRAMS.values()}
        bad = [f"{name}: {row['detail']}" for name, row in needed.items() if not row["ok"]]
        answer = {"available": not bad, "reason": "; ".join(bad) or None, "deps": rows}
        if bad:
            return answer
        _good = answer
    return _good


_good: dict[str, Any] | None = None


def require_programs(options: LocalOptions) -> None:
    """Check that what these options start is installed. Raises: MissingDependency with the fix."""
    unused = {"none", *([] if options.accessibility else ["dbus-daemon"])}
    wanted = ["Xvnc", "xkbcomp", options.window_manager, options.panel, "dbus-daemon"]
    wanted += ["hsetroot"] if options.wallpaper.startswith("/") else []
    missing = [name for name in wanted if name not in unused and shutil.which(name, path=_SEARCH) is None]
    if missing:
        packages = " ".join(PACKAGES.get(name, name) for name in missing)
        raise MissingDependency(
            f"not installed: {', '.join(missing)}. Fix: sudo apt-get install --no-install-recommends {packages}",
            detail={"fix": f"sudo apt-get install --no-install-recommends {packages}"},
        )


def install_steps() -> list[dict[str, str]]:
    """Return how to install what a local world needs."""
    packages = " ".join(sorted(set(PACKAGES.values())))
    return [
        {"title": "X server, window manager, panel", "command": f"apt-get install --no-install-recommends {packages}"},
        {"title": "ids for worlds of an ordinary user", "command": "apt-get install --no-install-recommends uidmap"},
        {"title": "network for worlds that ask for it", "command": "apt-get install --no-install-recommends passt"},
    ]
