"""What a verifier may ask of the world, as plain functions: each call travels to the process that owns the episode."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from typing import Any

from gym_anything.errors import StateError, from_wire
from gym_anything.verification import trajectory_frames
from gym_anything.verification.judge_process.messages import receive_message, send_message

_current: OwnerCalls | None = None


class OwnerCalls:
    """One request at a time over the connection to the owner; safe from the verifier's own threads."""

    def __init__(self, talk: socket.socket) -> None:
        global _current
        self._talk = talk
        self._lock = threading.Lock()
        self._pid = os.getpid()
        _current = self

    def call(self, name: str, **arguments: Any) -> Any:
        """Ask the owner. Raises: what the capability raised, as the same class."""
        if os.getpid() != self._pid:
            raise StateError(f"{name} works in the verifier's own process only, not in one it forked")
        with self._lock:
            send_message(self._talk, {"call": name, "arguments": arguments})
            answer = receive_message(self._talk)
        if "error" in answer:
            raise from_wire(answer["error"])
        return answer.get("result")


def build_env_info(plain: Mapping[str, Any], calls: OwnerCalls) -> dict[str, Any]:
    """Return ``env_info`` as the contract has it: the plain facts and the functions."""

    def copy_from_env(guest_path: str, host_path: str | os.PathLike[str], **_: Any) -> str:
        """Copy a guest file to the host; returns the host path. Raises: FileNotFoundError when it is missing."""
        target = os.fspath(host_path)
        calls.call("copy_from_env", guest_path=os.fspath(guest_path), host_path=os.path.abspath(target))  # noqa: PTH100
        return target

    def copy_to_env(host_path: str | os.PathLike[str], guest_path: str, **_: Any) -> str:
        """Copy a host file into the guest; returns the guest path."""
        source = os.path.abspath(os.fspath(host_path))  # noqa: PTH100
        calls.call("copy_to_env", host_path=source, guest_path=os.fspath(guest_path))
        return os.fspath(guest_path)

    def exec_capture(cmd: str, timeout: float | None = None, **_: Any) -> str:
        """Run a shell command in the guest as root and return its output."""
        return str(calls.call("exec_capture", command=cmd, timeout=timeout))

    return {
        **plain,
        "copy_from_env": copy_from_env,
        "copy_to_env": copy_to_env,
        "exec_capture": exec_capture,
        "query_vlm": query_vlm,
        "sample_trajectory_frames": trajectory_frames.sample_trajectory_frames,
        "get_final_screenshot": trajectory_frames.get_final_screenshot,
        "get_first_screenshot": trajectory_frames.get_first_screenshot,
    }


def query_vlm(prompt: str = "", image: Any = None, images: Any = None, **options: Any) -> Any:
    """Ask the configured vision model about screenshots (host paths); works inside a verifier only.

    Raises: VlmNotConfigured when no model is configured, StateError outside of a verifier.
    """
    if _current is None:
        raise StateError("query_vlm works inside a verifier that an episode has started")
    paths = [image] if image is not None else []
    paths += list(images) if isinstance(images, list | tuple) else ([images] if images is not None else [])
    names = [os.path.abspath(os.fspath(p)) for p in paths if p is not None]  # noqa: PTH100
    return _current.call("query_vlm", prompt=str(prompt), images=names, options=options)
