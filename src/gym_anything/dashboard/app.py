"""What the viewer answers: its page, the list of runs, one run, files of runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.background import BackgroundTask

from gym_anything.benchmark.plain_json import plain_json
from gym_anything.dashboard.confined import NotInside, open_file
from gym_anything.dashboard.file_answer import file_answer
from gym_anything.dashboard.run_list import RunList
from gym_anything.dashboard.run_story import run_story

PAGE = "index.html"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_RUN_PARTS = 5
"""Experiment, model, environment, task, run."""
_KEEP = "private, max-age=86400, immutable"
"""For addresses that hold the file's time."""
_AGE_S = 1.0
"""How old the list may be: it is made once for a page that opens."""


def make_app(experiments: Mapping[str, Path]) -> FastAPI:
    """Return the application; whoever serves it puts a ``Door`` before it.

    Args: experiments: name to folder. Nothing outside of these folders is ever read.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    runs, page = RunList(experiments), _page_files()

    @app.get("/")
    def index() -> Response:
        ahead = BackgroundTask(runs.listing, max_age_s=_AGE_S)  # the page asks for it as soon as its scripts are there
        return Response(page[PAGE], media_type="text/html", background=ahead)

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        content = page.get(name)
        if content is None:
            return _not_here(f"there is no {name!r}")
        return Response(content, media_type=_TYPES[Path(name).suffix])

    @app.get("/api/runs")
    def listing(request: Request) -> Response:
        found = runs.listing(max_age_s=_AGE_S)
        headers = {"ETag": f'"{found.tag}"', "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(found.content, headers=headers, media_type="application/json")

    @app.get("/api/run/{path:path}")
    def run(path: str) -> Response:
        exp, *place = path.split("/")
        if exp not in experiments or len(place) != _RUN_PARTS - 1:
            return _not_here(f"there is no run {path!r}")
        try:
            story = run_story(experiments[exp], place)
        except NotInside as error:
            return _not_here(f"there is no run {path!r}: {error}")
        return Response(json.dumps(plain_json({"id": path, **story}), allow_nan=False), media_type="application/json")

    @app.get("/files/{path:path}")
    def file(path: str, request: Request) -> Response:
        exp, *place = path.split("/")
        if exp not in experiments or len(place) < _RUN_PARTS:
            return _not_here(f"there is no file {path!r}")
        try:
            stream = open_file(experiments[exp], place)
        except NotInside as error:
            return _not_here(str(error))
        answer = file_answer(stream, place[-1], request.headers.get("range"))
        if "v" in request.query_params:
            answer.headers["Cache-Control"] = _KEEP
        return answer

    return app


def _not_here(reason: str) -> Response:
    return PlainTextResponse(reason + "\n", 404)


def _page_files() -> dict[str, bytes]:
    """Read the page's own files, by name."""
    folder = files("gym_anything.dashboard") / "static"
    return {file.name: file.read_bytes() for file in folder.iterdir() if Path(file.name).suffix in _TYPES}
