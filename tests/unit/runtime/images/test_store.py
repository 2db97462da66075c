"""The store keeps images whole, verify tells a changed one, and the Docker archive is what Docker's specification says."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from gym_anything.errors import MissingDependency, SpecNotFound
from gym_anything.runtime.images import rootfs
from gym_anything.runtime.images.formats import docker_archive, table
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.store import ImageStore
from gym_anything.runtime.images.verify import verify_image
from tests.unit.runtime.images.stored import store_image

pytestmark = pytest.mark.unit


def test_what_was_published_is_found_and_listed(tmp_path: Path) -> None:
    image = store_image(tmp_path)
    assert ImageStore(tmp_path).find("tiny", "ab" * 32) == image
    assert ImageStore(tmp_path).all() == [image]
    assert ImageStore(tmp_path).find("tiny", "cd" * 32) is None


def test_half_a_build_is_not_found(tmp_path: Path) -> None:
    store = ImageStore(tmp_path)
    with store.building("tiny", "ab" * 32):
        (store.staging("tiny", "ab" * 32) / "rootfs.tar").write_bytes(b"half")
    assert store.all() == []


def test_a_new_build_replaces_the_old_one(tmp_path: Path) -> None:
    store_image(tmp_path)
    newer = store_image(tmp_path, content=b"other\n")
    assert ImageStore(tmp_path).all() == [newer]


def test_an_untouched_image_is_verified(tmp_path: Path) -> None:
    check = verify_image(store_image(tmp_path))
    assert check.ok and check.outdated  # there is no recipe "tiny" any more


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    image = store_image(tmp_path)
    data = bytearray(image.rootfs.read_bytes())
    data[700] ^= 1
    image.rootfs.write_bytes(data)
    check = verify_image(image)
    assert not check.ok and "its record says" in check.problems[0]


def test_an_image_of_today_s_recipe_is_not_outdated(tmp_path: Path) -> None:
    plan = rootfs.plan_build(load_recipe("debian-minimal"), "bookworm")
    image = store_image(tmp_path, name="debian-minimal", recipe_digest=plan.digest)
    assert not verify_image(image).outdated


def test_the_newest_build_of_a_system_is_found_whatever_programs_of_ours_are_in_it(tmp_path: Path) -> None:
    plan = rootfs.plan_build(load_recipe("debian-minimal"), "bookworm")
    store_image(tmp_path, name="debian-minimal", system_digest="other")
    assert rootfs.find_system(plan, ImageStore(tmp_path)) is None
    image = store_image(tmp_path, name="debian-minimal", system_digest=plan.system_digest)
    assert rootfs.find_system(plan, ImageStore(tmp_path)) == image


def test_without_mmdebstrap_the_fix_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rootfs, "_SEARCH", str(tmp_path))
    plan = rootfs.plan_build(load_recipe("debian-minimal"), "bookworm")
    with pytest.raises(MissingDependency) as caught:
        rootfs.build_rootfs(plan, store=ImageStore(tmp_path / "store"))
    assert caught.value.detail["fix"] == "sudo apt-get install mmdebstrap"


def test_the_docker_archive_holds_manifest_config_and_the_layer(tmp_path: Path) -> None:
    image = store_image(tmp_path)
    docker_archive.write(image, tmp_path / "out.tar")
    with tarfile.open(tmp_path / "out.tar") as tar:
        content = {m.name: tar.extractfile(m).read() for m in tar}  # type: ignore[union-attr]
    (manifest,) = json.loads(content["manifest.json"])
    config = json.loads(content[manifest["Config"]])
    (layer,) = manifest["Layers"]
    assert manifest["RepoTags"] == [f"gym-anything/tiny:{image.digest[:12]}"]
    assert manifest["Config"] == hashlib.sha256(content[manifest["Config"]]).hexdigest() + ".json"
    assert content[layer] == image.rootfs.read_bytes()
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(content[layer]).hexdigest()}"]
    assert config["created"] == "2025-01-01T00:00:00Z"


def test_the_archive_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    one = b"".join(docker_archive.archive(store_image(tmp_path / "one")))
    two = b"".join(docker_archive.archive(store_image(tmp_path / "two", built_at=99.0)))
    assert one == two and len(one) % 512 == 0
    with tarfile.open(fileobj=io.BytesIO(one)) as tar:
        assert tar.getnames()[0] == "manifest.json"


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SpecNotFound, match=r"there are: .*docker-archive"):
        table.writer("floppy")
