"""Who is let in, and what every answer carries: a token, a local host name, and rules against foreign scripts."""

from __future__ import annotations

import hmac
from collections.abc import MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOCAL_NAMES = {"127.0.0.1", "localhost", "[::1]"}
_PAGE_RULES = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_FILE_RULES = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""For files of runs opened by themselves: nothing in them runs. The style is what browsers show a picture with."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Door:
    """Lets a request through that knows the token and asks this machine by a local name."""

    def __init__(self, app: ASGIApp, token: str, cookie: str) -> None:
        """Args: token: of 16 characters or more. cookie: the cookie's name; cookies do not tell ports apart."""
        self._app = app
        self._token = token
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let it be answered."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        by_address = self._is_token(parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(message, scope["path"], by_address)
            await send(message)

        refusal = self._refusal(scope, headers, by_address)
        answer = self._app if refusal is None else PlainTextResponse(refusal[1] + "\n", refusal[0])
        await answer(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope, headers: Headers, by_address: bool) -> tuple[int, str] | None:
        name = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
        if name not in _LOCAL_NAMES:  # a foreign page whose name was pointed at this machine
            return 403, "this page is served to 127.0.0.1 and localhost only"
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "there is nothing to change here"
        if not (by_address or self._is_token(self._cookie_of(headers))):
            return 403, "the address is not complete: open the one that `gym-anything view` printed, with its token"
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._token.encode())

    def _cookie_of(self, headers: Headers) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return found.value if found is not None else ""

    def _add_headers(self, message: MutableMapping[str, Any], path: str, by_address: bool) -> None:
        headers = MutableHeaders(scope=message)
        headers.update(_HEADERS)
        headers["Content-Security-Policy"] = _FILE_RULES if path.startswith("/files/") else _PAGE_RULES
        headers.setdefault("Cache-Control", "no-store")
        if by_address:
            headers.append("Set-Cookie", f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict")
