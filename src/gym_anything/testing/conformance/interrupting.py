"""Ctrl-C at a chosen moment of a call, as a person would press it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def in_main_thread() -> bool:
    """Tell whether signals can be caught here."""
    return threading.current_thread() is threading.main_thread()


def interrupted(act: Callable[[], Any], after_s: float) -> bool:
    """Do a call and press Ctrl-C after a while; tell whether it was hit.

    Called: in the main thread. A call that ends earlier is not hit, and no interrupt comes later.
    Raises: what the call raises, save the KeyboardInterrupt.
    """
    armed = True

    def press(number: int, frame: FrameType | None) -> None:
        if armed:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, press)
    main = threading.main_thread()
    timer = threading.Timer(after_s, lambda: signal.pthread_kill(main.ident or 0, signal.SIGINT))
    try:
        timer.start()  # inside: the key may be pressed before start() has returned
        act()
        armed = False
        return False
    except KeyboardInterrupt:
        return True
    finally:
        armed = False
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
