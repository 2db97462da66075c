"""N4: tar extraction uses the data filter, also on a Python that has none."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from pathlib import Path

import pytest

from gym_anything._util.tar_extract import extract_data

pytestmark = pytest.mark.unit

Member = tuple[str, bytes, str, int]
REGULAR, FOLDER, SYMBOLIC, HARD, PIPE, DEVICE = b"0", b"5", b"2", b"1", b"6", b"3"

MEMBERS: list[Member] = [
    ("file", REGULAR, "", 0o4777),
    ("unreadable", REGULAR, "", 0o011),
    ("folder", FOLDER, "", 0o700),
    ("folder/tool ü", REGULAR, "", 0o777),
    ("/leading", REGULAR, "", 0o640),
    ("same", HARD, "file", 0o755),
    ("itself", SYMBOLIC, "itself", 0o777),
    ("near", SYMBOLIC, "folder/tool ü", 0o777),
    ("folder/up", SYMBOLIC, "../file", 0o777),
    ("../outside", REGULAR, "", 0o644),
    ("folder/../../outside", REGULAR, "", 0o644),
    ("absolute", SYMBOLIC, "/etc/shadow", 0o777),
    ("beyond", SYMBOLIC, "folder/../../x", 0o777),
    ("beside", SYMBOLIC, "../dest ü-not", 0o777),
    ("hard-beyond", HARD, "../x", 0o644),
    ("hard-absolute", HARD, "/etc/passwd", 0o644),
    ("pipe", PIPE, "", 0o644),
    ("device", DEVICE, "", 0o644),
]
REFUSED = [
    "../outside",
    "folder/../../outside",
    "absolute",
    "beyond",
    "beside",
    "hard-beyond",
    "hard-absolute",
    "pipe",
    "device",
]


def archive_of(members: list[Member]) -> tarfile.TarFile:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, link, mode in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode = kind, link, mode
            info.uid, info.gid, info.uname, info.gname = 4242, 4242, "daemon", "daemon"
            info.size = 4 if kind == REGULAR else 0
            tar.addfile(info, io.BytesIO(b"data"))
    return tarfile.open(fileobj=io.BytesIO(out.getvalue()))


def what_lies_in(folder: Path) -> dict[str, tuple[str, bool]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        shown = "link" if stat.S_ISLNK(mode) else "folder" if stat.S_ISDIR(mode) else oct(mode)
        found[str(path.relative_to(folder))] = (shown, path.lstat().st_uid == os.geteuid())
    return found


@pytest.fixture(params=["this Python", "a Python without filters"])
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "this Python":
        for name in ("data_filter", "FilterError"):
            monkeypatch.delattr(tarfile, name, raising=False)
    return str(request.param)


@pytest.mark.usefixtures("python")
def test_what_leads_out_is_left_out_and_the_rest_is_ours(tmp_path: Path) -> None:
    dest = tmp_path / "dest ü"
    with archive_of(MEMBERS) as tar:
        assert extract_data(tar, dest) == REFUSED
    assert what_lies_in(dest) == {
        "file": ("0o100755", True),
        "folder": ("folder", True),
        "folder/tool ü": ("0o100755", True),
        "folder/up": ("link", True),
        "itself": ("link", True),
        "leading": ("0o100640", True),
        "near": ("link", True),
        "same": ("0o100755", True),
        "unreadable": ("0o100600", True),
    }
    assert [path.name for path in tmp_path.iterdir()] == [dest.name]


@pytest.mark.usefixtures("python")
def test_an_absolute_link_is_left_out_even_when_it_leads_inside(tmp_path: Path) -> None:
    with archive_of([("inside", SYMBOLIC, str(tmp_path / "x"), 0o777)]) as tar:
        assert extract_data(tar, tmp_path) == ["inside"]


@pytest.mark.usefixtures("python")
def test_a_link_made_by_the_archive_is_no_way_out(tmp_path: Path) -> None:
    (tmp_path / "dest").mkdir()
    (tmp_path / "dest" / "way").symlink_to(tmp_path)
    with archive_of([("way/escaped", REGULAR, "", 0o644)]) as tar:
        assert extract_data(tar, tmp_path / "dest") == ["way/escaped"]
    assert not (tmp_path / "escaped").exists()
