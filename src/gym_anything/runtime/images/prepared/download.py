"""Having a large file over HTTP: continued where it was cut, also by another process on another day; pinned."""

from __future__ import annotations

import errno
import hashlib
import http.client
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gym_anything._util.deadline import Deadline
from gym_anything._util.retry import Backoff, retry
from gym_anything.errors import HostError, SpecInvalid, SpecNotFound, Unreachable

STALL_S = 60.0
"""Without a byte for so long, the connection is given up and made again."""
BACKOFF = Backoff(attempts=6, base_s=0.5, max_s=15.0)
_CHUNK_BYTES = 1 << 20
_RANGE = re.compile(r"^bytes (\d+)-\d+/(\d+|\*)$")

Progress = Callable[[str, int, int | None], object]
"""Told what is being done, how many bytes of it are done, and of how many (None: not known)."""


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Wanted:
    """What is to be had: from where, and what it must be."""

    url: str
    sha256: str
    bytes: int | None = None


def download(
    wanted: Wanted,
    part: Path,
    *,
    progress: Progress = no_progress,
    backoff: Backoff | None = None,
    stall_s: float = STALL_S,
) -> Path:
    """Return ``part`` once it is the whole file; what an earlier try has left there is continued.

    Cut connections are made again as long as bytes come. Only one process at a time may work on one ``part``.
    Raises: SpecNotFound (the server has no such file), SpecInvalid (another digest or size than pinned; the file is
        removed), HostError (no room; the part stays), Unreachable (the part stays, a further call continues).
    """
    began_with = _size(part)
    fetch = _Fetch(wanted, part, progress, stall_s)
    while not fetch.whole():
        before = _size(part)
        try:
            retry(fetch.some, deadline=Deadline.never(), backoff=backoff or BACKOFF)
        except Unreachable:
            if _size(part) <= before:
                raise
    try:
        check_digest(part, wanted.sha256, origin=wanted.url, progress=progress)
    except SpecInvalid:
        part.unlink()
        if began_with:  # what was there may have been of another version: once more, from the beginning
            return download(wanted, part, progress=progress, backoff=backoff, stall_s=stall_s)
        raise
    return part


def fetch_small(url: str, limit: int, *, stall_s: float = STALL_S, backoff: Backoff | None = None) -> bytes:
    """Return a small document. Raises: SpecNotFound, SpecInvalid (larger than ``limit`` bytes), Unreachable."""

    def once(deadline: Deadline) -> bytes:
        with _open(url, {}, stall_s) as answer:
            try:
                data = answer.read(limit + 1)
            except (OSError, http.client.HTTPException) as error:
                raise Unreachable(f"{url} was cut: {error}") from error
        if len(data) > limit:
            raise SpecInvalid(f"{url} is larger than {limit} bytes", detail={"file": url})
        return data

    return retry(once, deadline=Deadline.never(), backoff=backoff or BACKOFF)


def check_digest(path: Path, sha256: str, *, origin: str, progress: Progress = no_progress) -> None:
    """Read a file whole. Raises: SpecInvalid when its content is not what the pin says; it stays where it is."""
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            progress("checking", done, total)
    if digest.hexdigest() != sha256:
        raise SpecInvalid(
            f"{origin} has the SHA-256 {digest.hexdigest()}, its pin says {sha256}: it is another version, or was "
            "changed on its way. Compare the pin with the one that the publisher names",
            detail={"file": origin, "key": "sha256", "expected": sha256, "found": digest.hexdigest()},
        )


def require_room(folder: Path, needed: int, *, for_what: str) -> None:
    """Raise HostError when a folder's disk has not this many bytes free."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise no_room(folder, f"{for_what} needs {needed >> 20} MiB, {free >> 20} MiB are free")


def no_room(folder: Path, what: str) -> HostError:
    """Return the error of a full disk."""
    fix = "free some, or name a folder on a larger disk in GYM_ANYTHING_IMAGE_DIR"
    return HostError(f"no room in {folder}: {what}; {fix}", detail={"path": str(folder), "fix": fix})


def is_full(error: OSError) -> bool:
    """Tell whether an error says that there is no room."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _RangeRefused(Exception):
    """The server has nothing after what is there already; ``total``: what it has (None: not said)."""

    def __init__(self, total: int | None) -> None:
        super().__init__(total)
        self.total = total


class _Fetch:
    """One file under way."""

    def __init__(self, wanted: Wanted, part: Path, progress: Progress, stall_s: float) -> None:
        self._wanted = wanted
        self._part = part
        self._progress = progress
        self._stall_s = stall_s
        self._total = wanted.bytes

    def whole(self) -> bool:
        """Tell whether all is there."""
        return self._total is not None and self._part.exists() and _size(self._part) == self._total

    def some(self, deadline: Deadline) -> None:
        """Get what is missing, as far as one connection carries. Raises: Unreachable when it ends early."""
        have = _size(self._part)
        if self._total is not None and have > self._total:
            self._part.unlink()
            have = 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        try:
            answer = _open(self._wanted.url, headers, self._stall_s)
        except _RangeRefused as refused:
            if refused.total != have:
                self._part.unlink()
                raise Unreachable(f"{self._wanted.url} is shorter than what is there of it: begun again") from refused
            self._take_total(have)
            return
        with answer:
            begin, total = _extent(answer, have)
            self._take_total(total)
            if begin > have:
                raise Unreachable(f"{self._wanted.url}: the server sent another part than asked for")
            require_room(self._part.parent, (total or begin) - begin, for_what=self._wanted.url)
            with self._part.open("r+b" if self._part.exists() else "w+b") as file:
                file.truncate(begin)
                file.seek(begin)
                self._copy(answer, file, begin)

    def _take_total(self, total: int | None) -> None:
        pinned = self._wanted.bytes
        if pinned is not None and total is not None and total != pinned:
            raise SpecInvalid(
                f"{self._wanted.url} has {total} bytes, its pin says {pinned}",
                detail={"file": self._wanted.url, "key": "bytes"},
            )
        self._total = total if total is not None else pinned

    def _copy(self, answer: http.client.HTTPResponse, file: IO[bytes], done: int) -> None:
        while True:
            try:
                chunk = answer.read1(_CHUNK_BYTES)
            except (OSError, http.client.HTTPException) as error:
                raise Unreachable(f"{self._wanted.url} was cut after {done} bytes: {error}") from error
            if not chunk:
                break
            done += len(chunk)
            if self._total is not None and done > self._total:
                raise SpecInvalid(f"{self._wanted.url} sends more than its {self._total} bytes")
            try:
                file.write(chunk)
            except OSError as error:
                raise self._not_written(error, file.tell()) from error
            self._progress("downloading", done, self._total)
        try:
            file.flush()
        except OSError as error:
            raise self._not_written(error, done) from error
        if self._total is None:
            self._total = done  # a server that says no size: its end is the end; the digest decides
        if done < self._total:
            raise Unreachable(
                f"{self._wanted.url} was cut after {done} of {self._total} bytes; the same command continues there",
                detail={"done": done, "total": self._total},
            )

    def _not_written(self, error: OSError, done: int) -> HostError:
        if is_full(error):
            return no_room(self._part.parent, f"{done >> 20} MiB of {self._wanted.url} are there and are kept")
        return HostError(f"{self._part} cannot be written: {error}", detail={"path": str(self._part)})


def _open(url: str, headers: dict[str, str], stall_s: float) -> http.client.HTTPResponse:
    """Ask the server. Raises: SpecNotFound, HostError (refused), Unreachable (worth another try)."""
    asked = urllib.request.Request(
        url, headers={"User-Agent": "gym-anything", "Accept-Encoding": "identity", **headers}
    )
    try:
        answer: http.client.HTTPResponse = _OPENER.open(asked, timeout=stall_s)
        return answer
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 410):
            raise SpecNotFound(f"{url} does not exist (HTTP {error.code})", detail={"url": url}) from error
        if error.code == 416 and "Range" in headers:
            total = (error.headers.get("Content-Range") or "").rpartition("/")[2]
            raise _RangeRefused(int(total) if total.isdigit() else None) from error
        if error.code in (408, 425, 429) or error.code >= 500:
            raise Unreachable(f"{url}: the server is not able to (HTTP {error.code})", detail={"url": url}) from error
        raise HostError(f"{url}: the server refuses (HTTP {error.code} {error.reason})", detail={"url": url}) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise Unreachable(f"{url} cannot be reached: {reason}", detail={"url": url}) from error


def _opener() -> urllib.request.OpenerDirector:
    """Return what knows HTTP(S), redirects and proxies, and nothing else: no ``file:``, no ``ftp:``."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


_OPENER = _opener()


def _extent(answer: http.client.HTTPResponse, asked_from: int) -> tuple[int, int | None]:
    """Return where the answer begins in the file, and the size of the whole file (None: not said)."""
    if answer.status == 206:
        match = _RANGE.match(answer.headers.get("Content-Range", ""))
        if match is None:
            raise Unreachable(f"{answer.url}: the server sent a part and does not say which")
        return int(match[1]), None if match[2] == "*" else int(match[2])
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
