"""What a page of web_page.py has told its server."""

import json

from judging import read_text


def events(env_info):
    """Return the events in order; each is what the page sent, and ``at``, the server's seconds."""
    text = read_text(env_info, "/home/ga/web/events.jsonl") or ""
    return [json.loads(line) for line in text.splitlines()]
