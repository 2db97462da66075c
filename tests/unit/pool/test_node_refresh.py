"""The refresh of a host, with a fake clock: when it drains, stops, reboots, returns, and when it does not."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gym_anything.errors import HostError, SettingInvalid
from gym_anything.pool.refresh import host, units
from gym_anything.pool.refresh.decision import Act, HostFacts, Phase, RefreshRecord, RefreshRules, decide, served

pytestmark = pytest.mark.unit

RULES = RefreshRules()
HOUR = 3600.0
A, D, S, W, B, R = Phase.SERVING, Act.DRAIN, Act.STOP, Act.WAIT, Act.REBOOT, Act.RETURN


class Host:
    """A host whose clock a test moves; looked at every quarter of an hour, as the timer does."""

    def __init__(self) -> None:
        self.now, self.booted_at, self.boot = 1e9, 1e9, "one"
        self.pools, self.tasks, self.others = 2, 0, 0
        self.reboots = True
        self.record = RefreshRecord()
        self.acts: list[Act] = []

    def look(self) -> Act:
        facts = HostFacts(self.now, self.now - self.booted_at, self.boot, self.pools, self.tasks, self.others)
        decision, record = decide(facts, self.record, RULES)
        if record.phase is Phase.DRAINING and self.record.phase is not Phase.DRAINING:
            record = replace(record, pools=tuple({"name": str(number)} for number in range(self.pools)))
        self.record = record
        if decision.act is Act.DRAIN and self.tasks == 0:
            self.pools = 0
        elif decision.act is Act.STOP:
            self.pools = self.tasks = 0
        elif decision.act is Act.REBOOT and self.reboots:
            self.boot, self.booted_at = self.boot + "x", self.now + 60
        elif decision.act is Act.RETURN:
            self.pools = len(record.pools)
            self.record = served(record, (), self.now)
        self.acts.append(decision.act)
        return decision.act

    def run(self, hours: float) -> list[Act]:
        """Let time pass; return what was done beside waiting."""
        self.acts = []
        for _ in range(round(hours * 4)):
            self.now += HOUR / 4
            self.look()
        return [act for act in self.acts if act is not Act.WAIT]


def test_an_idle_host_drains_reboots_and_returns_every_48_hours() -> None:
    node = Host()
    assert node.run(47.5) == []
    assert node.run(2) == [D, B, R]
    assert (node.pools, node.record.phase, node.boot) == (2, Phase.SERVING, "onex")
    assert node.run(46) == [] and node.run(3) == [D, B, R]
    assert node.pools == 2


def test_a_busy_host_waits_until_it_is_idle() -> None:
    node = Host()
    node.tasks = 3
    assert node.run(60) == []
    node.tasks = 0
    assert node.look() is W, "idle only now"
    assert node.run(1) == [D, B, R]


def test_a_host_that_is_never_idle_drains_in_the_end_and_tasks_get_their_time() -> None:
    node = Host()
    node.tasks = 1
    assert node.run(71.75) == []
    assert set(node.run(6)) == {D}
    assert node.run(1)[:3] == [S, B, R] and node.pools == 2


def test_worlds_of_no_pool_are_never_ended() -> None:
    node = Host()
    node.others = 1
    node.run(72)
    assert node.run(5) == [D] * 20 and node.others == 1
    acts = node.run(2)
    assert acts[-1] is R and B not in acts and node.pools == 2, "the pools are taken up again"
    node.others = 0
    assert node.run(12) == [], "put off"
    assert node.run(24) == [D, B, R]


def test_a_reboot_that_does_not_come_is_given_up() -> None:
    node = Host()
    node.reboots = False
    assert node.run(49.5) == [D, B, B, R]
    assert node.pools == 2 and node.record.put_off_until > node.now
    assert node.run(20) == []


def test_what_is_started_before_the_reboot_is_drained_too() -> None:
    node = Host()
    node.reboots = False
    while node.look() is not B:
        node.now += HOUR / 4
    node.pools, node.tasks, node.reboots = 1, 1, True
    assert node.look() is D and node.record.phase is Phase.DRAINING and node.boot == "one"
    node.tasks = 0
    assert node.run(0.75) == [D, B, R]


def test_what_could_not_be_taken_up_is_tried_again() -> None:
    record = served(RefreshRecord(Phase.RETURNING, pools=({"name": "a"}, {"name": "b"})), ({"name": "b"},), 5.0)
    decision, after = decide(HostFacts(10.0, 60.0, "two"), record)
    assert decision.act is R and [one["name"] for one in after.pools] == ["b"]


def test_the_record_outlives_the_reboot(tmp_path: Path) -> None:
    assert host.read_record(tmp_path) == RefreshRecord()
    record = RefreshRecord(Phase.REBOOTING, 5.0, "one", 1.0, ({"name": "a", "words": ["pool"], "env": None},), 9.0)
    host._write_record(tmp_path, record)
    assert host.read_record(tmp_path) == record
    (tmp_path / "node-refresh.json").write_text('{"phase": "elsewhere", "pools": []}')
    with pytest.raises(HostError, match="by hand"):
        host.read_record(tmp_path)


def plan(state: Path) -> units.UnitPlan:
    return units.UnitPlan(("/usr/bin/env", "-i", "gym-anything"), "daemon", state)


def test_only_the_reboot_and_what_root_had_set_is_roots() -> None:
    written = plan(Path("/var/tmp/a b%c$d")).units()
    assert set(written) == {units.REFRESH, units.TIMER, units.RETURN, units.RESTORE} == set(units.NAMES)
    assert [name for name, text in written.items() if "Exec" in text and "User=" not in text] == [units.RESTORE]
    assert [line for text in written.values() for line in text.splitlines() if "=+" in line] == [
        "ExecStart=+systemctl reboot"
    ]
    for name in (units.REFRESH, units.RETURN):
        assert "User=daemon\n" in written[name]
        assert 'Environment="GYM_ANYTHING_STATE_DIR=/var/tmp/a b%%c$d"\n' in written[name]
    assert '"/usr/bin/env" "-i" "gym-anything" "host" "refresh" "--step"' in written[units.REFRESH]


def test_what_root_had_set_is_there_before_pools_return(tmp_path: Path) -> None:
    written = replace(plan(tmp_path / "pools"), root_state=tmp_path / "root").units()
    assert '"gym-anything" "host" "restore"\n' in written[units.RESTORE]
    assert f'Environment="GYM_ANYTHING_STATE_DIR={tmp_path / "root"}"\n' in written[units.RESTORE]
    for name in (units.REFRESH, units.RETURN):  # the timer's step, too, takes pools up after a boot
        assert f"Requires={units.RESTORE}\nAfter={units.RESTORE}\n" in written[name]
        assert f'Environment="GYM_ANYTHING_STATE_DIR={tmp_path / "pools"}"\n' in written[name]
    assert "WantedBy=multi-user.target" in written[units.RESTORE]
    assert ["systemctl", "enable", units.RESTORE, units.RETURN] in units.install_commands()


def test_pools_that_units_start_have_room(tmp_path: Path) -> None:
    written = plan(tmp_path).units()
    for name in (units.REFRESH, units.RETURN):  # either of them takes pools up
        assert "TasksMax=infinity\nLimitNOFILE=65536:524288\n" in written[name]


def test_the_state_folder_is_the_users_also_when_root_installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GYM_ANYTHING_STATE_DIR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    other = next(one for one in pwd.getpwall() if one.pw_uid != os.geteuid())
    assert units.state_of(other.pw_name) == Path(other.pw_dir) / ".local/state/gym-anything"
    assert units.state_of(pwd.getpwuid(os.geteuid()).pw_name) == tmp_path / "gym-anything"
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "shared"))
    assert units.state_of(other.pw_name) == tmp_path / "shared"
    with pytest.raises(SettingInvalid, match="no user of this host"):
        units.state_of("no-such-user")


def test_what_an_earlier_version_has_installed_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(units, "_check_systemd", lambda: None)
    monkeypatch.setattr(units, "_run", lambda argv: ran.append(list(argv)))
    for name in (units.TIMER, units.REFRESH, units.RETURN):
        (tmp_path / name).touch()
    assert len(units.uninstall(tmp_path)) == 3 and list(tmp_path.iterdir()) == []
    assert ran == [
        ["systemctl", "disable", "--now", units.TIMER],
        ["systemctl", "disable", units.RETURN],
        ["systemctl", "daemon-reload"],
    ]


@pytest.mark.parametrize(("word", "text"), [('a"b', '"a\\"b"'), ("a\\b", '"a\\\\b"'), ("$A %n", '"$$A %%n"')])
def test_a_word_cannot_be_more_than_a_word(word: str, text: str) -> None:
    assert units.quoted(word) == text


def test_what_no_unit_can_say_is_refused() -> None:
    with pytest.raises(SettingInvalid):
        units.quoted("a\nExecStart=b")
    for user in ("", "a\nb", "-x", "a b"):
        with pytest.raises(SettingInvalid):
            units.UnitPlan(("/bin/true",), user, Path("/tmp")).units()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for name, text in plan(tmp_path / "a b%c").units().items():
        (tmp_path / name).write_text(text)
    argv = ["systemd-analyze", "verify", *map(str, sorted(tmp_path.glob("gym-*")))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "gym-anything" not in done.stderr, done.stderr


def test_without_systemd_nothing_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if Path("/run/systemd/system").is_dir():
        monkeypatch.setattr(units, "_check_systemd", lambda: (_ for _ in ()).throw(HostError("none")))
    with pytest.raises(HostError):
        units.install(plan(tmp_path), tmp_path)
    assert list(tmp_path.iterdir()) == [] and units.uninstall(tmp_path) == []
