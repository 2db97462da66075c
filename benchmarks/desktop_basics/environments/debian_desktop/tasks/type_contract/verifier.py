"""Ground truth: the text of /home/ga/contract.txt, compared line by line with the one in the prompt."""

from judging import judge, read_text


def verify(traj, env_info, task_info):
    wanted = task_info["task_spec"]["description"].partition("\n\n")[2].split("\n")
    given = (read_text(env_info, "/home/ga/contract.txt") or "").rstrip("\n").split("\n")
    right = [number < len(given) and given[number] == line for number, line in enumerate(wanted)]
    whole = all(right) and len(given) == len(wanted)
    share = round(80 * sum(ok for ok, line in zip(right, wanted) if line) / sum(bool(line) for line in wanted))
    wrong = [number + 1 for number, ok in enumerate(right) if not ok]
    verdict = judge({"the whole text": (100, whole)}, note=f"lines that differ: {wrong}, lines in all: {len(given)} of {len(wanted)}")
    return verdict if whole else {**verdict, "score": share}
