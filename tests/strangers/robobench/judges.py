"""A verifier in a package, for ``pkg.mod:func``."""


def verify(traj, env_info, task_info):
    ticks = int(env_info["exec_capture"]("ticks"))
    return {"passed": ticks >= 8, "score": min(100, ticks * 12.5)}
