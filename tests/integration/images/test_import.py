"""Prepared images come over a bad line whole or not at all, and what was there before is never lost."""

from __future__ import annotations

import io
import multiprocessing
import signal
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.retry import Backoff
from gym_anything._util.waiting import wait_until
from gym_anything.errors import GymAnythingError, HostError, SpecInvalid, SpecNotFound, Unreachable
from gym_anything.runtime.images.prepared import download as downloads
from gym_anything.runtime.images.prepared.importing import import_image
from gym_anything.runtime.images.prepared.source import ImportRequest
from gym_anything.runtime.images.prepared.store import PreparedImage, PreparedStore
from gym_anything.runtime.images.store import ImageStore, StoredImage
from gym_anything.testing.leaks import LeakCheck
from tests.integration.images.release_server import Release, serving
from tests.unit.runtime.images.prepared_files import prepared, qcow2, sha256, zipped
from tests.unit.runtime.images.stored import store_image

pytestmark = pytest.mark.real

GOOD = prepared()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pause for milliseconds between tries; keep everything in a folder of the test."""
    monkeypatch.setattr(downloads, "BACKOFF", Backoff(attempts=4, base_s=0.002, max_s=0.01))
    monkeypatch.setenv("GYM_ANYTHING_IMAGE_DIR", str(tmp_path / "images"))


@pytest.fixture
def release() -> Iterator[Release]:
    with serving(Release(dict(GOOD.files))) as served:
        yield served


def bring(source: str, **options: str | None) -> PreparedImage:
    image = import_image(ImportRequest(source, **options))
    assert isinstance(image, PreparedImage)
    return image


def left_behind() -> list[str]:
    """Return what is in the store beside images and locks."""
    return sorted(path.name for path in PreparedStore().root.glob(".*") if path.suffix != ".lock")


def test_a_release_is_imported_and_then_read_without_a_network(release: Release, no_leaks: LeakCheck) -> None:
    image = bring(release.url, sha256=GOOD.pin)
    assert image.path.read_bytes() == GOOD.image and image.sha256 == sha256(GOOD.image)
    assert (image.name, image.record["kind"], image.record["version"]) == ("ubuntu", "qcow2", "1")
    assert image.record["source"] == f"{release.url}ubuntu.zip"
    assert stat.S_IMODE(image.path.stat().st_mode) == 0o444
    release.files.clear()
    asked = len(release.asked)
    assert bring(release.url, sha256=GOOD.pin).path == image.path
    assert bring("https://no.host.invalid/x.zip", sha256=sha256(GOOD.archive)).path == image.path
    assert len(release.asked) == asked and left_behind() == []
    assert PreparedStore().named("ubuntu.qcow2").path == image.path
    with pytest.raises(SpecNotFound, match="there are: ubuntu"):
        PreparedStore().named("windows-11")


def test_a_line_that_is_cut_again_and_again_carries_the_image_in_parts(release: Release) -> None:
    release.cuts = [len(GOOD.manifest), 100_000, 0, 70_000, 1, 50_000]
    image = bring(release.url, sha256=GOOD.pin)
    assert image.path.read_bytes() == GOOD.image
    parts = [asked for name, asked in release.asked if name == "ubuntu.zip"]
    assert parts == [None, "bytes=100000-", "bytes=100000-", "bytes=170000-", "bytes=170001-", "bytes=220001-"]


def test_another_process_on_another_day_continues_a_download(release: Release) -> None:
    url = f"{release.url}ubuntu.zip"
    pins = {"sha256": sha256(GOOD.archive), "image_sha256": sha256(GOOD.image)}
    release.cuts = [120_000, *[0] * 20]
    with pytest.raises(Unreachable, match="the same command continues there") as caught:
        bring(url, **pins)
    assert caught.value.retryable and len(left_behind()) == 1
    release.cuts.clear()
    release.asked.clear()
    assert bring(url, **pins).path.read_bytes() == GOOD.image
    assert release.asked == [("ubuntu.zip", "bytes=120000-")] and left_behind() == []


@pytest.mark.parametrize("says_length", [True, False])
def test_a_server_without_ranges_begins_again(release: Release, says_length: bool) -> None:
    release.ranges = False
    release.says_length = says_length
    release.cuts = [len(GOOD.manifest), 50_000]
    if not says_length:
        release.files["image.json"] = GOOD.manifest
    assert bring(release.url, sha256=GOOD.pin).path.read_bytes() == GOOD.image
    assert len(release.asked) == 3


def test_busy_and_moved_releases_are_followed(release: Release) -> None:
    release.failures = [503, 429]
    release.moved = {"latest/image.json": f"{release.url}image.json"}
    place = prepared(url=f"{release.url}moved.zip")
    release.files["image.json"] = place.manifest
    release.moved["moved.zip"] = f"{release.url}ubuntu.zip?signature=secret"
    image = bring(f"{release.url}latest/image.json", sha256=place.pin)
    assert image.path.read_bytes() == GOOD.image


def test_what_was_there_of_another_version_is_thrown_away_and_had_again(release: Release) -> None:
    url, pins = f"{release.url}ubuntu.zip", {"sha256": sha256(GOOD.archive), "image_sha256": sha256(GOOD.image)}
    release.files["ubuntu.zip"] = b"another version".ljust(len(GOOD.archive), b".")
    release.cuts = [90_000, *[0] * 20]
    with pytest.raises(Unreachable):
        bring(url, **pins)
    release.cuts.clear()
    release.files["ubuntu.zip"] = GOOD.archive
    assert bring(url, **pins).path.read_bytes() == GOOD.image


def test_a_wrong_pin_is_named_and_the_image_that_is_there_stays(release: Release) -> None:
    there = bring(release.url, sha256=GOOD.pin)
    other = prepared(qcow2(seed=2))
    release.files["ubuntu.zip"] = other.archive[:-1] + b"!"
    with pytest.raises(SpecInvalid, match="its pin says") as caught:
        bring(f"{release.url}ubuntu.zip", sha256=sha256(other.archive), image_sha256=sha256(other.image))
    assert caught.value.detail["expected"] == sha256(other.archive)
    with pytest.raises(SpecInvalid, match=r"image\.json has the SHA-256"):
        bring(release.url, sha256="0" * 64)
    release.files["ubuntu.zip"] = other.archive
    with pytest.raises(SpecInvalid, match=r"ubuntu\.qcow2 in .* has the SHA-256"):
        bring(f"{release.url}ubuntu.zip", sha256=sha256(other.archive), image_sha256="1" * 64)
    assert [image.path.read_bytes() for image in PreparedStore().all()] == [GOOD.image] and there.whole()


def test_a_release_of_another_size_is_refused_before_it_is_loaded(release: Release) -> None:
    release.files["ubuntu.zip"] = GOOD.archive + b"more"
    with pytest.raises(SpecInvalid, match=f"has {len(GOOD.archive) + 4} bytes, its pin says {len(GOOD.archive)}"):
        bring(release.url, sha256=GOOD.pin)


@pytest.mark.parametrize(
    ("source", "options", "error", "said"),
    [
        ("image.json", {}, SpecInvalid, "nothing is taken without one"),
        ("ubuntu.zip", {"sha256": "0" * 64}, SpecInvalid, "--image-sha256"),
        ("ubuntu.zip", {"sha256": "12"}, SpecInvalid, "no SHA-256"),
        ("none/image.json", {"sha256": "0" * 64}, SpecNotFound, "HTTP 404"),
        ("notes.txt", {"sha256": "0" * 64}, SpecInvalid, "neither a manifest"),
    ],
)
def test_bad_requests_are_refused(
    release: Release, source: str, options: dict[str, str], error: type[GymAnythingError], said: str
) -> None:
    with pytest.raises(error, match=said):
        bring(release.url + source, **options)
    assert PreparedStore().all() == []


def test_a_host_that_is_not_there_and_a_scheme_that_is_not_known_are_named() -> None:
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9/.* cannot be reached"):
        bring("http://127.0.0.1:9/image.json", sha256="0" * 64)
    with pytest.raises(SpecInvalid, match="over http or https"):
        bring("ftp://host/image.json", sha256="0" * 64)


def test_a_redirect_to_a_file_of_this_host_is_not_followed(release: Release) -> None:
    release.moved["image.json"] = "file:///etc/passwd"
    with pytest.raises(HostError, match="refuses"):
        bring(release.url, sha256="0" * 64)


def link(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return member


def tarred(*members: tarfile.TarInfo, image: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for member in members:
            tar.addfile(member)
        own = tarfile.TarInfo("disk/ubuntu.qcow2")
        own.size = len(image)
        tar.addfile(own, io.BytesIO(image))
    return out.getvalue()


def zip_with_link(image: bytes) -> bytes:
    out = io.BytesIO(zipped({"ubuntu.qcow2": image}))
    with zipfile.ZipFile(out, "a") as file:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(info, "/etc/passwd")
    return out.getvalue()


IMAGE = qcow2(size=5000)


@pytest.mark.parametrize(
    ("file", "archive", "said"),
    [
        ("x.zip", zipped({"ubuntu.qcow2": IMAGE, "../../evil": b"x"}), r"\.\./\.\./evil"),
        ("x.zip", zipped({"/etc/evil.qcow2": IMAGE}), "/etc/evil"),
        ("x.zip", zipped({"..\\evil.qcow2": IMAGE}), "evil"),
        ("x.zip", zip_with_link(IMAGE), "'link'"),
        ("x.tar.gz", tarred(link("ubuntu.qcow2"), image=IMAGE), "a link"),
        ("x.tar.gz", tarred(tarfile.TarInfo("../evil"), image=IMAGE), r"\.\./evil"),
        ("x.tar.gz", tarred(image=IMAGE)[:-500], "no whole archive"),
        ("x.zip", zipped({"ubuntu.qcow2": IMAGE})[:-30], "no whole archive"),
        ("x.zip", zipped({"a.qcow2": IMAGE, "b.qcow2": IMAGE}), "no single disk image"),
        ("x.zip", zipped({"readme": b"x"}), "it holds: readme"),
        ("x.zip", zipped({"ubuntu.qcow2": qcow2(size=5000, backing=500)}), "SHA-256"),
    ],
)
def test_archives_that_are_broken_or_reach_outside_are_refused_whole(
    tmp_path: Path, file: str, archive: bytes, said: str
) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / file).write_bytes(archive)
    with pytest.raises(SpecInvalid, match=said):
        bring(str(tmp_path / "mirror" / file), sha256=sha256(archive), image_sha256=sha256(IMAGE))
    assert PreparedStore().all() == [] and left_behind() == []
    assert not list(tmp_path.rglob("*evil*")) and not list(tmp_path.rglob("link"))


@pytest.mark.parametrize(
    ("name", "image", "said"),
    [
        ("d.qcow2", qcow2(backing=104), "names a backing file"),
        ("d.qcow2", qcow2(features=4), "keeps its data in another file"),
        ("d.qcow2", b"x" * 5000, "is no qcow2 image"),
        ("d.iso", b"x" * 50_000, "is no ISO 9660 image"),
    ],
)
def test_disks_that_name_files_of_this_host_are_refused(tmp_path: Path, name: str, image: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(image)
    with pytest.raises(SpecInvalid, match=said):
        bring(str(tmp_path / name), sha256=sha256(image))
    assert PreparedStore().all() == [] and (tmp_path / name).read_bytes() == image


def test_a_local_folder_is_a_release_and_a_mirror(tmp_path: Path, release: Release) -> None:
    for name, content in GOOD.files.items():
        (tmp_path / name).write_bytes(content)
    release.files.pop("ubuntu.zip")
    image = bring(release.url, sha256=GOOD.pin, mirror=str(tmp_path))
    assert image.path.read_bytes() == GOOD.image
    assert bring(str(tmp_path)).path == image.path
    tar = tarred(image=GOOD.image)
    (tmp_path / "u.tar.gz").write_bytes(tar)
    assert bring(str(tmp_path / "u.tar.gz"), sha256=sha256(tar), image_sha256=sha256(GOOD.image)).path == image.path
    assert import_image(ImportRequest(str(tmp_path)), force=True) == PreparedStore().all()[0]


def test_an_image_that_is_no_archive_keeps_its_file_name(release: Release) -> None:
    disk = qcow2(seed=5)
    release.files["base_windows_11.qcow2"] = disk
    image = bring(f"{release.url}base_windows_11.qcow2?token=secret", sha256=sha256(disk))
    assert (image.name, image.path.name) == ("base-windows-11", "base_windows_11.qcow2")
    assert image.path.read_bytes() == disk and "secret" not in str(image.record)
    assert PreparedStore().named("base_windows_11.qcow2").sha256 == sha256(disk)


def test_a_root_file_system_of_ours_lies_where_image_build_puts_it(tmp_path: Path) -> None:
    built = store_image(tmp_path / "elsewhere", system_digest="cd" * 32)
    content = built.rootfs.read_bytes()
    parts = prepared(
        content, {"rootfs.tar": content}, name="tiny", kind="rootfs", record=dict(built.record),
        image={"file": "rootfs.tar", "sha256": sha256(content), "bytes": len(content)},
    )  # fmt: skip
    for name, data in parts.files.items():
        (tmp_path / name).write_bytes(data)
    image = import_image(ImportRequest(str(tmp_path)))
    assert isinstance(image, StoredImage) and image.rootfs.read_bytes() == content
    assert image.record["system_digest"] == "cd" * 32
    assert ImageStore().find("tiny", "ab" * 32) == image
    assert import_image(ImportRequest("http://127.0.0.1:9/image.json", sha256=parts.pin)) == image
    for name, data in prepared(content, kind="rootfs").files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(SpecInvalid, match="its record is not that of this root file system"):
        import_image(ImportRequest(str(tmp_path)), force=True)


def test_a_full_disk_is_named_and_the_download_continues_once_there_is_room(
    release: Release, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_IMAGE_DIR", str(small_disk / "images"))
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 800_000)
    monkeypatch.setattr(downloads, "require_room", lambda *_, **__: None)  # as if another had taken the room meanwhile
    with pytest.raises(HostError, match=r"no room .* GYM_ANYTHING_IMAGE_DIR"):
        bring(release.url, sha256=GOOD.pin)
    (part,) = PreparedStore().root.glob("*.part")
    assert part.stat().st_size > 0
    filler.unlink()
    release.asked.clear()
    assert bring(release.url, sha256=GOOD.pin).path.read_bytes() == GOOD.image
    assert release.asked[-1][1] not in (None, "bytes=0-")


def test_too_little_room_is_said_before_anything_is_loaded(
    release: Release, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_IMAGE_DIR", str(small_disk / "images"))
    (small_disk / "filler").write_bytes(b"x" * 900_000)
    with pytest.raises(HostError, match="MiB are free"):
        bring(release.url, sha256=GOOD.pin)
    assert list(PreparedStore().root.glob("*.part")) == []


@pytest.fixture
def small_disk(tmp_path: Path, require_backend: object) -> Iterator[Path]:
    """Return a folder on a disk of one MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=1024k", "tmpfs", str(folder)]
    mounted = subprocess.run(argv, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"needs to mount a file system: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def _import(url: str, pin: str) -> str:
    return str(bring(url, sha256=pin).path)


def test_processes_that_want_the_same_image_load_it_once(release: Release) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        paths = pool.starmap(_import, [(release.url, GOOD.pin)] * 2)
        pool.close()
        pool.join()
    assert len(set(paths)) == 1
    assert [name for name, _ in release.asked].count("ubuntu.zip") == 1


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", "from gym_anything.cli.main import main; main()", "image", "import", *words]


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
def test_what_a_killed_or_interrupted_import_had_is_used_by_the_next(release: Release, signal_number: int) -> None:
    release.stall_at = len(GOOD.archive) - 1000
    process = subprocess.Popen(command(release.url, "--sha256", GOOD.pin), stderr=subprocess.PIPE)
    assert release.stalled.wait(60)

    def written() -> bool:
        return any(part.stat().st_size > 100_000 for part in PreparedStore().root.glob("*.part"))

    wait_until(written, deadline=Deadline.after(30), awaited="the download to be written")
    process.send_signal(signal_number)
    process.communicate(timeout=60)
    release.go_on.set()
    assert process.returncode != 0
    release.stall_at = None
    release.asked.clear()
    assert bring(release.url, sha256=GOOD.pin).path.read_bytes() == GOOD.image
    asked = release.asked[-1][1]
    assert asked is not None and int(asked.removeprefix("bytes=").rstrip("-")) > 100_000
    assert left_behind() == []


def test_the_command_prints_the_image_and_how_far_it_is(release: Release) -> None:
    argv = command(release.url, "--json")
    refused = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "nothing is taken without one" in refused.stderr
    done = subprocess.run([*argv, "--sha256", GOOD.pin], capture_output=True, text=True, check=True)
    assert f'"sha256": "{sha256(GOOD.image)}"' in done.stdout
    assert "downloading: 100 %" in done.stderr and "unpacking: 100 %" in done.stderr
