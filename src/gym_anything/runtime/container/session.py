"""Brings the desktop of a world in a container up from outside: each program is started through the guest channel."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence

from gym_anything._util.deadline import Deadline
from gym_anything.errors import DeadlineExceeded, GuestCommandFailed, WorldStartFailed
from gym_anything.runtime.container.inside import HOME_OF_OURS, IO
from gym_anything.runtime.container.people import LOGS
from gym_anything.runtime.container.shared_folder import X_SOCKETS, SharedFolder
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.session import desktop_files, environment, ready, x_wire
from gym_anything.runtime.session.accounts import AccountFiles
from gym_anything.runtime.session.desktop_options import DesktopOptions
from gym_anything.runtime.session.desktop_session import SessionPlace, display_of, session_plan
from gym_anything.runtime.session.keep_up import kept_up
from gym_anything.runtime.session.plan import SessionPlan
from gym_anything.specs.env_spec import EnvSpec

DESKTOP_SOCKET, DESKTOP_TOKEN = "desktop/socket", "desktop/token"
VNC_SOCKET = "vnc/socket"
_NEEDED = {"Xvnc": "tigervnc-standalone-server", "openbox": "openbox", "tint2": "tint2", "dbus-daemon": "dbus"}
"""Program of a default desktop -> Debian package that brings it."""


def needs_desktop(spec: EnvSpec) -> bool:
    """Tell whether the spec wants anything of a desktop: a picture, a tree, a pointer, a keyboard."""
    seen = any(spec.observation_of(kind) is not None for kind in ("rgb_screen", "ui_tree"))
    return seen or any(action.type in ("mouse", "keyboard") for action in spec.action)


def plan_session(spec: EnvSpec, options: DesktopOptions, people: AccountFiles) -> SessionPlan:
    """Return what the desktop is made of. Pure."""
    desktop = people.desktop
    place = SessionPlace(
        display=display_of(desktop),
        runtime=environment.runtime_folder(desktop),
        config=desktop_files.FOLDER,
        vnc_socket=f"{IO}/{VNC_SOCKET}",
        desktop_program=f"{HOME_OF_OURS}/ga-desktop",
    )
    env = {**environment.base_env(desktop), **environment.desktop_env(desktop)}
    return session_plan(spec, options, desktop, place, env, switch_user=True)


class Session:
    """One bring-up, step by step; ``Aborted`` comes out of ``check``."""

    def __init__(
        self,
        channel: GuestChannel,
        folder: SharedFolder,
        plan: SessionPlan,
        people: AccountFiles,
        deadline: Deadline,
        check: Callable[[], object],
    ) -> None:
        self._channel = channel
        self._folder = folder
        self._plan = plan
        self._user = people.desktop.name
        self._deadline = deadline
        self._check = check
        self.stages: dict[str, float] = {}
        self._began = time.monotonic()

    def bring_up(self, options: DesktopOptions, *, wants_tree: bool) -> None:
        """Start everything and wait until a window manager manages and the panel is there.

        Raises: WorldStartFailed naming what is missing, with the end of its log; BootTimedOut; Aborted.
        """
        self._write_files(options, wants_tree=wants_tree)
        for argv in self._plan["early"]:
            self._spawn(argv, "session")
        server = self._spawn(self._plan["server_argv"], "server")
        try:
            wire = self._connect(server)
            try:
                self._dress(wire)
            finally:
                wire.close()
        except (OSError, DeadlineExceeded) as error:
            self._check()
            tail = self.log_tail()
            raise WorldStartFailed(
                f"the desktop did not come up: {error}; log tail:\n{tail}", detail={"log_tail": tail}
            ) from error

    def start_service(self, token: bytes) -> str:
        """Start ``ga-desktop`` and return the path of its socket once it serves."""
        self._channel.put_file(token, f"{IO}/{DESKTOP_TOKEN}", deadline=self._deadline, mode=0o400, owner=self._user)
        words = [f"{HOME_OF_OURS}/ga-desktop", "--display", f":{self._plan['display']}", "--token-fd", "3"]
        words += ["--socket", f"{IO}/{DESKTOP_SOCKET}", "--wait-display", "30"]
        pid = self._spawn(["/bin/sh", "-c", f'exec "$@" 3< {IO}/{DESKTOP_TOKEN}', "ga-desktop", *words], "desktop")

        def going_on() -> None:
            self._check()
            if self._ended(pid):
                tail = self.log_tail()
                raise WorldStartFailed(f"the desktop service ended; log tail:\n{tail}", detail={"log_tail": tail})

        path = self._folder.await_socket(
            DESKTOP_SOCKET, deadline=self._deadline, awaited="the desktop service", check=going_on
        )
        self._tell("service")
        return path

    def log_tail(self) -> str:
        """Return the end of the session's logs, each line with its file's name; empty when the world is gone."""
        script = f"cd {shlex.quote(LOGS)} && for f in *.log; do tail -n 8 $f | sed s/^/[$f]\\ /; done"
        try:
            done = self._channel.exec(["/bin/sh", "-c", script], deadline=Deadline.after(5))
        except GuestCommandFailed:
            return ""
        return done.stdout.decode(errors="replace")

    def _dress(self, wire: x_wire.XWire) -> None:
        """Paint the wallpaper, start window manager and panel, and wait for them."""
        plan, until = self._plan, self._deadline.at
        self._tell("server")
        if plan["gradient"]:
            wire.paint_root(plan["gradient"], plan["size"][1])
        if plan["wallpaper"]:
            self._run(plan["wallpaper"])
        if plan["window_manager"]:
            self._spawn(kept_up(plan["window_manager"]), "session")
            probe = ready.await_window_manager(wire, until)
            self._tell("window-manager")
            if plan["panel"]:  # only now: a panel started beside its window manager waits a second for it
                self._spawn(kept_up(plan["panel"]), "session")
            ready.await_clients(wire, probe, until, panel=bool(plan["panel"]))
        wire.sync()
        self._tell("ready")

    def _connect(self, server: int) -> x_wire.XWire:
        display = self._plan["display"]

        def going_on() -> None:
            self._check()
            if self._ended(server):
                raise OSError("the X server ended while it started")

        path = self._folder.await_socket(
            f"{X_SOCKETS}/X{display}", deadline=self._deadline, awaited="the X server", check=going_on
        )
        return x_wire.connect(path, self._deadline.at, lambda: self._ended(server), check=self._check)

    def _write_files(self, options: DesktopOptions, *, wants_tree: bool) -> None:
        """Write the settings of the session, for the programs and icons that the image has."""
        present = self._present()
        applications = desktop_files.installed_applications(present.__contains__)
        files = desktop_files.desktop_files(applications, desktop_files.FOLDER, exists=present.__contains__)
        if "/usr/bin/chromium" in present:
            # A container forbids the namespaces that Chromium's own sandbox is made of; the container is the sandbox.
            flags = desktop_files.chromium_flags(options, wants_tree=wants_tree, own_sandbox=False)
            files["/etc/chromium.d/gym-anything"] = flags
        for path, text in files.items():
            self._channel.put_file(text.encode(), path, deadline=self._deadline)

    def _present(self) -> set[str]:
        """Return which of the paths we may ask for exist. Raises: WorldStartFailed when the image lacks a program."""
        plan = self._plan
        programs = [a[0] for a in (*plan["early"], plan["server_argv"], plan["window_manager"], plan["panel"]) if a]
        script = (
            'for p in "$@"; do case "$p" in /*) [ ! -e "$p" ] || echo "$p";; '
            '*) command -v "$p" >/dev/null || echo "lacks $p";; esac; done'
        )
        argv = ["/bin/sh", "-c", script, "sh", *programs, *desktop_files.paths_asked()]
        lines = self._channel.exec(argv, deadline=self._deadline).stdout.decode(errors="replace").splitlines()
        lacking = [line.removeprefix("lacks ") for line in lines if line.startswith("lacks ")]
        if lacking:
            packages = " ".join(_NEEDED.get(name, name) for name in lacking)
            fix = f"add to its recipe: apt-get install -y --no-install-recommends {packages}"
            raise WorldStartFailed(
                f"the image has no {', '.join(lacking)}, which the desktop needs. Fix: {fix} (or build it FROM "
                "gym-anything's debian-desktop, or set skip_display_audio_bootstrap when it starts an X server itself)",
                detail={"fix": fix},
            )
        return set(lines)

    def _spawn(self, argv: Sequence[str], log: str) -> int:
        return self._channel.spawn(
            argv,
            deadline=self._deadline,
            user=self._user,
            env=self._plan["env"],
            cwd=self._plan["home"],
            log_path=f"{LOGS}/{log}.log",
        )

    def _run(self, argv: Sequence[str]) -> None:
        done = self._channel.exec(argv, deadline=self._deadline, user=self._user, env=self._plan["env"])
        if not done.ok:
            raise OSError(f"{argv[0]} failed: {(done.stderr or done.stdout)[-500:].decode(errors='replace')}")

    def _ended(self, pid: int) -> bool:
        return self._channel.poll_spawned(pid, deadline=self._deadline) is not None

    def _tell(self, stage: str) -> None:
        self.stages[stage] = time.monotonic() - self._began
