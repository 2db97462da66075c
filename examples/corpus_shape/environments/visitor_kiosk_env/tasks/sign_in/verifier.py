"""Verifier for sign_in: exactly one visitor is in the book, and it is the right one."""

import json
import os
import tempfile


def verify_sign_in(traj, env_info, task_info):
    handle, path = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    try:
        env_info["copy_from_env"]("/tmp/sign_in_result.json", path)
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError) as error:
        return {"passed": False, "score": 0, "feedback": f"no result: {error}"}
    finally:
        os.unlink(path)
    passed = result["visitors"] == [task_info["metadata"]["expected"]] and result["opened_by"] == 1000
    return {"passed": passed, "score": 100 if passed else 0, "feedback": f"day {result['day']}: {result['visitors']}"}
