"""pyautogui on a screen of ours, in this process. It connects to the display of its import: each screen imports it."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

_ITS_MODULES = ("pyautogui", "pyscreeze", "mouseinfo")


class PyAutoGui:
    """The module, imported for the screen that the environment names. A context manager; its end hangs up."""

    def __init__(self) -> None:
        """Import it; ``missing`` says why that did not work."""
        self.module: Any = None
        self.missing: str | None = None
        if find_spec("pyautogui") is None:
            self.missing = "pyautogui is not installed; pip install 'gym-anything[bench]'"
            return
        _forget()
        sys.modules["mouseinfo"] = None  # type: ignore[assignment]  # it ends the process where there is no Tk
        try:
            self.module = importlib.import_module("pyautogui")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to a stranger's import
            _forget()
            self.missing = f"pyautogui does not import: {type(error).__name__}: {error}"
            return
        self.module.PAUSE, self.module.FAILSAFE = 0, False  # as fast as it can

    def picture(self, path: Path) -> Any:
        """Return the screen as a PIL image. Without a path pyautogui writes into the working folder."""
        image = self.module.screenshot(str(path))
        image.load()
        path.unlink()  # scrot, which it calls, writes beside a file that is there
        return image

    def close(self) -> None:
        """Hang up; idempotent."""
        if self.module is not None:
            self.module.platformModule._display.close()
            self.module = None
            _forget()

    def __enter__(self) -> PyAutoGui:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in _ITS_MODULES]:
        del sys.modules[name]
