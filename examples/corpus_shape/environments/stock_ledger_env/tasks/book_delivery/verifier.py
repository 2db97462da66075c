#!/usr/bin/env python3
"""Verifier for book_delivery: 40 screws came in, 15 nails went out, and nothing else was booked."""

import json
import logging
import os
import tempfile

logger = logging.getLogger(__name__)


def verify_book_delivery(traj, env_info, task_info):
    """45 points for each right booking, 10 for a ledger that was quit; a wrong booking costs everything."""
    copy_from_env = env_info.get("copy_from_env")
    if not copy_from_env:
        return {"passed": False, "score": 0, "feedback": "copy_from_env is not available"}
    expected = [list(booking) for booking in task_info.get("metadata", {}).get("expected_bookings", [])]

    temp_file = tempfile.NamedTemporaryFile(delete=False, suffix=".json")
    temp_file.close()
    try:
        copy_from_env("/tmp/book_delivery_result.json", temp_file.name)
        with open(temp_file.name, encoding="utf-8") as f:
            result = json.load(f)
    except FileNotFoundError:
        return {"passed": False, "score": 0, "feedback": "nothing was exported"}
    except json.JSONDecodeError as e:
        return {"passed": False, "score": 0, "feedback": f"the export is not JSON: {e}"}
    finally:
        if os.path.exists(temp_file.name):
            os.unlink(temp_file.name)

    booked = [booking for booking in result["ledger"]["bookings"] if booking[2] != "opening"]
    logger.info("booked: %s", booked)
    right = [booking for booking in expected if booking in booked]
    wrong = [booking for booking in booked if booking not in expected]
    score = 45 * len(right) + (10 if right and not result["ledger_open"] else 0)
    if wrong or len(booked) > len(expected):
        score = 0
    feedback = [f"right: {right}", f"wrong: {wrong}", f"ledger {'still open' if result['ledger_open'] else 'closed'}"]
    return {
        "passed": score == 100,
        "score": score,
        "feedback": " | ".join(feedback),
        "subscores": {"screws": expected[0] in booked, "nails": expected[1] in booked},
    }
