"""Verifier for finish_letter: the closing line is there, the rest is as it was, and the office's seal is right."""

import hashlib
import hmac
import json
import os
import tempfile
from pathlib import Path

from letter_words import BEGINNING  # from the environment's utils folder


def check_letter(traj, env_info, task_info):
    result = {}
    temp = tempfile.NamedTemporaryFile(delete=False, suffix=".json")
    try:
        env_info["copy_from_env"]("/tmp/finish_letter_result.json", temp.name)
        with open(temp.name, "r") as f:
            result = json.load(f)
    except Exception as e:
        return {"passed": False, "score": 0, "feedback": f"cannot read the result: {e}"}
    finally:
        temp.close()
        os.unlink(temp.name)

    text = result.get("text") or ""
    keys = json.loads((Path(__file__).parents[2] / "office_keys.json").read_text())
    seal = hmac.new(keys["OFFICE_KEY"].encode(), text.encode(), hashlib.sha256).hexdigest()
    if seal != result.get("seal"):
        return {"passed": False, "score": 0, "feedback": "the seal is not the office's"}
    lines = text.rstrip("\n").split("\n")
    kept = lines[: len(BEGINNING)] == BEGINNING
    closed = [line for line in lines[len(BEGINNING) :] if line] == [task_info["metadata"]["closing"]]
    score = 40 * kept + 60 * closed if result.get("changed") else 0
    return {
        "passed": score == 100,
        "score": score,
        "feedback": f"beginning {'kept' if kept else 'changed'}, closing {'right' if closed else lines[-1:]}",
    }
