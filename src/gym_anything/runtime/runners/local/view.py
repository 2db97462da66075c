"""Gathers what a plan needs to know of this host."""

from __future__ import annotations

import getpass
from pathlib import Path

from gym_anything.errors import SpecInvalid
from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.runners.local.command import HostView
from gym_anything.runtime.runners.local.host_view import chromium_settings, host_binds, host_links, resolv_conf
from gym_anything.runtime.runners.local.options import LocalOptions
from gym_anything.runtime.runners.local.sandbox import identity
from gym_anything.runtime.session.desktop_files import installed_applications
from gym_anything.specs.env_spec import EnvSpec


def shortfalls(options: LocalOptions, host: HostView) -> list[str]:
    """Return what this host denies every world of this user, in sentences with the fix."""
    if not (host.single_id and options.sandbox):
        return []
    name = getpass.getuser()
    return [
        "this user is granted one id only, so root and the desktop's user are the same in the world; fix: sudo apt-get "
        f"install uidmap && sudo usermod --add-subuids 200000-265535 --add-subgids 200000-265535 {name}"
    ]


def host_view(spec: EnvSpec, options: LocalOptions) -> HostView:
    """Look at the host, now. Raises: NativeProgramMissing."""
    _check_wallpaper(options.wallpaper)
    extra = [*options.host_paths, *([options.wallpaper] if options.wallpaper.startswith("/") else [])]
    return HostView(
        binds=host_binds(extra),
        links=host_links(),
        applications=installed_applications(),
        chromium=chromium_settings(),
        guest_program=str(native_program("ga-guest")),
        waiter_program=str(native_program("ga-wait")),
        desktop_program=str(native_program("ga-desktop")),
        resolv_conf=resolv_conf() if spec.resources.net else "",
        single_id=identity.kind_of_range() == "single",
        has_sudo=Path("/usr/bin/sudo").exists(),
    )


def _check_wallpaper(wallpaper: str) -> None:
    """Raise SpecInvalid for a picture that is none: what paints it says nothing and leaves a black screen."""
    if not wallpaper.startswith("/"):
        return
    from PIL import Image

    try:
        with Image.open(wallpaper) as picture:
            picture.verify()
    except (OSError, SyntaxError, ValueError) as error:
        raise SpecInvalid(
            f"runner_options.wallpaper: {wallpaper} is no picture that can be shown: {error}",
            detail={"key": "runner_options.wallpaper", "fix": "name a PNG or JPEG file, a colour, or 'default'"},
        ) from error
