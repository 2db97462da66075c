"""What the guard reads, from files as kernels write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.pool.host_reading import read_host

pytestmark = pytest.mark.unit

GIB = 1 << 30


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A host of 24 GiB, 20 of them available, in no control group."""
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(
        "MemTotal:       25165824 kB\nMemFree:  1 kB\nMemAvailable:   20971520 kB\nHugePages_Total: 0\n"
    )
    (proc / "loadavg").write_text("1.25 0.80 0.60 2/345 6789\n")
    return proc


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_a_host_without_control_groups(proc: Path, tmp_path: Path) -> None:
    reading = read_host(proc, tmp_path / "none")
    assert (reading.memory_mib, reading.available_mib, reading.load, reading.waiting) == (24576, 20480, 1.25, None)
    assert reading.limit == "this host" and reading.cores >= 1


def test_pressure_where_the_kernel_tells_it(proc: Path, tmp_path: Path) -> None:
    write(proc / "pressure", cpu="some avg10=37.50 avg60=1.00 avg300=0.10 total=123\nfull avg10=0.00 avg60=0.00\n")
    assert read_host(proc, tmp_path).waiting == pytest.approx(0.375)


def test_version_2_groups_bound_what_is_available(proc: Path, tmp_path: Path) -> None:
    (proc / "self" / "cgroup").write_text("0::/pod/box\n")
    root = tmp_path / "cgroup"
    write(
        root / "pod",
        memory__max=f"{8 * GIB}\n",
        memory__current=f"{5 * GIB}\n",
        memory__stat=f"anon 1\ninactive_file {GIB}\n",
    )
    write(root / "pod" / "box", memory__max="max\n", memory__current=f"{GIB}\n", cpu__max="50000 100000\n")
    reading = read_host(proc, root)
    assert (reading.memory_mib, reading.available_mib, reading.cores) == (8192, 4096, 0.5)
    assert reading.limit == "control group pod"


def test_version_1_groups_bound_what_is_available(proc: Path, tmp_path: Path) -> None:
    (proc / "self" / "cgroup").write_text("5:cpu,cpuacct:/a\n4:memory:/a\n3:devices:/a\n")
    root = tmp_path / "cgroup"
    write(root / "memory" / "a", memory__limit_in_bytes=f"{4 * GIB}", memory__usage_in_bytes=f"{GIB}")
    write(root / "memory", memory__limit_in_bytes="9223372036854771712", memory__usage_in_bytes=f"{9 * GIB}")
    write(root / "cpu,cpuacct" / "a", cpu__cfs_quota_us="25000", cpu__cfs_period_us="100000")
    reading = read_host(proc, root)
    assert (reading.memory_mib, reading.available_mib, reading.cores) == (4096, 3072, 0.25)


def test_a_fuller_group_around_ours_bounds_what_is_available(proc: Path, tmp_path: Path) -> None:
    (proc / "self" / "cgroup").write_text("0::/pod/box\n")
    root = tmp_path / "cgroup"
    write(root / "pod", memory__max=f"{6 * GIB}\n", memory__current=f"{int(5.9 * GIB)}\n")
    write(root / "pod" / "box", memory__max=f"{4 * GIB}\n", memory__current=f"{GIB}\n")
    reading = read_host(proc, root)
    assert reading.memory_mib == 4096 and reading.available_mib == pytest.approx(0.1 * 1024, abs=1)
    assert reading.limit == "control group pod"


def test_a_group_larger_than_the_host_bounds_it_once_it_is_full(proc: Path, tmp_path: Path) -> None:
    (proc / "self" / "cgroup").write_text("0::/pod\n")
    write(tmp_path / "pod", memory__max=f"{32 * GIB}\n", memory__current=f"{31 * GIB}\n")
    reading = read_host(proc, tmp_path)
    assert (reading.memory_mib, reading.available_mib, reading.limit) == (24576, 1024, "control group pod")


def test_where_a_group_is_slowed_down_is_its_limit(proc: Path, tmp_path: Path) -> None:
    (proc / "self" / "cgroup").write_text("0::/pod\n")
    group = {"memory__max": f"{8 * GIB}\n", "memory__high": f"{3 * GIB}\n", "memory__current": f"{GIB}\n"}
    write(tmp_path / "pod", **group)
    assert (read_host(proc, tmp_path).memory_mib, read_host(proc, tmp_path).available_mib) == (3072, 2048)
    write(tmp_path / "pod", memory__high="max\n")
    assert read_host(proc, tmp_path).available_mib == 7168


def test_version_1_gives_up_the_files_of_groups_within_too(proc: Path, tmp_path: Path) -> None:
    (proc / "self" / "cgroup").write_text("4:memory:/a\n")
    group = tmp_path / "memory" / "a"
    write(group, memory__limit_in_bytes=f"{4 * GIB}", memory__usage_in_bytes=f"{3 * GIB}")
    write(group, memory__stat=f"inactive_file 0\ntotal_inactive_file {GIB}\n")
    assert read_host(proc, tmp_path).available_mib == 2048


def test_no_quota_is_no_bound(proc: Path, tmp_path: Path) -> None:
    (proc / "self" / "cgroup").write_text("5:cpu:/a\n")
    write(tmp_path / "cpu" / "a", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert read_host(proc, tmp_path).cores >= 1


def test_this_host() -> None:
    reading = read_host()
    assert 0 < reading.available_mib <= reading.memory_mib and reading.cores > 0 and reading.load >= 0
