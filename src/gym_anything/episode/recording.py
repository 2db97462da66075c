"""Work on frames that no step waits for: the video, and in fast mode the PNG files. One thread per open episode."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_anything.episode.video import Video
from gym_anything.errors import GymAnythingError

if TYPE_CHECKING:
    from gym_anything.observations.frame import Frame, RgbArray

_QUEUE_LENGTH = 4
_CLOSE_SECONDS = 10.0
_WARNED_ABOUT_DROPS = "recording: the encoder did not keep up; {count} pictures were left out"


class FrameWork:
    """Takes frames from the episode's thread without making it wait; encodes and saves them in its own.

    ``offer`` never blocks: when the thread is behind, pictures are left out and counted. With a ``sample`` function the
    thread also looks at the screen by itself, at the video's rate.
    """

    def __init__(self, video: Video | None, *, fps: float, sample: Callable[[], Frame] | None = None) -> None:
        self._video = video
        self._interval_s = 1.0 / fps
        self._sample = sample
        self._queue: deque[tuple[RgbArray, float, Path | None]] = deque()
        self._wake = threading.Condition()
        self._looking = threading.Lock()
        self._closing = False
        self._paused_at: float | None = None
        self._left_out_s = 0.0
        self._began: float | None = None
        self._offered_at = float("-inf")
        self._last: RgbArray | None = None
        self._dropped = 0
        self._busy = False
        self.notes: list[str] = []
        self._thread: threading.Thread | None = None

    def wants_picture(self) -> bool:
        """Tell whether the video has room for a picture now (at most ``fps`` a second)."""
        if self._video is None or self._paused_at is not None:
            return False
        return time.monotonic() - self._offered_at >= self._interval_s

    def offer(self, picture: RgbArray, *, save_to: Path | None = None) -> bool:
        """Hand over a picture that nobody will change; returns whether it was taken.

        Args: save_to: also write it there as PNG.
        """
        with self._wake:
            if self._closing or len(self._queue) >= _QUEUE_LENGTH:
                self._dropped += 1
                return False
            self._offered_at = time.monotonic()
            self._queue.append((picture, self._offered_at, save_to))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="episode-frames", daemon=True)
                self._thread.start()
            self._wake.notify_all()
        return True

    def pause(self) -> None:
        """Leave what follows out of the video."""
        with self._wake:
            if self._paused_at is None:
                self._paused_at = time.monotonic()

    def resume(self) -> None:
        """Record again; the time in between is not in the video."""
        with self._wake:
            if self._paused_at is not None:
                self._left_out_s += time.monotonic() - self._paused_at
                self._paused_at = None

    @contextmanager
    def not_looking(self) -> Iterator[None]:
        """Leave the world alone while inside; a look under way is waited for."""
        with self._looking:
            yield

    def flush(self) -> None:
        """Wait until everything handed over so far is on its way to disk; seconds at most."""
        with self._wake:
            self._wake.wait_for(lambda: not self._queue and not self._busy, _CLOSE_SECONDS)

    def close(self) -> None:
        """Finish what was handed over, end the file and the thread. Idempotent; blocks seconds at most."""
        self.resume()
        with self._wake:
            self._closing = True
            self._wake.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_CLOSE_SECONDS)
            if thread.is_alive():
                self.notes.append(f"recording: the encoder did not end within {_CLOSE_SECONDS:.0f} s")
        self._thread = None
        if self._dropped:
            self.notes.append(_WARNED_ABOUT_DROPS.format(count=self._dropped))
            self._dropped = 0

    # --- the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while True:
                item = self._next()
                if item is None:
                    break
                self._work(*item)
                self._set_idle()
            if self._video is not None:
                self._video.close(self._video_time(time.monotonic()))
        except Exception as error:  # noqa: BLE001 - boundary: an encoder that fails must not end the episode
            self.notes.append(f"recording ended early: {type(error).__name__}: {error}")
            self._sample = None
            with contextlib.suppress(Exception):
                if self._video is not None:
                    self._video.close(0.0)
            self._video = None
            self._set_idle()
            self._drain()

    def _next(self) -> tuple[RgbArray, float, Path | None] | None:
        """Return the next picture, from the queue or the screen; None at the end."""
        while True:
            with self._wake:
                if not self._queue and not self._closing:
                    self._wake.wait(self._interval_s if self._sample is not None else None)
                if self._queue:
                    self._busy = True
                    return self._queue.popleft()
                if self._closing:
                    return None
            picture = self._look()
            if picture is not None:
                return picture, time.monotonic(), None

    def _look(self) -> RgbArray | None:
        sample = self._sample
        if sample is None or not self.wants_picture():
            return None
        try:
            with self._looking:
                return sample().array
        except GymAnythingError:  # the world is going or gone; the episode's own thread finds out and says so
            self._sample = None
            return None

    def _work(self, picture: RgbArray, at: float, save_to: Path | None) -> None:
        if save_to is not None:
            from gym_anything.observations.encode import write_png

            write_png(save_to, picture)
        if self._video is None or self._paused_at is not None or self._is_same(picture):
            return
        if self._began is None:
            self._began = at
        self._video.add(picture, self._video_time(at))
        self._last = picture

    def _is_same(self, picture: RgbArray) -> bool:
        import numpy as np

        last = self._last
        return last is not None and last.shape == picture.shape and bool(np.array_equal(last, picture))

    def _video_time(self, at: float) -> float:
        return 0.0 if self._began is None else max(0.0, at - self._began - self._left_out_s)

    def _drain(self) -> None:
        """Go on saving frames after the video has ended."""
        while (item := self._next()) is not None:
            if item[2] is not None:
                self._work(*item)
            self._set_idle()

    def _set_idle(self) -> None:
        with self._wake:
            self._busy = False
            self._wake.notify_all()


def start_frame_work(path: Path, recording: Any, *, sample: Callable[[], Frame] | None) -> FrameWork:
    """Return the frame work of an episode; with recording disabled it saves PNG files only."""
    video = Video(path, recording) if recording.enable else None
    return FrameWork(video, fps=float(recording.video_fps), sample=sample if video is not None else None)
