"""The ways of seeing, clicking and typing that are compared: ours, and those in use elsewhere."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from gym_anything.actions.model import Click, TypeText
from gym_anything.measure.desktop_rig import Rig

OURS = "ours"


@dataclass(frozen=True, slots=True)
class Way:
    """One way of doing something; ``missing`` says why it cannot be measured here."""

    name: str
    do: Callable[..., Any]
    missing: str | None = None


@contextlib.contextmanager
def reached_by_libraries(rig: Rig) -> Iterator[None]:
    """Let libraries in this process, which read the environment, reach the screen."""
    before = {name: os.environ.get(name) for name in rig.screen.env}
    os.environ.update(rig.screen.env)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for name in [name for name in sys.modules if name.startswith("pyautogui")]:
            del sys.modules[name]  # it stays with the display of its import


def ways_to_see(rig: Rig) -> list[Way]:
    """Return the ways to get the screen's pixels into this process; the first is ours."""
    path = str(rig.folder / "grab")
    return [
        Way(OURS, lambda: rig.desktop.frame().array),
        Way("ours, PIL image", lambda: _as_image(rig)),
        Way("Pillow ImageGrab", lambda: _grab(rig), _no_grab()),
        Way("scrot", lambda: _read(rig, ["scrot", "-o", path + ".png"], ".png"), _no_program("scrot")),
        Way("import", lambda: _read(rig, _import_argv(path + ".ppm"), ".ppm"), _no_program("import")),
        Way("pyautogui", lambda: _pyautogui().screenshot(), _no_pyautogui()),
    ]


def ways_to_click(rig: Rig) -> list[Way]:
    """Return the ways to move and click: called with x and y."""
    return [
        Way(OURS, lambda x, y: rig.desktop.send([Click("left", x, y)])),
        Way("xdotool", lambda x, y: rig.run(_xdotool_click(x, y)), _no_program("xdotool")),
        Way("pyautogui", lambda x, y: _pyautogui().click(x, y), _no_pyautogui()),
    ]


def ways_to_type(rig: Rig) -> list[Way]:
    """Return the ways to type: called with the text."""
    return [
        Way(OURS, lambda text: rig.desktop.send([TypeText(text)])),
        Way("xdotool", lambda text: rig.run(["xdotool", "type", "--delay", "0", text]), _no_program("xdotool")),
        Way("pyautogui", lambda text: _pyautogui().write(text), _no_pyautogui()),
    ]


def _xdotool_click(x: int, y: int) -> list[str]:
    return ["xdotool", "mousemove", str(x), str(y), "click", "1"]


def _import_argv(path: str) -> list[str]:
    return ["import", "-silent", "-window", "root", "-depth", "8", path]  # 16 bits would take Pillow seconds to read


def _as_image(rig: Rig) -> Any:
    from PIL import Image

    return Image.fromarray(rig.desktop.frame().array.copy(), mode="RGB")


def _grab(rig: Rig) -> Any:
    from PIL import ImageGrab

    return ImageGrab.grab(xdisplay=rig.screen.env["DISPLAY"])


def _read(rig: Rig, argv: list[str], suffix: str) -> Any:
    from PIL import Image

    rig.run(argv)
    with Image.open(rig.folder / f"grab{suffix}") as image:
        image.load()
        return image


def _pyautogui() -> Any:
    import importlib

    module: Any = importlib.import_module("pyautogui")
    module.PAUSE, module.FAILSAFE = 0, False
    return module


def _no_grab() -> str | None:
    from PIL import features

    return None if features.check("xcb") else "this Pillow was built without X support"


def _no_program(name: str) -> str | None:
    return None if shutil.which(name) else f"{name} is not installed"


def _no_pyautogui() -> str | None:
    """It connects to the display of its import, and asks for Tk and an authority file of its own: import it to know."""
    if find_spec("pyautogui") is None:
        return "pyautogui is not installed"
    try:
        _pyautogui()
    except Exception as error:  # noqa: BLE001 - the boundary to a stranger's import: it may raise anything
        return f"pyautogui does not import: {type(error).__name__}: {error}"
    return None
