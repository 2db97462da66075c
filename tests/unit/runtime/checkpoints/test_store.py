"""The store: whole or not at all, one creator a key, nothing taken from under a user."""

from __future__ import annotations

import json
import multiprocessing
import threading
from pathlib import Path

import pytest

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import CheckpointError, CheckpointLocked, CheckpointMissing, CheckpointStale
from gym_anything.runtime.checkpoints.store import MANIFEST, ON_DISK, Checkpoint, CheckpointStore

pytestmark = pytest.mark.real


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "store")


def make(store: CheckpointStore, key: str, *, parents: tuple[str, ...] = (), text: str = "content") -> Checkpoint:
    with store.creating(key, Deadline.after(10)) as existing:
        assert existing is None
        return store.publish(
            key, {"parents": list(parents)}, lambda folder: (folder / "data").write_text(text) and None
        )


def test_what_was_published_is_found_whole(store: CheckpointStore) -> None:
    made = make(store, "k1")
    found = store.get("k1")
    assert found.path == made.path
    assert (found.path / "data").read_text() == "content"
    assert [checkpoint.key for checkpoint in store.all()] == ["k1"]


def test_what_is_synced_later_is_there_at_once_and_soon_on_disk(store: CheckpointStore) -> None:
    made = store.publish("k1", {}, lambda folder: (folder / "data").write_text("x") and None, sync_later=True)
    assert store.get("k1").path == made.path
    wait_until((made.path / ON_DISK).exists, deadline=Deadline.after(30), awaited="the disk")


def test_what_was_not_on_disk_when_the_host_went_down_is_not_believed(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("lost", "kept"):
        made = store.publish(key, {}, lambda folder: (folder / "data").write_text("x") and None, sync_later=True)
        wait_until((made.path / ON_DISK).exists, deadline=Deadline.after(30), awaited="the disk")
    (store.root / "lost" / ON_DISK).unlink()
    monkeypatch.setattr(proc, "boot_id", lambda: "another boot")
    assert store.find("lost") is None
    assert [one.key for one in store.all()] == ["kept"]
    assert store.collect(dry_run=True) == [store.root / "lost"]
    make(store, "lost", text="new")  # takes its place
    assert (store.get("lost").path / "data").read_text() == "new"
    assert store.collect() == []
    assert store.find("kept") is not None


def test_a_failure_while_filling_leaves_nothing(store: CheckpointStore) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise OSError("disk full")

    with pytest.raises(CheckpointError, match="disk full"):
        store.publish("k1", {}, fail)
    assert store.find("k1") is None
    assert [path.name for path in store.root.iterdir()] == ["locks"]


def test_a_missing_one_is_said_to_be_missing(store: CheckpointStore) -> None:
    assert store.find("none") is None
    with pytest.raises(CheckpointMissing):
        store.get("none")


def test_one_whose_parent_is_gone_is_not_usable(store: CheckpointStore) -> None:
    make(store, "low")
    make(store, "high", parents=("low",))
    (store.root / "low" / MANIFEST).unlink()
    assert store.find("high") is None


def test_another_format_is_refused_by_name(store: CheckpointStore) -> None:
    """K3: one made by another version is refused with the difference named."""
    make(store, "k1")
    path = store.root / "k1" / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(CheckpointStale, match="format 99"):
        store.find("k1")


def test_a_broken_manifest_counts_as_missing(store: CheckpointStore) -> None:
    """K2: what is not whole is not used."""
    make(store, "k1")
    (store.root / "k1" / MANIFEST).write_text('{"half":')
    assert store.find("k1") is None


def test_removal_waits_for_the_last_user(store: CheckpointStore) -> None:
    """K4: deleting a checkpoint in use is deferred."""
    made = make(store, "k1")
    first, second = store.lease(made), store.lease(made)
    assert store.remove("k1")
    assert store.find("k1") is None
    assert not made.path.exists()
    (doomed,) = store.root.glob("doomed-*")
    assert (doomed / "data").read_text() == "content"
    first.release()
    assert doomed.exists()
    second.release()
    assert not doomed.exists()
    assert not store.remove("k1")


def test_a_new_one_may_take_the_place_of_a_removed_one_in_use(store: CheckpointStore) -> None:
    lease = store.lease(make(store, "k1", text="old"))
    store.remove("k1")
    new = make(store, "k1", text="new")
    lease.release()
    assert (new.path / "data").read_text() == "new"


def test_one_that_another_lies_on_stays(store: CheckpointStore) -> None:
    """K4: deleting a checkpoint that another needs is refused."""
    make(store, "low")
    make(store, "high", parents=("low",))
    with pytest.raises(CheckpointLocked, match="needed by high"):
        store.remove("low")
    assert store.remove("high") and store.remove("low")


def test_a_lease_holds_the_parents_too(store: CheckpointStore) -> None:
    make(store, "low")
    lease = store.lease(make(store, "high", parents=("low",)))
    store.remove("high")
    store.remove("low")
    assert len(list(store.root.glob("doomed-*"))) == 2
    lease.release()
    assert not list(store.root.glob("doomed-*"))


def test_a_lease_of_what_has_just_gone_is_refused(store: CheckpointStore) -> None:
    made = make(store, "k1")
    store.remove("k1")
    with pytest.raises(CheckpointMissing):
        store.lease(made)


def test_the_second_creator_waits_and_finds_what_the_first_made(store: CheckpointStore) -> None:
    """K6: one creator per key; the others wait and reuse."""
    inside, go_on = threading.Event(), threading.Event()
    seen: list[Checkpoint | None] = []

    def first() -> None:
        with store.creating("k1", Deadline.after(10)) as existing:
            seen.append(existing)
            inside.set()
            go_on.wait(10)
            store.publish("k1", {}, lambda folder: None)

    def second() -> None:
        with store.creating("k1", Deadline.after(10)) as existing:
            seen.append(existing)

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert inside.wait(10)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert seen[0] is None
    assert seen[1] is not None and seen[1].key == "k1"


def test_a_creator_that_never_ends_is_named_after_the_deadline(store: CheckpointStore) -> None:
    first = store.creating("k1", Deadline.after(10))
    second = store.creating("k1", Deadline.after(0.05))
    with first, pytest.raises(CheckpointLocked, match="still making"), second:
        pytest.fail("two creators at once")


def _count_creations(root: str, start: multiprocessing.synchronize.Event, made: multiprocessing.Queue[int]) -> None:
    store = CheckpointStore(Path(root))
    start.wait(30)
    with store.creating("shared", Deadline.after(30)) as existing:
        if existing is None:
            store.publish("shared", {}, lambda folder: None)
            made.put(1)


def test_of_many_processes_one_creates(store: CheckpointStore) -> None:
    """K6, across processes."""
    context = multiprocessing.get_context("spawn")
    start, made = context.Event(), context.Queue()
    processes = [context.Process(target=_count_creations, args=(str(store.root), start, made)) for _ in range(4)]
    for process in processes:
        process.start()
    start.set()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert made.get(timeout=10) == 1
    assert made.empty()
    assert store.find("shared") is not None


def test_collection_removes_what_killed_creators_left_and_nothing_else(store: CheckpointStore) -> None:
    """L3: clean-up after a kill finds only its own left-overs."""
    kept = make(store, "k1")
    left = store.root / "staging-abcdefgh"
    left.mkdir()
    (left / "half").write_text("x")
    assert store.collect(dry_run=True) == [left]
    assert left.exists()
    assert store.collect() == [left]
    assert not left.exists()
    assert kept.path.exists()


def test_collection_leaves_a_living_creator_alone(store: CheckpointStore) -> None:
    def fill(folder: Path) -> None:
        assert CheckpointStore(store.root).collect() == []
        (folder / "data").write_text("x")

    store.publish("k1", {}, fill)
    assert (store.get("k1").path / "data").exists()
