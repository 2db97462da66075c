"""The ways of seeing, clicking and typing that are compared: ours, and those in use elsewhere."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Any

from gym_anything.actions.model import Click, TypeText
from gym_anything.measure.desktop_rig import Rig
from gym_anything.measure.http_screen import HttpScreen
from gym_anything.measure.pyautogui_way import PyAutoGui
from gym_anything.measure.screen_environment import ScreenEnvironment
from gym_anything.measure.way import OURS, WAYS, Way


class Ways:
    """The ways on one screen, made ready. A context manager; its end leaves nothing."""

    def __init__(self, rig: Rig, wanted: Collection[str] = WAYS) -> None:
        """Args: wanted: keys of ``WAYS``; ours is there in any case."""
        self._rig = rig
        self._wanted = {OURS, *wanted}
        self._path = str(rig.folder / "grab")
        self._parts = contextlib.ExitStack()
        try:
            self._parts.enter_context(ScreenEnvironment(rig.library_env))
            self._pyautogui = self._parts.enter_context(PyAutoGui())
            self.http = self._parts.enter_context(HttpScreen(rig)) if "http" in self._wanted else None
        except BaseException:
            self._parts.close()
            raise

    def to_see(self) -> list[Way]:
        """Return the ways to get the screen's pixels into this process, as an array or a PIL image."""
        rig, scrot = self._rig, _no_program("scrot")
        return self._chosen(
            Way(OURS, "ours", lambda: rig.desktop.frame().array),
            Way("ours_image", "ours, PIL image", lambda: _as_image(rig.desktop.frame().array)),
            Way("pillow", "Pillow ImageGrab", self._grab, _no_grab()),
            Way("scrot", "scrot", self._scrot, scrot),
            Way("import", "import", self._import, _no_program("import")),
            Way("pyautogui", "pyautogui", self._pyautogui_picture, self._pyautogui.missing or scrot),
            Way("http", "PNG over HTTP", self._http_picture, _no_grab()),
        )

    def to_click(self) -> list[Way]:
        """Return the ways to move and click: called with x and y."""
        rig = self._rig
        return self._chosen(
            Way(OURS, "ours", lambda x, y: rig.desktop.send([Click("left", x, y)])),
            Way("xdotool", "xdotool", self._xdotool_click, _no_program("xdotool")),
            Way("pyautogui", "pyautogui", self._pyautogui_click, self._pyautogui.missing),
            Way("http", "POST over HTTP", self._http_click, self._pyautogui.missing),
        )

    def to_click_and_see(self) -> list[tuple[Way, Callable[[], Any]]]:
        """Return the ways to click, each with its own way to see: programs that click by xdotool see by scrot."""
        seeing = {way.key: way for way in self.to_see()}
        seeing["xdotool"] = Way("scrot", "scrot", self._scrot, _no_program("scrot"))
        pairs = []
        for way in self.to_click():
            sees = seeing[way.key]
            name = "xdotool + scrot" if way.key == "xdotool" else sees.name
            pairs.append((Way(way.key, name, way.do, way.missing or sees.missing), sees.do))
        return pairs

    def to_type(self) -> list[Way]:
        """Return the ways to type: called with the text."""
        rig = self._rig
        return self._chosen(
            Way(OURS, "ours", lambda text: rig.desktop.send([TypeText(text)])),
            Way("xdotool", "xdotool", self._xdotool_type, _no_program("xdotool")),
            Way("pyautogui", "pyautogui", lambda text: self._pyautogui.module.write(text), self._pyautogui.missing),
        )

    def missing(self) -> dict[str, str]:
        """Return why a wanted way cannot be measured here, by its name."""
        every = [*self.to_see(), *self.to_click(), *(way for way, _ in self.to_click_and_see()), *self.to_type()]
        return {way.name: way.missing for way in every if way.missing}

    def close(self) -> None:
        """Stop what was started; idempotent."""
        self._parts.close()

    def __enter__(self) -> Ways:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _chosen(self, *ways: Way) -> list[Way]:
        return [way for way in ways if way.is_ours or way.key in self._wanted]

    def _grab(self) -> Any:
        from PIL import ImageGrab

        return ImageGrab.grab(xdisplay=self._rig.screen.env["DISPLAY"])

    def _scrot(self) -> Any:
        return self._read(["scrot", "-o", f"{self._path}.png"], f"{self._path}.png")

    def _import(self) -> Any:
        path = f"{self._path}.ppm"  # 16 bits would take Pillow seconds to read
        return self._read(["import", "-silent", "-window", "root", "-depth", "8", path], path)

    def _read(self, argv: list[str], path: str) -> Any:
        from PIL import Image

        self._rig.run(argv)
        with Image.open(path) as image:
            image.load()
            return image

    def _pyautogui_picture(self) -> Any:
        return self._pyautogui.picture(self._rig.folder / "pyautogui.png")

    def _pyautogui_click(self, x: int, y: int) -> None:
        self._pyautogui.module.click(x, y)

    def _http_picture(self) -> Any:
        assert self.http is not None
        return self.http.picture()

    def _http_click(self, x: int, y: int) -> None:
        assert self.http is not None
        self.http.click(x, y)

    def _xdotool_click(self, x: int, y: int) -> None:
        self._rig.run(["xdotool", "mousemove", str(x), str(y), "click", "1"])

    def _xdotool_type(self, text: str) -> None:
        self._rig.run(["xdotool", "type", "--delay", "0", "--", text])


def pixel_of(picture: Any, x: int, y: int) -> int:
    """Return the colour at a point of an array or a PIL image, as 0xRRGGBB."""
    values: Any = picture.getpixel((x, y)) if hasattr(picture, "getpixel") else picture[y, x]
    red, green, blue = (int(value) for value in values[:3])
    return red << 16 | green << 8 | blue


def _as_image(array: Any) -> Any:
    from PIL import Image

    return Image.fromarray(array.copy(), mode="RGB")


def _no_grab() -> str | None:
    from PIL import features

    return None if features.check("xcb") else "this Pillow was built without X support"


def _no_program(name: str) -> str | None:
    return None if shutil.which(name) else f"{name} is not installed"
