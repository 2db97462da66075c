"""The wall around a world that may reach some hosts only: rules in its own network, which nothing in it can lift.

Names are looked up once, on this host, when the world starts, and written into its ``/etc/hosts``; it asks no name
server, which would be a way out by itself. Rules are set before anything but the world's init runs.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from gym_anything.errors import SpecInvalid, WorldStartFailed
from gym_anything.specs.env_spec import EnvSpec

_SEARCH = "/usr/sbin:/usr/bin:/sbin:/bin"
_RULES_S = 20.0
_DOCKER_DNS = "127.0.0.11"
"""Docker's own name server inside every world of a named network; it asks the outside."""
LIFTING = ("NET_ADMIN", "NET_RAW")
"""Capabilities with which a world gets around rules of its own network."""


@dataclass(frozen=True)
class Allowed:
    """What may be reached: addresses and networks, and the names that some of them have."""

    networks: tuple[str, ...] = ()
    hosts: tuple[tuple[str, str], ...] = ()


def is_asked(spec: EnvSpec) -> bool:
    """Tell whether the spec allows some hosts and not others."""
    return bool(spec.resources.net and spec.security.network_allowlist)


def hindrance(spec: EnvSpec) -> str:
    """Say why the allow-list of this spec cannot be enforced; empty when it can."""
    added = {name.upper().removeprefix("CAP_") for name in spec.security.cap_add}
    lifting = [name for name in LIFTING if name in added or "ALL" in added]
    if spec.security.privileged or lifting:
        return f"with {'privileged' if spec.security.privileged else lifting[0]} a world can lift every rule"
    if os.geteuid() != 0:
        return "only root of this host may set rules in a world's network"
    missing = [name for name in ("nft", "nsenter") if shutil.which(name, path=_SEARCH) is None]
    return f"not installed: {', '.join(missing)} (apt-get install nftables util-linux)" if missing else ""


def misfits(spec: EnvSpec) -> list[str]:
    """Return what in the allow-list is neither a host name, nor an address, nor a network."""
    wrong = [entry for entry in spec.security.network_allowlist or () if not (_network(entry) or _is_name(entry))]
    return [f"security.network_allowlist: {entry!r} is no host name, address or network" for entry in wrong]


def look_up(entries: Sequence[str]) -> Allowed:
    """Return the networks of these entries, names looked up now. Raises: SpecInvalid for a name nobody knows."""
    networks: list[str] = []
    hosts: list[tuple[str, str]] = []
    for entry in entries:
        network = _network(entry)
        if network:
            networks.append(network)
            continue
        try:
            found = {str(row[4][0]) for row in socket.getaddrinfo(entry, None, type=socket.SOCK_STREAM)}
        except OSError as error:
            raise SpecInvalid(
                f"security.network_allowlist: {entry} cannot be looked up: {error}",
                detail={"key": "security.network_allowlist", "host": entry},
            ) from error
        networks += sorted(found)
        hosts += [(entry, address) for address in sorted(found)]
    return Allowed(tuple(dict.fromkeys(networks)), tuple(hosts))


def rules(allowed: Allowed) -> str:
    """Return the rules as nftables reads them: all that leaves is dropped but what is allowed. Pure."""
    lines = ["table inet gym_anything {", "  chain out {", "    type filter hook output priority 0; policy drop;"]
    lines += [f"    ip daddr {_DOCKER_DNS} drop", '    oifname "lo" accept', "    ct state established,related accept"]
    for network in allowed.networks:
        family = "ip6" if ":" in network else "ip"
        lines.append(f"    {family} daddr {network} accept")
    return "\n".join([*lines, "  }", "}"]) + "\n"


def enclose(guest_socket: str, allowed: Allowed) -> None:
    """Set the rules in the network of whoever listens at the guest's socket. Raises: WorldStartFailed."""
    program = shutil.which("nsenter", path=_SEARCH) or "nsenter"
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(_RULES_S)
        peer.connect(guest_socket)
        # The kernel says who listens, in our own numbers, whatever namespaces the engine lives in.
        pid = struct.unpack("iII", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        done = subprocess.run(
            [program, f"--net=/proc/{pid}/ns/net", "nft", "--file", "-"],
            input=rules(allowed),
            capture_output=True,
            text=True,
            timeout=_RULES_S,
            check=False,
            env={"PATH": _SEARCH},
        )
    if done.returncode != 0:
        raise WorldStartFailed(
            f"the allowed hosts could not be enforced: {done.stderr.strip()[-500:]}", detail={"log_tail": done.stderr}
        )


def _network(entry: str) -> str:
    """Return an address or network in its plain form; empty for anything else."""
    try:
        return str(ipaddress.ip_network(entry, strict=False))
    except ValueError:
        return ""


def _is_name(entry: str) -> bool:
    labels = entry.rstrip(".").split(".")
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
    return all(0 < len(label) < 64 and set(label) <= allowed and label[0] != "-" for label in labels)
