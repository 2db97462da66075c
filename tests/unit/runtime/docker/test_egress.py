"""The rules around a world that may reach some hosts only."""

from __future__ import annotations

import pytest

from gym_anything.runtime.runners.docker.egress import Allowed, look_up, misfits, rules
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit


def spec_of(entry: str) -> EnvSpec:
    return EnvSpec.from_dict(
        {"id": "e@1", "base": "debian-desktop", "security": {"network_allowlist": [entry]}, "resources": {"net": True}}
    )


def test_everything_is_dropped_but_loopback_answers_and_what_is_allowed() -> None:
    assert rules(Allowed(("192.0.2.0/24", "2001:db8::1/128"))) == (
        "table inet gym_anything {\n"
        "  chain out {\n"
        "    type filter hook output priority 0; policy drop;\n"
        "    ip daddr 127.0.0.11 drop\n"
        '    oifname "lo" accept\n'
        "    ct state established,related accept\n"
        "    ip daddr 192.0.2.0/24 accept\n"
        "    ip6 daddr 2001:db8::1/128 accept\n"
        "  }\n"
        "}\n"
    )


def test_addresses_and_networks_need_no_look_up() -> None:
    assert look_up(["192.0.2.7", "192.0.2.0/24", "2001:db8::/32", "192.0.2.7"]) == Allowed(
        ("192.0.2.7/32", "192.0.2.0/24", "2001:db8::/32")
    )


@pytest.mark.parametrize(
    "entry", ["example.org", "xn--bcher-kva.example", "192.0.2.1", "10.0.0.0/8", "::1", "localhost"]
)
def test_names_addresses_and_networks_are_fine(entry: str) -> None:
    assert misfits(spec_of(entry)) == []


@pytest.mark.parametrize("entry", ["http://example.org", "example.org:80", "*.example.org", "a b", "x; drop", "-a.org"])
def test_anything_else_is_refused_when_the_spec_is_loaded(entry: str) -> None:
    assert misfits(spec_of(entry)) == [f"security.network_allowlist: {entry!r} is no host name, address or network"]
