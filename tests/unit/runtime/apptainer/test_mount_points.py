"""Mount points made from outside look like those that the world would make."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gym_anything.runtime.apptainer.command import Bind, Instance
from gym_anything.runtime.apptainer.mount_points import make_mount_points

pytestmark = pytest.mark.unit


@pytest.fixture
def image(tmp_path: Path) -> Path:
    folder = tmp_path / "image"
    for name, mode in {"home/ga": 0o700, "run": 0o755, "etc": 0o755, "tmp": 0o1777}.items():
        (folder / name).mkdir(parents=True)
        (folder / name).chmod(mode)
    (folder / "etc" / "hosts").write_text("x")
    (folder / "var").mkdir()
    (folder / "var" / "run").symlink_to("/run")
    (folder / "var" / "up").symlink_to("../home/ga")
    return folder


def made(image: Path, *targets: str, files: tuple[str, ...] = (), layers: tuple[str, ...] = ()) -> Path | None:
    overlay = image.parent / "overlay"
    binds = [*(Bind("/x", target) for target in targets), *(Bind("/x", target, is_file=True) for target in files)]
    done = make_mount_points(Instance("n", str(image), layers=layers, overlay=str(overlay), binds=binds))
    return overlay / "upper" if done else None


def names(upper: Path) -> list[str]:
    return sorted(str(path.relative_to(upper)) for path in upper.rglob("*"))


def test_what_is_there_is_left_and_what_is_missing_is_made(image: Path) -> None:
    upper = made(image, "/run/gym-anything", "/workspace/a/b", files=("/etc/hosts", "/etc/one.conf"))
    assert upper is not None
    assert names(upper) == [
        "etc", "etc/one.conf", "run", "run/gym-anything", "workspace", "workspace/a", "workspace/a/b",
    ]  # fmt: skip
    assert (upper / "etc" / "one.conf").is_file() and upper.stat().st_mode & 0o7777 == 0o755


def test_folders_above_keep_their_mode_and_links_are_followed_inside_the_image(image: Path) -> None:
    umask = os.umask(0o077)
    try:
        upper = made(image, "/home/ga/out", "/tmp/x", "/var/run/y", "/var/up/z")
    finally:
        os.umask(umask)
    assert upper is not None
    modes = {name: (upper / name).stat().st_mode & 0o7777 for name in names(upper)}
    assert modes == {
        "home": 0o755, "home/ga": 0o700, "home/ga/out": 0o755, "home/ga/z": 0o755, "run": 0o755, "run/y": 0o755,
        "tmp": 0o1777, "tmp/x": 0o755,
    }  # fmt: skip


def test_what_cannot_be_made_from_outside_is_left_to_the_world(image: Path, tmp_path: Path) -> None:
    assert made(image, "/etc/hosts/deeper") is None
    loop = image / "loop"
    loop.symlink_to("/loop")
    assert made(image, "/loop/x") is None
    assert made(tmp_path / "image.sif", "/x") is None
    assert made(image, "/x", layers=(str(tmp_path / "none"),)) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can note deletions as the kernel does")
def test_deletions_and_replaced_folders_of_layers_count(image: Path, tmp_path: Path) -> None:
    layer = tmp_path / "layer" / "upper"
    (layer / "home").mkdir(parents=True)
    os.setxattr(layer / "home", "trusted.overlay.opaque", b"y")
    os.mknod(layer / "run", 0o020000)
    upper = made(image, "/home/ga/out", "/run/x", layers=(str(tmp_path / "layer"),))
    assert upper is not None and (upper / "home" / "ga").stat().st_mode & 0o7777 == 0o755
    assert (upper / "run" / "x").is_dir()
