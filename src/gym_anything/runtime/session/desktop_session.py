"""What the desktop of a world is made of: the programs of its session and their arguments. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gym_anything.runtime.session.accounts import Account
from gym_anything.runtime.session.desktop_options import DesktopOptions
from gym_anything.runtime.session.plan import SessionPlan
from gym_anything.specs.env_spec import EnvSpec

DEFAULT_SIZE = (1920, 1080)
DEFAULT_DISPLAY = 1
FREE_DISPLAY = -1
DESKTOP_NAME = "desktop"


@dataclass(frozen=True)
class SessionPlace:
    """Where the session finds and leaves its things.

    Attributes:
        display: number of the X display; ``FREE_DISPLAY`` takes the first free one.
        runtime: folder of sockets. config: folder of ``desktop_files``. vnc_socket: where the X server serves VNC.
        desktop_program: path of ``ga-desktop``.
        xauthority: file with the key to the display; empty where nobody else can reach it anyway.
        clean_locks: the file system is this world's alone, so that locks found there are left over.
    """

    display: int
    runtime: str
    config: str
    vnc_socket: str
    desktop_program: str
    xauthority: str = ""
    clean_locks: bool = True


def display_of(account: Account) -> int:
    """Return the number of the display: 1, or what the account's own ``DISPLAY`` says."""
    number = dict(account.env).get("DISPLAY", "").removeprefix(":").partition(".")[0]
    return int(number) if number.isascii() and number.isdigit() else DEFAULT_DISPLAY


def session_plan(
    spec: EnvSpec,
    options: DesktopOptions,
    account: Account,
    place: SessionPlace,
    env: dict[str, str],
    *,
    switch_user: bool,
) -> SessionPlan:
    """Return what the desktop is made of; all of it runs as ``account`` in the environment ``env``."""
    size = spec.screen_size or DEFAULT_SIZE
    bus = ["dbus-daemon", "--session", f"--address=unix:path={place.runtime}/bus", "--nofork", "--nopidfile"]
    manager = [options.window_manager, "--config-file", f"{place.config}/openbox.xml"]
    return SessionPlan(
        display=place.display,
        user=[account.uid, account.gid],
        groups=list(account.groups),
        switch_user=switch_user,
        home=account.home,
        env=env,
        early=[bus] if options.accessibility else [],
        server_argv=server_argv(size, place, view_only=spec.vnc.view_only, opengl=options.opengl),
        desktop_argv=desktop_argv(place.desktop_program),
        gradient=gradient(options),
        wallpaper=["hsetroot", "-cover", options.wallpaper] if options.wallpaper.startswith("/") else [],
        size=list(size),
        window_manager=[] if options.window_manager == "none" else manager,
        panel=[] if options.panel == "none" else [options.panel, "-c", f"{place.config}/tint2rc"],
        stale_locks=[["/tmp", ".X", "-lock"]] if place.clean_locks else [],
        wait_s=options.start_timeout_s,
    )


def server_argv(size: tuple[int, int], place: SessionPlace, *, view_only: bool, opengl: bool) -> list[str]:
    """Return the X server's command line: no TCP at all, VNC on a Unix socket that the host's forwarder reaches."""
    argv = ["Xvnc", *(["-displayfd", "@display"] if place.display == FREE_DISPLAY else [f":{place.display}"])]
    argv += ["-geometry", f"{size[0]}x{size[1]}", "-depth", "24", "-br", "-noreset", "-desktop", DESKTOP_NAME]
    argv += ["-auth", place.xauthority] if place.xauthority else ["-ac"]
    # The abstract socket stays: with it alone two servers that choose a display at once cannot take the same.
    argv += ["-nolisten", "tcp"]
    argv += ["-rfbport", "-1", "-rfbunixpath", place.vnc_socket, "-rfbunixmode", "0666"]
    # It keeps a second copy of the screen to find what really changed: 8 MiB that a local socket does not need.
    argv += ["-SecurityTypes", "None", "-AlwaysShared", "-CompareFB", "0"]
    if not opengl:
        argv += ["-extension", "GLX"]
    if view_only:
        argv += ["-AcceptKeyEvents=0", "-AcceptPointerEvents=0", "-AcceptCutText=0"]
    return argv


def desktop_argv(program: str) -> list[str]:
    """Return the desktop service's command line; the session fills in display, socket and token."""
    return [program, "--display", "@display", "--listen-fd", "@0", "--token-fd", "@1", "--wait-display", "30"]


def gradient(options: DesktopOptions) -> list[int]:
    """Return the colours of the wallpaper from top to bottom; none when a picture is shown."""
    if options.wallpaper == "default":
        return [0x14202E, 0x1F4258, 0x3F8391]
    return [int(options.wallpaper[1:], 16)] if options.wallpaper.startswith("#") else []
