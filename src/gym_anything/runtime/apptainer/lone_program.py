"""One program of an image, run by itself: no instance, no name, gone with the process that was started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gym_anything.runtime.apptainer.command import Bind, environment

_NOT_MOUNTED = "tmp,home,cwd,hostfs,bind-paths"


def lone_argv(program: str, image: str, binds: Sequence[Bind], inside: Sequence[str]) -> list[str]:
    """Return ``apptainer exec`` of a program that sees its image and these folders, and has no rights of root.

    It has this host's network: what listens on 127.0.0.1 in there is reached from here. Open sockets go along.
    """
    argv = [program, "--silent", "exec", "--no-eval", "--contain", "--cleanenv", "--no-mount", _NOT_MOUNTED]
    argv += ["--no-privs", "--pwd", "/"]
    for bind in binds:
        argv += ["--mount", bind.text()]
    return [*argv, image, *inside]


def lone_environment(inside: Mapping[str, str], *, folder: str, path: str) -> dict[str, str]:
    """Return the environment of that ``apptainer``, which gives these variables to the program.

    Args: folder: where apptainer may keep notes. path: where it looks for its own helpers.
    """
    return {**environment(inside, config_dir=folder), "HOME": folder, "PATH": path}
