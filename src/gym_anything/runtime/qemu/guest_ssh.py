"""A way into a Linux guest for people and their programs: its own ``sshd``, behind a port of this host's loopback.

Commands and files of ours go another way (``GuestChannel``). The server is started where a spec asks for it, with a
host key that is this machine's alone and nobody let in but the one account; copies of a saved machine get their own.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import GuestCommandFailed, SpecNotFound, UnsupportedFeature
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.qemu.machine import GUEST_ADDRESS
from gym_anything.runtime.qemu.machine_process import MachineProcess
from gym_anything.specs.access import Ssh

SSH_PORT = 22
_FOLDER = "/run/gym-anything-ssh"
_KEYGEN, _SERVER, _CHANGE_PASSWORD = "/usr/bin/ssh-keygen", "/usr/sbin/sshd", "/usr/sbin/chpasswd"
_NETWORK = "net0"
_LISTENING_S = 30.0


@dataclass(frozen=True, slots=True)
class SshAccess:
    """Where and as whom to log in. ``password`` is None where a key is used."""

    port: int
    user: str
    password: str | None = field(repr=False)


def server_settings(user: str, port: int, *, by_key: bool) -> str:
    """Return what ``sshd`` is told. Pure. All of the guest's addresses: no forward reaches its loopback.

    Source: ``sshd_config(5)`` of OpenSSH 9.2.
    """
    root = "no" if user != "root" else "prohibit-password" if by_key else "yes"
    settings = {
        "Port": str(port),
        "HostKey": f"{_FOLDER}/host_key",
        "PidFile": f"{_FOLDER}/pid",
        "AllowUsers": user,
        "PermitRootLogin": root,
        "PubkeyAuthentication": "yes" if by_key else "no",
        "AuthorizedKeysFile": f"{_FOLDER}/authorized_keys",
        "PasswordAuthentication": "no" if by_key else "yes",
        "KbdInteractiveAuthentication": "no",
        "UsePAM": "no",
        "UseDNS": "no",
        "SetEnv": "DISPLAY=:1 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus",
        "Subsystem": "sftp internal-sftp",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def public_key(wish: Ssh) -> bytes | None:
    """Return the public half of the key that a spec names, which lies beside it; None where a password is used.

    Raises: SpecNotFound.
    """
    if wish.key_file is None:
        return None
    path = Path(wish.key_file).expanduser()
    public = path.with_name(f"{path.name}.pub")
    try:
        path.stat()
        return public.read_bytes()
    except OSError as error:
        fix = f"ssh-keygen -t ed25519 -f {path}"
        raise SpecNotFound(
            f"ssh.key_file: {path} and {public.name} beside it are needed: {error}. Fix: {fix}",
            detail={"key": "ssh.key_file", "fix": fix},
        ) from error


def open_ssh(
    channel: GuestChannel, process: MachineProcess, wish: Ssh, default_user: str, deadline: Deadline
) -> SshAccess:
    """Start the guest's ``sshd`` anew and forward a free port of 127.0.0.1 to it.

    The account's password becomes that of the spec, or a random one when it names neither password nor key.

    Raises: UnsupportedFeature (the image has no sshd), SpecNotFound, GuestCommandFailed; WorldLost, DeadlineExceeded.
    """
    key, user, port = public_key(wish), wish.user or default_user, wish.port or SSH_PORT
    password = None if key is not None else wish.password or secrets.token_urlsafe(16)
    has_server = channel.exec(["/usr/bin/test", "-x", _SERVER], deadline=deadline)
    if not has_server.ok:
        fix = "gym-anything image build debian-desktop-vm"
        raise UnsupportedFeature(
            f"ssh: this guest's image has no {_SERVER}. Fix: {fix}, or leave ssh out of the spec",
            detail={"feature": "ssh", "reason": f"no {_SERVER}", "fix": fix},
        )
    _end_server(channel, deadline)
    _do(channel, ["/usr/bin/install", "-d", "-m", "0755", _FOLDER, "/run/sshd"], "a folder for ssh", deadline)
    _do(channel, [_KEYGEN, "-q", "-t", "ed25519", "-N", "", "-f", f"{_FOLDER}/host_key"], "a host key", deadline)
    if key is not None:
        channel.put_file(key, f"{_FOLDER}/authorized_keys", deadline=deadline, mode=0o644)
    else:
        _do(channel, [_CHANGE_PASSWORD], f"the password of {user}", deadline, f"{user}:{password}\n".encode())
    settings = server_settings(user, port, by_key=key is not None)
    channel.put_file(settings.encode(), f"{_FOLDER}/config", deadline=deadline, mode=0o600)
    _do(channel, [_SERVER, "-f", f"{_FOLDER}/config", "-E", f"{_FOLDER}/log"], "sshd", deadline)
    _await_server(channel, deadline)
    return SshAccess(_forwarded(process, port, deadline), user, password)


def _end_server(channel: GuestChannel, deadline: Deadline) -> None:
    """End what a copy has of its source's: the server, its key. Its sessions have lost their other end already."""
    script = (
        f'if [ -s {_FOLDER}/pid ]; then former="$(cat {_FOLDER}/pid)"; kill "$former"; '
        f'tail -s 0.01 --pid="$former" -f /dev/null; fi; rm -rf {_FOLDER}'
    )
    _do(channel, ["/bin/sh", "-c", script], "an end to the former sshd", deadline)


def _await_server(channel: GuestChannel, deadline: Deadline) -> None:
    """Wait for the server's number, which it writes once it listens: its start is reported before."""

    def said() -> str:
        return channel.exec(["/bin/cat", f"{_FOLDER}/log"], deadline=deadline).stdout.decode(errors="replace")[-300:]

    wait_until(
        lambda: channel.exec(["/usr/bin/test", "-s", f"{_FOLDER}/pid"], deadline=deadline).ok,
        deadline=deadline.tightened(_LISTENING_S),
        awaited="the guest's sshd to listen",
        log_tail=said,
    )


def _forwarded(process: MachineProcess, port: int, deadline: Deadline) -> int:
    """Return the port that QEMU forwards, which it chooses itself, so that nobody can be quicker."""
    known = process.host_ports()
    if port not in known:
        said = process.qmp.human(
            f"hostfwd_add {_NETWORK} tcp:127.0.0.1:0-{GUEST_ADDRESS}:{port}", deadline=deadline
        ).strip()
        known = process.host_ports()
        if port not in known:
            raise GuestCommandFailed(f"QEMU does not forward port {port} of its guest: {said}")
    return known[port]


def _do(channel: GuestChannel, argv: Sequence[str], what: str, deadline: Deadline, stdin: bytes = b"") -> None:
    done = channel.exec(argv, deadline=deadline, stdin=stdin)
    if not done.ok:
        tail = (done.stderr or done.stdout).decode(errors="replace")[-300:]
        raise GuestCommandFailed(f"ssh: the guest could not make {what}: {tail}")
