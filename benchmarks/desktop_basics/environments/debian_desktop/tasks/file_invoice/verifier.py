"""Ground truth: the names and contents of the files under /home/ga/Papers."""

EXPECTED = {
    "Archive/invoice-march.txt": "Invoice of march",
    "invoice-april.txt": "Invoice of april",
    "invoice-february.txt": "Invoice of february",
    "invoice-january.txt": "Invoice of january",
}


def verify(traj, env_info, task_info):
    listing = env_info["exec_capture"]("cd /home/ga/Papers && find . -type f -exec head -qn1 {} \\; -printf '%P\\n'")
    lines = listing.splitlines()
    found = dict(zip(lines[1::2], lines[0::2], strict=True))
    arrived = found.get("Archive/invoice-march.txt") == EXPECTED["Archive/invoice-march.txt"]
    left = "invoice-march.txt" not in found
    passed = found == EXPECTED
    score = 100 if passed else 40 * arrived + 20 * (arrived and left)
    return {"passed": passed, "score": score, "feedback": f"files now: {sorted(found)}"}
