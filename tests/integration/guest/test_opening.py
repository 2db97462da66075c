from __future__ import annotations

import socket
import struct
import subprocess
from pathlib import Path

import pytest

from gym_anything._util import proc
from gym_anything.errors import Unauthorized, Unreachable, VersionSkew
from gym_anything.runtime.guest import handshake, wire
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.native import programs
from tests.integration.guest.conftest import StartWorld
from tests.integration.guest.world import World, soon

pytestmark = pytest.mark.real


def _raw(world: World) -> socket.socket:
    world.connect().close()
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(20)
    sock.connect(str(world.socket))
    return sock


def _rest(sock: socket.socket) -> bytes:
    """Read until the guest hangs up."""
    data = b""
    while part := sock.recv(4096):
        data += part
    return data


def _hello(**changes: object) -> bytes:
    fields = {"magic": wire.CONSTANTS["MAGIC"], "version": 1, "nonce": b"n" * 32, **changes}
    return wire.encode_frame("HELLO", 0, **fields)


def test_a_wrong_token_is_refused_on_both_sides(world: World) -> None:
    with pytest.raises(Unauthorized):
        world.connect(token=b"w" * 32)
    with _raw(world) as sock:
        sock.sendall(_hello() + wire.encode_frame("PROOF", 0, proof=b"p" * 32))
        assert b"the token is wrong" in _rest(sock)


def test_nothing_is_done_before_the_proof(world: World) -> None:
    marker = world.folder / "made"
    exec_frame = wire.encode_frame(
        "EXEC", 1, flags=0, deadline_ms=0, max_output=0, rows=0, columns=0, user=b"root", cwd=b"",
        argv=[b"touch", str(marker).encode()], env=[],
    )  # fmt: skip
    for start in (b"", _hello()):
        with _raw(world) as sock:
            sock.sendall(start + exec_frame)
            _rest(sock)
    with world.connect() as channel:
        channel.ping(deadline=soon())
    assert not marker.exists()


def test_another_version_is_told_apart(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake.wire, "CONSTANTS", {**wire.CONSTANTS, "VERSION": 99})
    with pytest.raises(VersionSkew, match="it speaks 1, we speak 99"):
        world.connect()


@pytest.mark.parametrize(
    "opening",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\0" * 64,
        _hello(magic=1),
        _hello(nonce=b"short"),
        struct.pack("<IIHH", 257, 0, 1, 0) + b"x" * 257,
        struct.pack("<IIHH", 0xFFFFFFFF, 0, 1, 0),
        _hello() + _hello(),
        wire.encode_frame("PROOF", 0, proof=b"p" * 32),
    ],
)
def test_what_is_no_opening_is_hung_up_on(world: World, opening: bytes) -> None:
    with _raw(world) as sock:
        sock.sendall(opening)
        _rest(sock)
    with world.connect() as channel:
        assert channel.exec(["true"], deadline=soon()).ok


def test_a_recorded_opening_cannot_be_replayed(world: World) -> None:
    token = world.token
    with _raw(world) as sock:
        sock.sendall(_hello())
        size, _, _ = wire.decode_header(sock.recv(12, socket.MSG_WAITALL))
        challenge = wire.decode_payload("CHALLENGE", sock.recv(size, socket.MSG_WAITALL))
        recorded = wire.encode_frame("PROOF", 0, proof=wire.proof(token, "host", b"n" * 32, challenge["nonce"]))
        sock.sendall(recorded)
        assert wire.decode_header(sock.recv(12, socket.MSG_WAITALL))[2] == "WELCOME"
    with _raw(world) as sock:
        sock.sendall(_hello() + recorded)
        assert b"the token is wrong" in _rest(sock)
    with _raw(world) as sock:  # nor can the guest's own proof be sent back to it
        sock.sendall(_hello())
        size, _, _ = wire.decode_header(sock.recv(12, socket.MSG_WAITALL))
        challenge = wire.decode_payload("CHALLENGE", sock.recv(size, socket.MSG_WAITALL))
        sock.sendall(wire.encode_frame("PROOF", 0, proof=challenge["proof"]))
        assert b"the token is wrong" in _rest(sock)


def test_the_token_is_in_no_process_list(world: World) -> None:
    """N1: no secret in process lists."""
    with world.connect() as channel:
        for pid in world.pids():
            assert world.token.hex() not in proc.command_line(pid)
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            assert world.token not in environment and world.token.hex().encode() not in environment
        open_files = channel.exec(["ls", "-l", "/proc/1/fd"], deadline=soon()).stdout.decode()
        assert "pipe:" in open_files and world.token_pipe not in open_files  # what it came through is closed


def test_many_silent_connections_do_not_lock_the_owner_out_for_long(world: World) -> None:
    world.connect().close()
    silent = []
    for _ in range(wire.CONSTANTS["MAX_CONNECTIONS"]):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(world.socket))
        silent.append(sock)
    try:
        with GuestChannel.connect(world.socket, token=world.token, deadline=soon(30)) as channel:
            assert channel.ping(deadline=soon()) < 5
    finally:
        for sock in silent:
            sock.close()


def test_a_guest_that_is_full_says_so_and_serves_again_later(world: World) -> None:
    channels = [world.connect() for _ in range(wire.CONSTANTS["MAX_CONNECTIONS"])]
    try:
        with pytest.raises(Unreachable, match="too many connections"):
            GuestChannel.connect(world.socket, token=world.token, deadline=soon())
        channels.pop().close()
        with world.connect() as channel:
            assert channel.exec(["true"], deadline=soon()).ok
    finally:
        for channel in channels:
            channel.close()


def test_process_lists_in_the_world_show_no_options_of_ours(world: World) -> None:
    with world.connect() as channel:
        job = channel.start(["sleep", "60"], deadline=soon())
        result = channel.exec(["ps", "-eo", "args"], deadline=soon())
        job.cancel()
        assert b"ga-guest init" in result.stdout and b"ga-keeper" in result.stdout
        assert b"--" not in result.stdout and str(world.socket).encode() not in result.stdout


def test_the_guest_names_its_sources(world: World) -> None:
    with world.connect() as channel:
        assert channel.guest.role == "init" and channel.guest.pid == 1
        if channel.guest.build == "sanitize":
            pytest.skip("the sanitizer build has no digest")
        assert programs.source_digest(programs.source_root(), "ga-guest").startswith(channel.guest.build)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "usage"),
        (["init"], "exactly one of"),
        (["init", "--socket", "a", "--tcp", "b", "--token-fd", "0"], "exactly one of"),
        (["init", "--socket", "a"], "one of --token-fd and --token-file"),
        (["init", "--socket"], "needs a value"),
        (["init", "--what", "1"], "unknown option"),
        (["init", "--socket", "a", "--token-fd", "x"], "needs a number"),
        (["init", "--socket", "a", "--token-file", "/no/such"], "cannot open the token file"),
        (["init", "--socket", "/tmp/x", "--token-fd", "0"], "the token must have 16 to 256 bytes"),
        (["init", "--socket", "/tmp/x", "--token-fd", "0", "--end-with-child"], "needs a command"),
        (["serve", "--tcp", "localhost:1", "--token-file", "TOKEN"], "cannot listen"),
        (["serve", "--tcp", "127.0.0.1:99999", "--token-file", "TOKEN"], "cannot listen"),
        (["serve", "--socket", "/" + "x" * 200, "--token-file", "TOKEN"], "name too long"),
        (["serve", "--device", "/no/such", "--token-file", "TOKEN"], "cannot open the device"),
        (["nonsense"], "usage"),
    ],
)
def test_a_bad_command_line_says_what_is_wrong(program: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    token = tmp_path / "token"
    token.write_text("t" * 32 + "\n")
    argv = [str(program), *(str(token) if word == "TOKEN" else word for word in arguments)]
    run = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=10)
    assert run.returncode in (1, 2) and words in run.stderr


def test_a_socket_left_by_a_dead_world_is_replaced(start_world: StartWorld, program: Path) -> None:
    world = start_world()
    world.connect().close()
    world.stop()
    assert world.socket.exists()
    token_file = world.folder / "token"
    token_file.write_bytes(b"t" * 32 + b"\n")
    argv = [str(program), "serve", "--socket", str(world.socket), "--token-file", str(token_file)]
    process = subprocess.Popen(argv)
    try:
        from gym_anything.runtime.guest.readiness import await_guest

        with await_guest(world.socket, token=b"t" * 32, deadline=soon()) as channel:
            assert channel.guest.role == "serve"
            assert world.socket.stat().st_mode & 0o777 == 0o600
            channel.shutdown(deadline=soon())
        assert process.wait(10) == 0 and not world.socket.exists()
    finally:
        process.kill()
        process.wait()
