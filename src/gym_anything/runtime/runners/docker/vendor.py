"""The Docker engine through the official SDK: the only file that imports it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gym_anything.errors import GymAnythingError, HostError, MissingDependency, MissingExtra

_CALL_S = 60
_LONG_S = 3600
"""Loading, building and committing say nothing for long; who waits for them has a bound of his own."""
_LOG_LINES = 30
_START_ENGINE = "sudo systemctl start docker  # and: sudo usermod -aG docker $USER"


class EngineRefused(HostError):
    """The engine answered a request with an error; ``detail['status']`` is its HTTP status."""

    code = "docker-refused"


class Engine:
    """One Docker engine, reached as ``DOCKER_HOST`` says. Any thread may use it; close it in the end."""

    def __init__(self, client: Any) -> None:
        """Use ``connect``."""
        self._client = client

    @classmethod
    def connect(cls, *, timeout_s: float = _CALL_S) -> Engine:
        """Connect to the engine of this environment.

        Raises: MissingExtra (no SDK), MissingDependency (no engine answers, or it does not share our file system).
        """
        try:
            import docker
        except ImportError as error:
            fix = "pip install 'gym-anything[docker]'"
            raise MissingExtra(f"the docker runner needs its extra: {fix}", detail={"fix": fix}) from error
        place = os.environ.get("DOCKER_HOST", "")
        if place and not place.startswith("unix://"):
            raise MissingDependency(
                f"DOCKER_HOST is {place}: worlds share memory with this process, so the engine must run on this host",
                detail={"fix": "unset DOCKER_HOST"},
            )
        try:
            return cls(docker.APIClient(version="auto", timeout=timeout_s, **docker.utils.kwargs_from_env()))
        except docker.errors.DockerException as error:
            raise MissingDependency(
                f"no Docker engine answers at {place or '/var/run/docker.sock'}: {_innermost(error)}. "
                f"Fix: {_START_ENGINE}",
                detail={"fix": _START_ENGINE},
            ) from error

    def info(self) -> dict[str, Any]:
        """Return what the engine says about itself."""
        with _translated("ask the engine about itself"):
            return dict(self._client.info())

    def security_options(self) -> set[str]:
        """Return the names of what sets its containers apart: ``seccomp``, ``userns``, ``rootless`` …"""
        return {str(text).partition("name=")[2].partition(",")[0] for text in self.info().get("SecurityOptions") or []}

    # --- images --------------------------------------------------------------------------------------------------

    def image(self, reference: str) -> dict[str, Any] | None:
        """Return the description of an image, or None."""
        with _translated(f"look for the image {reference}", missing_is_none=True):
            return dict(self._client.inspect_image(reference))
        return None

    def load_image(self, archive: Iterator[bytes]) -> None:
        """Take in an image archive, piece by piece."""
        with _translated("load an image"), self._patient():
            for answer in self._client.load_image(_Pieces(archive)):
                _check_answer(answer, "load an image")

    def pull_image(self, reference: str) -> None:
        """Fetch an image from its registry."""
        with _translated(f"pull the image {reference}"), self._patient():
            for answer in self._client.pull(reference, stream=True, decode=True):
                _check_answer(answer, f"pull the image {reference}")

    def build_image(self, folder: str, dockerfile: str, tag: str, labels: Mapping[str, str]) -> None:
        """Build a Dockerfile. Raises: EngineRefused with the end of the build's output."""
        said: list[str] = []
        doing = f"build {dockerfile}"
        with _translated(doing), self._patient():
            for answer in self._client.build(
                path=folder, dockerfile=dockerfile, tag=tag, labels=dict(labels), rm=True, forcerm=True, decode=True
            ):
                said.append(str(answer.get("stream", "")))
                if "error" in answer:
                    tail = "".join(said)[-2000:]
                    raise EngineRefused(
                        f"docker: {doing}: {answer['error']}; output tail:\n{tail}", detail={"log_tail": tail}
                    )

    def commit(self, container: str, repository: str, tag: str, config: Mapping[str, Any]) -> str:
        """Keep what a container has written as an image; returns its id."""
        with _translated("commit a container"), self._patient():
            return str(self._client.commit(container, repository, tag, pause=True, conf=dict(config))["Id"])

    def labelled_images(self, label: str) -> list[dict[str, Any]]:
        """Return the images, with a name or without, that carry a label (``key`` or ``key=value``)."""
        with _translated("list images"):
            return [dict(row) for row in self._client.images(filters={"label": label})]

    def remove_image(self, reference: str) -> bool:
        """Remove an image's name, and the image when nothing else uses it; False when it is not there."""
        with _translated(f"remove the image {reference}", missing_is_none=True):
            self._client.remove_image(reference)
            return True
        return False

    # --- containers ----------------------------------------------------------------------------------------------

    def create(self, request: Mapping[str, Any], name: str) -> str:
        """Make a container and return its id. ``request`` is the body of the API's ``POST /containers/create``."""
        with _translated("create a container"):
            return str(self._client.create_container_from_config(dict(request), name)["Id"])

    def start(self, container: str) -> None:
        """Start a container."""
        with _translated("start a container"):
            self._client.start(container)

    def stop(self, container: str, grace_s: float) -> None:
        """Ask a container to end, and kill it after the grace."""
        with _translated("stop a container", missing_is_none=True):
            self._client.stop(container, timeout=int(grace_s))

    def remove(self, container: str) -> bool:
        """Kill and remove a container and its own volumes; False when it is not there (any more)."""
        with _translated("remove a container", missing_is_none=True):
            self._client.remove_container(container, force=True, v=True)
            return True
        return False

    def run_inside(self, container: str, argv: Sequence[str]) -> None:
        """Run a program as root in a running container, to its end. Raises: EngineRefused with what it said."""
        doing = f"run {argv[0]} in a container"
        with _translated(doing):
            started = self._client.exec_create(container, list(argv), user="0")
            said = bytes(self._client.exec_start(started["Id"]))
            code = self._client.exec_inspect(started["Id"])["ExitCode"]
        if code != 0:
            raise EngineRefused(f"docker: {doing}: exit {code}: {said[-500:].decode(errors='replace')}", detail={})

    def run_once(self, image: str, argv: Sequence[str], binds: Mapping[str, str]) -> None:
        """Run a program as root in a container of its own, to its end. ``binds``: folder of the host -> place."""
        host = {"Binds": [f"{source}:{target}" for source, target in binds.items()], "NetworkMode": "none"}
        request = {"Image": image, "Entrypoint": list(argv), "Cmd": [], "User": "0:0", "HostConfig": host}
        with _translated(f"run {argv[0]}"):
            made = str(self._client.create_container_from_config(request, None)["Id"])
            try:
                self._client.start(made)
                self._client.wait(made)
            finally:
                self._client.remove_container(made, force=True, v=True)

    def container(self, name: str) -> dict[str, Any] | None:
        """Return the description of a container, or None."""
        with _translated("look at a container", missing_is_none=True):
            return dict(self._client.inspect_container(name))
        return None

    def memory_bytes(self, container: str) -> int | None:
        """Return what a container's control group is charged for, as ``docker stats`` counts: without idle file cache.

        None: it does not run. Needs engine API 1.41 (Docker 20.10).
        Source: ``calculateMemUsageUnixNoCache`` of the command line.
        """
        with _translated("ask for a container's memory", missing_is_none=True):
            found = self._client.stats(container, stream=False, one_shot=True).get("memory_stats") or {}
            details = found.get("stats") or {}
            # The first is what control groups of old say, the second those of today.
            idle = details.get("total_inactive_file", details.get("inactive_file", 0))
            return max(0, int(found["usage"]) - int(idle)) if "usage" in found else None
        return None

    def log_tail(self, container: str) -> str:
        """Return the end of what a container's first process said."""
        with _translated("read a container's log", missing_is_none=True):
            return bytes(self._client.logs(container, tail=_LOG_LINES)).decode("utf-8", errors="replace")
        return ""

    def labelled(self, label: str) -> list[dict[str, Any]]:
        """Return the containers, running or not, that carry a label (``key`` or ``key=value``)."""
        with _translated("list containers"):
            return [dict(row) for row in self._client.containers(all=True, filters={"label": label})]

    # --- networks ------------------------------------------------------------------------------------------------

    def networks(self, name: str) -> list[dict[str, Any]]:
        """Return the networks of exactly this name."""
        with _translated("list networks"):
            return [dict(row) for row in self._client.networks(names=[name]) if row.get("Name") == name]

    def create_network(self, name: str, options: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """Make a bridge network."""
        with _translated(f"make the network {name}"):
            self._client.create_network(
                name, driver="bridge", options=dict(options), labels=dict(labels), check_duplicate=True
            )

    @contextlib.contextmanager
    def _patient(self) -> Iterator[None]:
        """Wait longer than usual for the engine's next word."""
        before, self._client.timeout = self._client.timeout, _LONG_S
        try:
            yield
        finally:
            self._client.timeout = before

    def close(self) -> None:
        """Close the connections; idempotent."""
        self._client.close()


class _Pieces:
    """An iterator as a request's body: sent piece by piece."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces


@contextlib.contextmanager
def _translated(doing: str, *, missing_is_none: bool = False) -> Iterator[None]:
    """Turn the SDK's errors into ours; with ``missing_is_none`` the block just ends when there is no such thing."""
    import docker
    import requests

    try:
        yield
    except GymAnythingError:
        raise
    except docker.errors.NotFound as error:
        if not missing_is_none:
            raise EngineRefused(f"docker: {doing}: {error.explanation or error}", detail={"status": 404}) from error
    except docker.errors.APIError as error:
        status = getattr(error.response, "status_code", 0)
        raise EngineRefused(f"docker: {doing}: {error.explanation or error}", detail={"status": status}) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise HostError(f"docker: {doing}: the engine does not answer: {_innermost(error)}") from error


def _check_answer(answer: Mapping[str, Any], doing: str) -> None:
    if "error" in answer:
        raise EngineRefused(f"docker: {doing}: {answer['error']}", detail={})


def _innermost(error: BaseException) -> str:
    """Return the last cause in words: the SDK wraps "permission denied" in three layers of its own."""
    causes: Sequence[BaseException] = [error]
    while causes[-1].__cause__ or causes[-1].__context__:
        causes = [*causes, causes[-1].__cause__ or causes[-1].__context__]  # type: ignore[list-item]
    return str(causes[-1]) or type(causes[-1]).__name__
