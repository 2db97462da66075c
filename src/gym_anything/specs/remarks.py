"""What is odd about a loaded spec, said aloud: values that are accepted but do not do what they seem to."""

from __future__ import annotations

from collections import Counter

from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.guest_paths import canonical_guest_path
from gym_anything.specs.spec_warning import SpecWarning
from gym_anything.specs.task_spec import REWARD_TYPES, TaskSpec


def env_warnings(origin: str, spec: EnvSpec) -> list[SpecWarning]:
    """Return the remarks about an environment."""
    found = []
    targets = Counter(canonical_guest_path(m.target, spec.os_type) for m in spec.mounts)
    for target, count in targets.items():
        if count > 1:
            found.append(SpecWarning(origin, "mounts", "duplicate-target", f"{target} is mounted {count} times"))
    for key, items in (("observation", spec.observation), ("action", spec.action)):
        for kind, count in Counter(item.type for item in items).items():
            if count > 1:
                found.append(SpecWarning(origin, key, "duplicate-type", f"{kind!r} is listed {count} times"))
    if spec.security.network_allowlist is not None and not spec.resources.net:
        message = "has no effect while resources.net is false: nothing can be reached at all"
        found.append(SpecWarning(origin, "security.network_allowlist", "no-effect", message))
    return found


def task_warnings(origin: str, spec: TaskSpec) -> list[SpecWarning]:
    """Return the remarks about a task."""
    found = []
    reward = spec.init.reward_type
    if reward not in REWARD_TYPES:
        message = f"{reward!r} is not one of {', '.join(REWARD_TYPES)}; scored as sparse"
        found.append(SpecWarning(origin, "init.reward_type", "reward-type", message))
    elif reward != spec.reward_rule:
        message = f"{reward!r} without init.reward_shaping is scored as {spec.reward_rule}"
        found.append(SpecWarning(origin, "init.reward_type", "reward-type", message))
    if not (spec.description or spec.natural_language):
        message = f"neither description nor natural_language; the agent is told {spec.prompt!r}"
        found.append(SpecWarning(origin, "description", "no-prompt", message))
    if not spec.success.spec:
        found.append(SpecWarning(origin, "success.spec", "no-judge", "nothing says how success is judged"))
    given = spec.extras.get("post_task_settle_sec", spec.metadata.get("post_task_settle_sec"))
    if given is not None and spec.post_task_settle_sec is None:
        message = "is not a number of seconds between 0 and 86400; the default is used"
        found.append(SpecWarning(origin, "post_task_settle_sec", "no-effect", message))
    return found
