"""Labels survive their trip through environments and containers, and nothing else is taken for one."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_anything._util import labels, proc
from gym_anything._util.ascii_names import is_short_name, random_name
from gym_anything._util.labels import Label, Owner

pytestmark = pytest.mark.unit

NAMES = st.text(alphabet="abcz029", min_size=1, max_size=32)
OWNERS = st.builds(Owner, st.integers(1, 4_194_304), st.integers(0, 10**15), NAMES, st.integers(0, 2**32))


@given(st.builds(Label, NAMES, NAMES | st.just("-"), OWNERS))
def test_a_label_reads_back_from_text_and_from_container_labels(label: Label) -> None:
    assert Label.parse(str(label)) == label
    assert Label.from_dict({**label.as_dict(), "other": "x"}) == label


@given(st.text(max_size=60) | st.from_regex(r"[a-z0-9-]{0,9}/[a-z0-9-]{0,9}/[0-9a-z-]{0,30}", fullmatch=True))
def test_any_other_text_is_no_label_or_reads_back_as_itself(text: str) -> None:
    label = Label.parse(text)
    if label is not None:
        assert Label.parse(str(label)) == label
        assert is_short_name(label.run)


def test_labels_of_another_program_are_not_ours() -> None:
    assert Label.from_dict({}) is None
    assert Label.from_dict({labels.RUN: "r1", labels.WORLD: "../..", labels.OWNER: "1-2-a-3"}) is None


def test_this_process_is_a_live_owner() -> None:
    assert not Owner.current().is_dead()


def test_an_owner_is_dead_when_its_start_time_or_boot_is_another() -> None:
    """L3: a process that got the same number later is not the owner."""
    me = Owner.current()
    assert Owner(me.pid, me.start_ticks - 1, me.boot, me.pid_namespace).is_dead()
    assert Owner(me.pid, me.start_ticks, "another", me.pid_namespace).is_dead()
    assert Owner(4_194_304, 1, me.boot, me.pid_namespace).is_dead()


def test_of_an_owner_in_another_process_namespace_nothing_is_claimed() -> None:
    """L3: a run inside a container that shares the state folder must not be taken for dead."""
    me = Owner.current()
    assert not Owner(4_194_304, 1, me.boot, me.pid_namespace + 1).is_dead()


def test_random_names_are_short_names_and_differ() -> None:
    names = {random_name("w", 6) for _ in range(1000)}
    assert len(names) > 990
    assert all(is_short_name(name) and name.startswith("w") for name in names)


def test_proc_knows_this_process_and_its_parent() -> None:
    stat = proc.read_stat(os.getpid())
    assert stat is not None
    assert stat.parent == os.getppid()
    assert os.getpid() in proc.children(os.getppid())
    assert os.getppid() in proc.ancestors(os.getpid())
    assert proc.command_line(os.getpid())
    assert proc.pss_kib(os.getpid()) > 1000 < proc.rss_kib(os.getpid())
    assert 0 <= proc.uptime_ticks() - stat.start_ticks < proc.CLOCK_TICKS_PER_S * 86_400


def test_proc_takes_a_process_that_does_not_exist_for_an_answer() -> None:
    nobody = 4_194_305
    assert proc.read_stat(nobody) is None
    assert proc.start_ticks(nobody) is None
    assert proc.environ(nobody) == {}
    assert proc.command_line(nobody) == []
    assert proc.children(nobody) == []
    assert proc.pss_kib(nobody) == 0
