"""What the viewer's server lets through, over real connections."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gym_anything.dashboard.server import ViewServer
from gym_anything.errors import HostError, SettingInvalid
from tests.viewed_runs import pilot

pytestmark = pytest.mark.real
RUN = "pilot/m-1/editor/write/run_001"
Served = tuple[ViewServer, Path]


def ask(
    server: ViewServer, path: str, *, token: bool = True, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        given = {"Cookie": f"ga_view_{server.port}={server.url.partition('token=')[2]}"} if token else {}
        connection.request(method, path, headers={**given, **headers})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    "path", ["/", "/static/app.js", "/api/runs", f"/api/run/{RUN}", f"/files/{RUN}/info.json", "/x"]
)
def test_nothing_is_shown_without_the_token(served: Served, path: str) -> None:
    server, _ = served
    for headers in ({}, {"Cookie": f"ga_view_{server.port}=wrong"}, {"Cookie": "\x01;;=,"}):
        status, _, body = ask(server, path, token=False, **headers)
        assert (status, b"address is not complete" in body) == (403, True)


def test_the_address_lets_in_and_leaves_a_cookie_that_no_other_site_can_use(served: Served) -> None:
    server, _ = served
    status, headers, body = ask(server, "/" + server.url.rpartition("/")[2], token=False)
    assert status == 200 and b"/static/app.js" in body
    assert re.fullmatch(rf"ga_view_{server.port}=\S+; Path=/; HttpOnly; SameSite=Strict", headers["set-cookie"])


def test_a_foreign_name_for_this_machine_is_refused(served: Served) -> None:
    server, _ = served
    assert ask(server, "/api/runs", Host=f"evil.example:{server.port}")[0] == 403
    assert ask(server, "/api/runs", Host="localhost:9999")[0] == 200, "through a tunnel the port is another"


def test_nothing_can_be_changed(served: Served) -> None:
    server, _ = served
    assert [ask(server, "/api/runs", method=method)[0] for method in ("POST", "PUT", "DELETE")] == [405] * 3


def test_every_answer_forbids_foreign_scripts(served: Served) -> None:
    server, _ = served
    for path in ("/", "/static/app.js", "/api/runs", f"/files/{RUN}/info.json", "/none"):
        headers = ask(server, path)[1]
        rules = headers["content-security-policy"]
        assert "default-src 'none'" in rules and "unsafe-eval" not in rules
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert "script-src 'self'" in ask(server, "/")[1]["content-security-policy"]
    assert "sandbox" in ask(server, f"/files/{RUN}/info.json")[1]["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/files/pilot/../secret.txt",
        "/files/pilot/%2e%2e/secret.txt",
        f"/files/{RUN}/../../../../../secret.txt",
        f"/files/{RUN}/..%2f..%2f..%2f..%2f..%2fsecret.txt",
        f"/files/{RUN}/link.txt",
        f"/files/{RUN}/",
        f"/files/{RUN}",
        "/files/other/a/b/c/d/e",
        "/files//etc/passwd",
        f"/files/{RUN}/%00",
        f"/files/{RUN}/%ff",
        "/api/run/pilot/..",
        "/api/run/pilot/../../../..",
        "/static/../app.py",
        "/static/..%2fapp.py",
    ],
)
def test_nothing_outside_is_ever_served(served: Served, path: str) -> None:
    server, exp = served
    link = exp.joinpath(*RUN.split("/")[1:], "link.txt")
    if not link.is_symlink():
        link.symlink_to(exp.parent / "secret.txt")
    status, _, body = ask(server, path)
    assert status == 404 and b"not yours" not in body


def test_a_page_among_the_files_is_shown_as_text(served: Served) -> None:
    server, exp = served
    exp.joinpath(*RUN.split("/")[1:], "evil.html").write_text("<script>1</script>")
    status, headers, body = ask(server, f"/files/{RUN}/evil.html")
    assert (status, headers["content-type"], body) == (200, "text/plain; charset=utf-8", b"<script>1</script>")


@pytest.mark.parametrize(
    ("asked", "status", "body", "told"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=5-99", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=4-2", 416, b"", "bytes */10"),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_a_video_can_be_asked_for_in_parts(
    served: Served, asked: str, status: int, body: bytes, told: str | None
) -> None:
    server, exp = served
    exp.joinpath(*RUN.split("/")[1:], "some.mp4").write_bytes(b"0123456789")
    got, headers, content = ask(server, f"/files/{RUN}/some.mp4", Range=asked)
    assert (got, content, headers["content-range"]) == (status, body, told)


def test_a_long_file_comes_whole(served: Served) -> None:
    server, exp = served
    content = os.urandom(9 << 20)
    exp.joinpath(*RUN.split("/")[1:], "long.bin").write_bytes(content)
    status, headers, body = ask(server, f"/files/{RUN}/long.bin")
    assert (status, headers["content-length"], body == content) == (200, str(len(content)), True)


def test_the_list_is_sent_once(served: Served) -> None:
    server, _ = served
    status, headers, body = ask(server, "/api/runs")
    assert status == 200 and json.loads(body)["count"] == 6
    assert ask(server, "/api/runs", **{"If-None-Match": headers["etag"]})[::2] == (304, b"")


def test_a_port_that_is_taken_and_a_token_that_can_be_guessed_are_refused(served: Served) -> None:
    server, exp = served
    with pytest.raises(HostError, match="cannot be had"):
        ViewServer({"pilot": exp}, port=server.port)
    for token in ("short", "has spaces in it, and more"):
        with pytest.raises(SettingInvalid, match="token"):
            ViewServer({"pilot": exp}, token=token)


def test_the_command_serves_until_ctrl_c(tmp_path: Path) -> None:
    pilot(tmp_path / "all_runs")
    command = [sys.executable, "-m", "gym_anything.cli.main", "view"]
    with subprocess.Popen([*command, "pilot", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        while not said.endswith("}\n") or said.count("{") != said.count("}"):
            said += process.stdout.readline()
        told = json.loads(said)
        connection = http.client.HTTPConnection("127.0.0.1", told["port"], timeout=20)
        connection.request("GET", "/" + told["url"].rpartition("/")[2])
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGINT)  # with a connection still open
        assert process.wait(20) == 0
        connection.close()
    result = subprocess.run([*command, "pliot"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode != 0 and "no experiment 'pliot'" in result.stderr and "pilot" in result.stderr
