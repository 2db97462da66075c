"""The page of figures: what was asked for, what was measured, and whether that is met."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tools.desktop_chart import desktop_chart
from tools.many_charts import recovery_chart, scale_chart

RECORDS = Path(__file__).parents[1] / "docs" / "reference" / "figures"
SERVERS = ("Xvnc", "Xvfb")
BARE_MARGIN = 1.15


@dataclass(frozen=True)
class Row:
    """One figure that was asked for: the words, the bound, and where its measured value stands.

    ``show`` names keys of the record's summary. With ``*`` in it, it is shown for each X server, and the bound holds for each.
    The first key is what is bound; ``every`` binds all keys. With ``bare`` the bound counts as kept, too, where the value is
    within BARE_MARGIN of the bare mechanism, measured by turns in the same run: no program is quicker than its machine.
    """

    what: str
    reach: str
    record: str
    show: str
    bound: float | None = None
    at_least: bool = False
    every: bool = False
    bare: bool = False

    @property
    def by_server(self) -> bool:
        """Tell whether it was measured on each X server."""
        return "{*" in self.show

    def shows(self) -> dict[str, str]:
        """Return what to show for each server; for "" where servers do not matter."""
        show = self.show + (
            f", {{{keys_of(self.show)[0].removesuffix('_p50')}_times_bare}} × bare" if self.bare else ""
        )
        if not self.by_server:
            return {"": show}
        return {server: show.replace("{*", "{" + server.lower()) for server in SERVERS}

    def is_measured(self, summary: dict[str, Any]) -> bool:
        """Tell whether the record has all that is shown."""
        return all(key in summary for show in self.shows().values() for key in keys_of(show))

    def value(self, summary: dict[str, Any]) -> str:
        """Return the measured value in words."""
        said = {key: number(value) for key, value in summary.items()}
        words = [f"{show.format(**said)} {server}".strip() for server, show in self.shows().items()]
        return "; ".join(words)

    def met(self, summary: dict[str, Any]) -> bool | None:
        """Tell whether what is bound keeps the bound, on every server; None: nothing is bound."""
        if self.bound is None:
            return None
        return all(
            self._keeps(float(summary[key])) or (self.bare and float(summary[keys[-1]]) <= BARE_MARGIN)
            for keys in (keys_of(show) for show in self.shows().values())
            for key in (keys if self.every else keys[:1])
        )

    def _keeps(self, value: float) -> bool:
        assert self.bound is not None
        return value >= self.bound if self.at_least else value <= self.bound


def keys_of(show: str) -> list[str]:
    """Return the summary's keys that a template shows."""
    return re.findall(r"{([*\w]+)", show)


def number(value: Any) -> str:
    """Return a number with three digits, or whole where it has more."""
    if not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if value >= 100 or isinstance(value, int) else f"{value:.3g}"


def _p50(key: str, unit: str = "ms") -> str:
    return f"{{{key}_{unit}_p50}} {unit} (p95 {{{key}_{unit}_p95}})"


def _tcp(key: str) -> str:
    return f"{{tcp_{key}_ms_p50}} ms (with TLS {{tls_{key}_ms_p50}})"


EPISODE = (
    Row("`import gym_anything`", "≤ 150 ms", "import", "{import_ms_p50} ms", 150),
    Row("`gym-anything --help`", "≤ 300 ms", "import", "{help_ms_p50} ms", 300),
    Row("local world, 1920×1080, from nothing to a ready desktop", "≤ 1.5 s", "local_start", "{start_s_p50} s", 1.5),
    Row("idle memory (PSS) of a local world", "≤ 65 MiB", "local_start", "{idle_pss_mib_p50} MiB", 65),
    Row("restore from a `post_start` checkpoint", "≤ 1.5 s", "local_start", "{restore_s_p50} s", 1.5),
    Row("`env.step` with one click, fast mode, 1920×1080, p50", "≤ 8 ms", "step", _p50("step_click"), 8),
    Row("200 episodes in one process: growth of RSS", "≤ 20 MiB", "flat", "{rss_growth_mib} MiB", 20),
    Row("the same: descriptors, threads, processes, temporary files", "flat", "flat",
        "{fds_growth}, {threads_growth}, {processes_growth}, {temp_files_growth}", 0, every=True),
    Row("16 local worlds at once", "all ready", "worlds_at_once", "{worlds_ready} ready in {all_ready_s} s", 16, at_least=True),
    Row("bad specs, actions, hooks, verifiers tried by property tests", "≥ 5,000 cases", "property_cases", "{cases} cases", 5000, at_least=True),
    Row("`make test` on a prepared machine", "≤ 12 min", "make_test", "{minutes} min", 12),
)  # fmt: skip

DESKTOP = (
    Row("newest frame as array, with a barrier, screen unchanged", "≤ 0.1 ms", "desktop", _p50("*_barrier_unchanged"), 0.1, bare=True),
    Row("the same as PIL image", "≤ 4 ms", "desktop", "{*_pil_image_ms_p50} ms", 4),
    Row("the array right after a full-screen change", "≤ 1 ms", "desktop", _p50("*_barrier_full_change"), 1, bare=True),
    Row("the array right after a change of 400×300", "≤ 0.4 ms", "desktop", _p50("*_barrier_400x300_change"), 0.4, bare=True),
    Row("move and click, acknowledged", "≤ 0.1 ms", "desktop", _p50("*_click_ack"), 0.1, bare=True),
    Row("the same, against an `xdotool` process in the same run", "≥ 1,000× faster", "desktop",
        "{*_xdotool_times_click}×", 1000, at_least=True, bare=True),
    Row("click to changed pixel seen by the reader, in a minimal X client", "≤ 3 ms", "desktop", _p50("*_click_to_pixel"), 3, bare=True),
    Row("`env.step` with one click in fast mode, screen unchanged, observation as array", "≤ 0.6 ms", "bench_desktop", _p50("*_step_unchanged_ours"), 0.6),
    Row("the same, observation as PIL image", "≤ 4.5 ms", "bench_desktop", _p50("*_step_unchanged_ours_image"), 4.5),
    Row("1,000 ASCII characters typed and arrived in a terminal", "≤ 100 ms", "desktop", "{*_ascii_1000_arrived_ms_p50} ms", 100),
    *(
        Row(f"120 characters of {script} injected, {app}", "≤ 25 ms", "typing_speed",
            f"{{{app.lower()}_{script.lower()}_120_ack_ms_p50}} ms", 25)
        for app in ("GTK", "Chromium") for script in ("Cyrillic", "CJK", "emoji")
    ),
    Row("exact round trips: 7 kinds of text, 4 layouts, 5 applications, 50 trials of 200 characters each", "100 %", "typing_matrix",
        "{exact_percent} % of {trials}", 100, at_least=True),
    Row("service CPU at rest", "0 % of a core", "desktop", "{*_cpu_idle_percent} %", 0.05),
    Row("service CPU at 60 full-screen changes a second", "≤ 3 % of a core", "desktop",
        "{*_cpu_60_changes_percent} % (each of them looked at: {*_cpu_60_changes_and_60_looks_percent} %)", 3, bare=True),
    Row("service memory (PSS) beyond its frames and grab buffer", "≤ 3 MiB", "bench_desktop", "{*_memory_beyond_frames_ours_mib} MiB", 3),
    Row("torn frames seen by a reader under 60 full changes a second", "0 of 100,000", "torn_frames",
        "{*_torn_frames} of {*_frames_looked_at}", 0),
    Row("frame over TCP on loopback, 1080p, unchanged", "≤ 0.3 ms", "far_frames", _tcp("unchanged"), 0.3),
    Row("the same, after a typical window change (a page of text in a terminal)", "≤ 3 ms", "far_frames", _tcp("window_600x400"), 3),
    Row("the same, after a full change (a desktop and its dark mirror), exact", "≤ 15 ms", "far_frames", _tcp("full_mixed"), 15),
)  # fmt: skip


def _stage(way: str, stage: str, what: str, bound: float) -> Row:
    show = f"{{{way}_{stage}_ms_p50}} ms (p95 {{{way}_{stage}_ms_p95}})"
    return Row(what, f"≤ {bound:g} ms", "qemu", show, bound, bare=True)


MACHINES = (
    Row("QEMU Debian desktop, cold boot to ready", "≤ 25 s", "qemu", "{cold_boot_s_p50} s", 25),
    Row("memory checkpoint saved, 1 GiB machine", "≤ 0.5 s", "qemu", "{save_s_p50} s (p95 {save_s_p95})", 0.5),
    _stage("spawned", "running", "clone in a process started for it: running", 80),
    _stage("spawned", "frame", "the same: first frame", 90),
    _stage("spawned", "answers", "the same: guest agent has answered", 140),
    _stage("waiting", "running", "clone in a process that waits: running", 20),
    _stage("waiting", "frame", "the same: first frame", 30),
    _stage("waiting", "answers", "the same: guest agent has answered", 70),
    Row("clone made ahead, that stands still: running / guest has answered / first frame", "", "qemu",
        "{ahead_running_ms_p50} / {ahead_answers_ms_p50} / {ahead_frame_ms_p50} ms"),
    Row("`reset()` of a full operating system by fork, first observation included", "≤ 150 ms", "qemu", _p50("reset"), 150),
    Row("128 clones of a 1 GiB machine alive: each has answered, and stands still until it is wanted", "≤ 17 s", "qemu", "{many_s} s", 17,
        bare=True),
    Row("the same: memory (PSS) in all when ready", "≤ 6 GB", "qemu", "{many_pss_gb} GB", 6),
    Row("the same: disk of each", "≤ 1 MiB", "qemu", "{many_disk_mib_each_max} MiB at most", 1),
    Row("the same, after ten minutes: memory in all, clones that answer", "", "qemu_stay",
        "{many_pss_later_gb} GB (when ready {many_pss_gb}), {many_answering} of {many}"),
    Row("200 forks: corrupt ones, identities and random numbers that repeat, wrong clocks", "none", "fork_soak",
        "{corrupt}, {repeated}, {clock_wrong}", 0, every=True),
    Row("`env.fork(4)` of a running 1 GiB machine that has just written 400 MiB: all four have answered", "≤ 2 s", "fork_env",
        "{dirty_400_mib_all_answered_s_p50} s (four bare QEMU processes run after {dirty_400_mib_bare_running_s_p50} s; with nothing "
        "written {dirty_0_mib_all_answered_s_p50} s)", 2),
    Row("the same: for how long the source stands still", "≤ 0.5 s", "fork_env",
        "{dirty_400_mib_paused_s_p50} s (with nothing written {dirty_0_mib_paused_s_p50} s)", 0.5),
    Row("QEMU screenshot by QMP, 1280×800", "≤ 5 ms", "qemu_frames", _p50("screendump"), 5, bare=True),
    Row("QEMU, D-Bus: newest frame, unchanged", "≤ 0.1 ms", "qemu_frames", _p50("dbus_unchanged"), 0.1),
    Row("QEMU, D-Bus: from an input to its change in memory", "≤ 34 ms", "qemu_frames", _p50("dbus_change_in_memory"), 34),
    Row("QEMU, backend `guest`: `env.step` with a click", "≤ 12 ms", "qemu_frames",
        "{guest_step_click_ms_p50} ms (p95 {guest_step_click_ms_p95}; by QMP {qmp_step_click_ms_p50}, by D-Bus {dbus_step_click_ms_p50})", 12),
    Row("the same: frame with a barrier, unchanged / right after all of the screen has changed", "", "qemu_frames",
        "{guest_unchanged_ms_p50} / {guest_full_change_ms_p50} ms"),
    Row("QEMU keys: texts of 500 characters that arrive exactly, by the fast keyboard", "50 of 50", "qemu_input",
        "{texts_exact} of {texts}", 50, at_least=True),
    Row("QEMU, pointer by QMP: clicks / double clicks / drags seen by an application", "100 %", "qemu_input",
        "{click_seen_percent} / {double_click_seen_percent} / {drag_seen_percent} %", 100, at_least=True, every=True),
    Row("the same: acknowledged move / click / double click / key / 500 characters", "", "qemu_input",
        "{move_ms_p50} / {click_ms_p50} / {double_click_ms_p50} / {key_ms_p50} / {text_500_ms_p50} ms"),
    Row("docker world ready from an image in the engine, 1920×1080", "≤ 2 s", "docker",
        "{start_s_p50} s (p95 {start_s_p95}; an empty container alone {bare_container_s_p50})", 2),
    Row("apptainer world ready from its image, 1920×1080", "≤ 1.5 s", "apptainer",
        "{start_s_p50} s (p95 {start_s_p95}; a bare instance alone {bare_instance_s_p50})", 1.5),
    Row("docker: `env.step` with one click, observation as array", "≤ 0.8 ms", "docker", _p50("step_click"), 0.8),
    Row("apptainer: `env.step` with one click, observation as array", "≤ 0.8 ms", "apptainer", _p50("step_click"), 0.8),
    Row("`kill -9` of the owner of a local / docker / apptainer / QEMU world at random moments", "100 in all", "kills",
        "{local_kills} / {docker_kills} / {apptainer_kills} / {qemu_native_kills}", 25, at_least=True, every=True),
    Row("the same: things left after the next `gym-anything cache gc`", "0", "kills",
        "{local_left} / {docker_left} / {apptainer_left} / {qemu_native_left}", 0, every=True),
    Row("the same: worlds, containers and files of others that were touched", "0", "kills",
        "{local_others_touched} / {docker_others_touched} / {apptainer_others_touched} / {qemu_native_others_touched}", 0, every=True),
    Row("clicks, double and triple clicks, drags, wheel, chords and text that applications got as sent, in local, docker, apptainer, qemu_native", "100 %",
        "input_latency", "{checks_percent} % of {checks} checks", 100, at_least=True),
)  # fmt: skip

MANY = (
    Row("pool of 128 forked machines ready", "≤ 20 s", "pool_vm", "{ready_s} s", 20),
    Row("the same: healthy after 10 minutes of light steps", "128 of 128", "pool_vm", "{healthy} of {count} ({failed_steps} of {steps} steps failed)", 128, at_least=True),
    Row("the same: memory in all (PSS) / what the host has less", "", "pool_vm", "{pss_gb} / {host_gb} GB"),
    Row("machines alive and answering at once", "256", "pool_vm", "{many_answered} of {many_count}, ready after {many_ready_s} s, {many_host_gb} GB", 256, at_least=True),
    Row("pool of 128 local desktops ready", "≤ 20 s", "pool_desktop", "{ready_s} s", 20),
    Row("the same: memory in all (PSS)", "≤ 9 GB", "pool_desktop", "{pss_gb} GB (the host has {host_gb} less)", 9),
    Row("the same: healthy after a minute of light steps", "", "pool_desktop", "{healthy} of {count}"),
    Row("check-out of a warm local desktop, p50", "≤ 2 ms", "pool_desktop", "{check_out_ms_p50} ms", 2),
    Row("check-out of a warm forked machine, p50", "≤ 2 ms", "pool_vm", "{check_out_ms_p50} ms", 2),
    Row("scaling efficiency, 1 → 1,024 simulated replicas at 1 s a step", "≥ 0.95", "pool_scale", "{at_1024_efficiency}", 0.95, at_least=True),
    Row("the same: added to each step, p50", "≤ 1 ms", "pool_scale", "{at_1024_added_ms_p50} ms", 1),
    Row("the same: p99", "≤ 5 ms", "pool_scale", "{at_1024_added_ms_p99} ms", 5),
    Row("the same: processor time of manager and server for each step", "≤ 0.3 ms", "pool_scale", "{at_1024_cpu_ms_per_step} ms", 0.3),
    Row("128 machines killed at once: every task at work on a fresh one", "≤ 30 s", "recovery", "{vm_back_s} s (half of them {vm_back_s_p50})", 30),
    Row("the same: tasks lost", "0", "recovery", "{vm_lost} ({vm_finished} finished in {vm_attempts} attempts)", 0),
    Row("128 local desktops killed at once: every task at work on a fresh one / lost", "", "recovery", "{desktop_back_s} s / {desktop_lost}"),
    Row("random faults over 2,000 episodes on simulated replicas", "≥ 1,000", "chaos", "{simulated_faults} faults in {simulated_attempts} attempts", 1000, at_least=True),
    Row("the same: episodes lost, wrong results, inputs applied twice, worlds left, neighbours disturbed", "0", "chaos",
        "{simulated_lost}, {simulated_wrong}, {simulated_twice}, {simulated_alive}, {simulated_disturbed}", 0, every=True),
    Row("real faults on local desktops", "", "chaos", "{desktop_faults} over {desktop_episodes} episodes, in {desktop_attempts} attempts"),
    Row("the same, by the files that the desktops hold: lost, wrong, twice, left, disturbed", "0", "chaos",
        "{desktop_lost}, {desktop_wrong}, {desktop_twice}, {desktop_alive}, {desktop_disturbed}", 0, every=True),
    Row("real faults on forked machines, crashes of their kernels among them", "", "chaos", "{vm_faults} over {vm_episodes} episodes, in {vm_attempts} attempts"),
    Row("the same, by the files that the machines hold: lost, wrong, twice, left, disturbed", "0", "chaos",
        "{vm_lost}, {vm_wrong}, {vm_twice}, {vm_alive}, {vm_disturbed}", 0, every=True),
    Row("128 disks by reflink (`host disk`), each against a copy: disk saved", "≥ 99.5 %", "pool_disk", "{saved_percent} %", 99.5, at_least=True),
    Row("the same: provisioning, against a full copy (a forked machine's own disk is a layer: see above)", "≥ 200×", "pool_disk", "{times_faster}× ({share_ms_p50} against {copy_ms_p50} ms)", 200, at_least=True),
    Row("worlds at work under a policy of 10 steps' latency with a long tail, against batch-wise stepping", "≥ 3×", "utilisation",
        "{equal_times}× (episodes of equal length; of drawn length {drawn_times}×)", 3, at_least=True),
)  # fmt: skip

BENCHMARKS = (
    Row("all of `desktop_basics` with the oracle, four episodes at a time", "≤ 4 min", "desktop_basics", "{whole_run_s} s", 240),
    Row("the same: tasks not passed, in the worst of three runs in a row", "0", "desktop_basics", "{not_passed} of {tasks}", 0),
    Row("the same: runs that differ from the first", "0", "desktop_basics", "{runs_that_differ}", 0),
    Row("overhead of the runner per step beyond world and agent", "≤ 3 ms", "benchmark_overhead", "{overhead_ms_p50} ms (p99 {overhead_ms_p99})", 3),
    Row("1,000 episodes on fake worlds in one run, verdicts by program", "≤ 90 s", "benchmark_flat", "{seconds} s", 90),
    Row("the same: memory of what lives as long as the run, from episode 100 to the last", "flat", "benchmark_flat",
        "{memory_growth_mib} MiB more, of {memory_mib}", 10),
    Row("`kill -9` in mid-run, 50 times, and resumed: finished results lost, changed or redone", "0", "benchmark_resume",
        "{lost} lost, {changed} changed, {redone} redone", 0, every=True),
    Row("the same: processes left, results missing at the end", "0", "benchmark_resume", "{processes_left} left, {missing} missing", 0, every=True),
    Row("viewer: a list of 10,000 episodes shown", "≤ 1 s", "viewer", "{list_s_p50} s (at most {list_s_max}; {first_list_s} when its index is made, too)", 1),
    Row("viewer: one episode opened", "≤ 0.5 s", "viewer", "{episode_s_p50} s (at most {episode_s_max})", 0.5),
    Row("viewer: the filter of that list follows", "", "viewer", "{filter_s_p50} s"),
)  # fmt: skip

CLAIMS = (
    ("replicas of a full operating system on one machine", "128 on 88 cores and 768 GB, booted, each limited to 6 GB", "pool_vm",
        "{many_answered} that live and answer, forked from one, on 2 cores and 24 GiB without KVM; they mostly rest"),
    ("physical disk saved", "88 % (128 replicas that have run)", "pool_disk", "{saved_percent} % when made, {saved_after_writes_percent} % with 16 places written in each of 128"),
    ("provisioning of a disk against a full copy", "37 times", "pool_disk", "{times_faster} times; the base has {base_mib} MiB of data, the copy goes to the disk"),
    ("recovery from a state in which all replicas have crashed", "within a short window", "recovery",
        "{vm_back_s} s until each of 128 tasks is at work on a fresh machine, {vm_lost} lost"),
    ("throughput from tens to a thousand replicas", "nearly linear", "pool_scale", "{at_1024_efficiency} of linear at 1,024; simulated replicas in {at_1024_shards} shard processes, a second a step"),
)  # fmt: skip
"""What the OSGym paper claims, in its words, the record that has ours, and ours with its conditions."""

SECTIONS = {
    "The house, and a first episode": EPISODE,
    "Exact and fast: the desktop service": DESKTOP,
    "Containers and virtual machines": MACHINES,
    "Very many worlds": MANY,
    "Benchmarks": BENCHMARKS,
}
FIGURES = tuple(row for rows in SECTIONS.values() for row in rows)
CHART = "desktop.svg"
_VERDICTS = {True: "met", False: "**not met**", None: ""}


def record(name: str) -> dict[str, Any] | None:
    """Return one figure's record, or None when it was never measured."""
    path = RECORDS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def performance_page() -> str:
    """Render the tables of figures from the records."""
    lines = [
        "# Performance\n\nMeasured on plain build machines, by `make figures`; each value comes from the record it links to. p50 unless said. "
        "× bare: how many times as long as the bare mechanism took (the X requests and copies alone, `tests/bench/bare_desktop.c`; QEMU "
        "alone, `src/gym_anything/measure/fork_bare.py`), "
        f"by turns in the same run; within {BARE_MARGIN} of it a figure counts as met, since no program is quicker than its machine."
    ]
    conditions: dict[str, None] = {}
    for title, rows in SECTIONS.items():
        lines.append(f"\n## {title}\n\n| figure | reach | measured | | record |\n|---|---|---|---|---|")
        for row in rows:
            found = record(row.record)
            if found is None or not row.is_measured(found["summary"]):
                lines.append(f"| {row.what} | {row.reach} | not measured yet | | |")
                continue
            summary = found["summary"]
            verdict, link = _VERDICTS[row.met(summary)], f"[{row.record}](figures/{row.record}.json)"
            lines.append(f"| {row.what} | {row.reach} | {row.value(summary)} | {verdict} | {link} |")
            conditions[conditions_line(found)] = None
    lines.append(_claims_section())
    bench = record("bench_desktop")
    if bench is not None:
        lines.append(_chart_section(bench))
        conditions[conditions_line(bench)] = None
    return "\n".join([*lines, "\n## Conditions\n", *conditions]) + "\n"


def _claims_section() -> str:
    lines = ["\n## Beside the OSGym paper\n\n| what | the paper | here | record |\n|---|---|---|---|"]
    for what, said, name, ours in CLAIMS:
        found = record(name)
        if found is None or any(key not in found["summary"] for key in keys_of(ours)):
            lines.append(f"| {what} | {said} | not measured yet | |")
        else:
            words = ours.format(**{key: number(value) for key, value in found["summary"].items()})
            lines.append(f"| {what} | {said} | {words} | [{name}](figures/{name}.json) |")
    lines += [f"\n![{file.removesuffix('.svg')}](figures/{file})" for file in many_charts()]
    return "\n".join([*lines, "\nIts figures of cost, and which of them reconcile: `gym-anything bench cost`."])


MANY_CHARTS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "pool_scale.svg": ("pool_scale", scale_chart),
    "recovery.svg": ("recovery", recovery_chart),
}
"""Pictures of very many worlds: the file, the record, what draws it. Each only where it has a record."""


def many_charts() -> dict[str, Callable[[], str]]:
    """Return what draws each picture whose record is there."""
    found = {file: (record(name), draw) for file, (name, draw) in MANY_CHARTS.items()}
    return {file: partial(draw, one) for file, (one, draw) in found.items() if one is not None}


def chart() -> str:
    """Draw the chart of `bench desktop`. Only where it has a record."""
    found = record("bench_desktop")
    assert found is not None, "bench_desktop was never measured"
    return desktop_chart(found)


def _chart_section(bench: dict[str, Any]) -> str:
    text = (
        "\n## Beside the ways in use elsewhere\n\n"
        "`gym-anything bench desktop` measures them by turns in one run. On a logarithmic scale, p50:\n\n"
        f"![Time of an action: ours beside the other ways, on Xvnc and on Xvfb](figures/{CHART})\n\n"
        "From [bench_desktop](figures/bench_desktop.json); a way's ratio to ours comes from the same rounds."
    )
    skipped = {way: reason for ways in bench["skipped"].values() for way, reason in ways.items()}
    return "\n".join([text, *(f"Not measured: {way}: {reason}." for way, reason in skipped.items())])


def conditions_line(found: dict[str, Any]) -> str:
    machine = found["machine"]
    pages = machine.get("large_shared_pages", "never")
    lent = "" if pages == "never" else f", large pages for shared memory: {pages} (see `gym-anything doctor`)"
    return (
        f"* `{found['command']}`: {found['conditions']}. Commit {found['commit']}, {found['date']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, {machine['system']}, Python {machine['python']}{lent}."
    )
