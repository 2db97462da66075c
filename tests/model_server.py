"""A stand-in for providers of models: speaks chat completions, responses and messages on loopback, as it is told.

It answers with what the test has written, in the shapes that the real endpoints use, refuses requests that the real ones
would refuse, and keeps what it was asked.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789abcdef-do-not-write"


@dataclass
class Asked:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class ModelServer:
    """Answers in turn; the last answer is repeated.

    Answers are texts (wrapped in the shape of the path that was asked), whole bodies, or ``(status, body, headers)``.
    ``hang`` as an answer says nothing until the server is closed.
    """

    answers: list[Any]
    key: str | None = KEY
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    closing: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, asked: Asked) -> Any:
        with self._lock:
            self.asked.append(asked)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    @property
    def base_url(self) -> str:
        """For clients of OpenAI's protocol; Anthropic's take ``url``."""
        return f"{self.url}/v1"


def chat_body(
    text: str | None, *, model: str = "m", given: int = 100, made: int = 10, why: str = "stop"
) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": why, "logprobs": None}],
        "usage": {
            "prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made,
            "prompt_tokens_details": {"cached_tokens": 40},
        },
    }  # fmt: skip


def message_body(content: str | list[dict[str, Any]], *, why: str = "end_turn") -> dict[str, Any]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": blocks, "stop_reason": why,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 60, "output_tokens": 10, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 0,
        },
    }  # fmt: skip


def response_body(output: list[dict[str, Any]] | str, *, id: str = "resp_1") -> dict[str, Any]:
    if isinstance(output, str):
        text = {"type": "output_text", "text": output, "annotations": []}
        output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}]
    return {
        "id": id, "object": "response", "created_at": 1700000000, "status": "completed", "model": "m", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "output": output, "parallel_tool_calls": True,
        "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0, "truncation": "auto",
        "usage": {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
            "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 110,
        },
    }  # fmt: skip


_WRAP = {"/v1/chat/completions": chat_body, "/v1/messages": message_body, "/v1/responses": response_body}


@contextmanager
def model_server(*answers: Any, key: str | None = KEY) -> Iterator[ModelServer]:
    """Serve on a free port of loopback until the block ends."""
    server = ModelServer(list(answers), key)

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            path = self.path.split("?")[0]
            asked = Asked(path, {k.lower(): v for k, v in self.headers.items()}, body)
            answer = server.take(asked)
            problem = refused(asked, server.key)
            if answer == "hang":
                server.closing.wait(30)
                self.close_connection = True
                return
            if problem is not None:
                self.answer(*problem)
            elif isinstance(answer, tuple):
                self.answer(*answer)
            elif isinstance(answer, str):
                self.answer(200, _WRAP[path](answer))
            else:
                self.answer(200, answer)

        def answer(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
            raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "text/html" if isinstance(body, str) else "application/json")
            self.send_header("content-length", str(len(raw)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    httpd.daemon_threads = True
    server.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def refused(asked: Asked, key: str | None) -> tuple[int, Any] | None:
    """Return the refusal that the real endpoint would give, or None."""
    anthropic = asked.path == "/v1/messages"
    bearer = asked.headers.get("authorization", "").removeprefix("Bearer ")
    sent = asked.headers.get("x-api-key", bearer) if anthropic else bearer
    if key is not None and sent != key:
        return error(401, f"invalid key {sent}", anthropic)
    wrong = _wrong_shape(asked)
    return error(400, wrong, anthropic) if wrong else None


def error(status: int, message: str, anthropic: bool = False) -> tuple[int, Any]:
    if anthropic:
        return status, {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


def pictures_in(value: Any) -> list[bytes]:
    """Return every picture of a request in order, decoded; raises ValueError for one that is none."""
    found: list[bytes] = []
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key in ("url", "image_url") and isinstance(part, str) and part.startswith("data:"):
                found.append(base64.b64decode(part.split(",", 1)[1], validate=True))
            elif key == "source" and isinstance(part, Mapping) and part.get("type") == "base64":
                found.append(base64.b64decode(part["data"], validate=True))
            else:
                found += pictures_in(part)
    elif isinstance(value, list):
        for part in value:
            found += pictures_in(part)
    return found


def texts_in(value: Any) -> str:
    """Return all text of a request, joined."""
    if isinstance(value, Mapping):
        return "\n".join(texts_in(v) for k, v in value.items() if k not in ("data", "url", "image_url"))
    if isinstance(value, list):
        return "\n".join(texts_in(v) for v in value)
    return value if isinstance(value, str) else ""


def _wrong_shape(asked: Asked) -> str | None:
    body = asked.body
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model is required"
    try:
        for picture in pictures_in(body):
            if picture[:8] != b"\x89PNG\r\n\x1a\n":
                return "an image is no PNG"
    except (binascii.Error, ValueError) as bad:
        return f"an image is no base64: {bad}"
    match asked.path:
        case "/v1/chat/completions":
            return _wrong_chat(body)
        case "/v1/messages":
            return _wrong_messages(body)
        case "/v1/responses":
            return None if body.get("input") else "input is required"
    return f"no such path {asked.path}"


def _wrong_chat(body: Mapping[str, Any]) -> str | None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages are required"
    roles = [m.get("role") for m in messages]
    if any(r not in ("system", "user", "assistant") for r in roles):
        return f"roles {roles}"
    return None


def _wrong_messages(body: Mapping[str, Any]) -> str | None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or "max_tokens" not in body:
        return "messages and max_tokens are required"
    roles = [m.get("role") for m in messages]
    if roles[0] != "user" or any(a == b for a, b in itertools.pairwise(roles)):
        return f"roles must alternate and start with user: {roles}"
    for before, after in itertools.pairwise(messages):
        used = {b["id"] for b in before["content"] if isinstance(b, dict) and b.get("type") == "tool_use"}
        results = {b["tool_use_id"] for b in after["content"] if isinstance(b, dict) and b.get("type") == "tool_result"}
        if used != results:
            return f"tool_use ids {sorted(used)} without tool_result blocks immediately after: {sorted(results)}"
    return None
