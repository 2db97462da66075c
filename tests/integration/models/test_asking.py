"""Asking models through the official SDKs, against a server that speaks their protocols on loopback."""

from __future__ import annotations

import builtins
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, MissingExtra, ModelError, ModelUnavailable, SettingInvalid
from gym_anything.models import anthropic_sdk, calls, openai_sdk
from gym_anything.models.asking import ask
from gym_anything.models.calls import CallLimits
from gym_anything.models.endpoint import NO_KEY, Endpoint, Prices, WireProtocol, key_for
from gym_anything.models.messages import Message, Picture, Sampling
from gym_anything.models.sdk_variables import PROVIDER_URLS, keep_to_ourselves
from gym_anything.models.usage import Usage
from tests.model_server import KEY, ModelServer, chat_body, error, model_server, pictures_in, texts_in

pytestmark = pytest.mark.real

PNG = b"\x89PNG\r\n\x1a\n" + b"rest"
PROTOCOLS: list[WireProtocol] = ["openai", "anthropic"]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_BASE_PAUSE_S", 0.001)
    monkeypatch.setattr(calls, "_LONGEST_PAUSE_S", 0.002)


def endpoint(server: ModelServer, protocol: WireProtocol, **changes: Any) -> Endpoint:
    base = server.url if protocol == "anthropic" else server.base_url
    return Endpoint(**{
        "protocol": protocol, "model": "m-1", "base_url": base, "api_key": KEY, "timeout_s": 20.0, "attempts": 3, **changes
    })  # fmt: skip


def asked(place: Endpoint, *, system: str = "", seconds: float = 30.0, **limits: Any) -> Any:
    messages = [
        Message("user", (Picture(PNG), "what is it?")), Message("assistant", ("a desk",)), Message("user", ("sure?",)),
    ]  # fmt: skip
    sampling = Sampling(max_tokens=55, temperature=0.0)
    return ask(place, messages, system=system, sampling=sampling, limits=CallLimits(Deadline.after(seconds), **limits))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_question_with_a_picture_is_asked_in_the_protocols_own_shape(protocol: WireProtocol) -> None:
    with model_server("yes, a desk") as server:
        reply = asked(endpoint(server, protocol, prices=Prices(10.0, 100.0, 1.0)), system="look well")
        (request,) = server.asked
    assert reply.text == "yes, a desk" and reply.stopped_by in ("stop", "end_turn")
    cost = (60 * 10 + 40 * 1 + 10 * 100) / 1e6
    assert reply.usage.as_dict() | {"seconds": 0} == {
        "calls": 1, "input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 10, "seconds": 0, "cost_usd": cost,
    }  # fmt: skip
    assert pictures_in(request.body) == [PNG]
    assert {"look well", "what is it?", "a desk", "sure?"} <= set(texts_in(request.body).split("\n"))
    assert request.body["model"] == "m-1" and request.body["max_tokens"] == 55 and request.body["temperature"] == 0.0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_may_pass_is_tried_again_and_a_refusal_is_not(protocol: WireProtocol) -> None:
    wire = protocol == "anthropic"
    with model_server(
        error(500, "oops", wire), (*error(429, "slow down", wire), {"retry-after": "0.01"}), "fine"
    ) as server:
        assert asked(endpoint(server, protocol)).text == "fine"
        assert len(server.asked) == 3
    with model_server(error(503, "no", wire)) as server:
        with pytest.raises(ModelUnavailable, match="503"):
            asked(endpoint(server, protocol))
        assert len(server.asked) == 3
    with model_server(error(404, "no such model", wire)) as server:
        with pytest.raises(ModelError, match="check the base URL") as caught:
            asked(endpoint(server, protocol))
        assert len(server.asked) == 1 and not caught.value.retryable and caught.value.detail["status"] == 404


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_refused_key_is_not_in_the_error(protocol: WireProtocol) -> None:
    with model_server("never", key="another") as server, pytest.raises(ModelError) as caught:
        asked(endpoint(server, protocol))
    said = f"{caught.value} {caught.value.detail} {caught.value.__cause__}"
    assert "401" in said and "[secret]" in said and KEY not in said


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_hangs_is_left_at_the_deadline_and_by_abort(protocol: WireProtocol) -> None:
    with model_server("hang") as server:
        with pytest.raises(ModelUnavailable, match=r"did not come within 0\.[0-9] s"):
            asked(endpoint(server, protocol), seconds=0.3)
        cancels: list[Any] = []

        def register(cancel: Any) -> Any:
            cancels.append(cancel)
            threading.Timer(0.1, cancel).start()
            return lambda: cancels.append("forgotten")

        with pytest.raises(Aborted):
            asked(endpoint(server, protocol), on_cancel=register)
        assert cancels[-1] == "forgotten"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_no_answer_of_the_protocol_is_an_error_that_says_so(protocol: WireProtocol) -> None:
    with model_server((200, "<html>log in</html>")) as server, pytest.raises(ModelError, match=r"base URL|JSON|str"):
        asked(endpoint(server, protocol, attempts=1))


def test_nobody_there_is_unavailable() -> None:
    place = Endpoint("openai", "m", "http://127.0.0.1:9/v1", attempts=2)
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:9"):
        asked(place)


def test_a_server_that_counts_nothing_costs_an_unknown_amount() -> None:
    body = chat_body("hm")
    del body["usage"]
    with model_server(body) as server:
        usage = asked(endpoint(server, "openai", prices=Prices(1, 1))).usage
    assert usage.calls == 1 and usage.cost_usd is None and (usage + Usage(cost_usd=1.0)).cost_usd is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_missing_sdk_is_named_with_its_extra(protocol: WireProtocol, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name == protocol:
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"gym-anything\[models\]"):
        asked(Endpoint(protocol, "m", "http://127.0.0.1:9"))


def test_a_providers_key_goes_to_the_provider_alone() -> None:
    environ = {"OPENAI_API_KEY": "sk-of-openai", "ANTHROPIC_API_KEY": "sk-of-anthropic"}
    assert key_for("openai", None, None, environ) == "sk-of-openai"
    assert key_for("anthropic", None, None, environ) == "sk-of-anthropic"
    assert key_for("openai", "http://elsewhere/v1", None, environ) == NO_KEY
    assert key_for("openai", "http://elsewhere/v1", "mine", environ) == "mine"
    assert key_for("openai", None, None, {}) is None
    assert "sk-" not in repr(Endpoint("openai", "m", api_key="sk-secret"))


SDKS = {"openai": openai_sdk, "anthropic": anthropic_sdk}


@pytest.fixture
def ambient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that both SDKs read by themselves."""
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_CUSTOM_HEADERS", "X-Gateway-Key: sk-ambient\nAuthorization: Bearer sk-ambient")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-ambient")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-ambient")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-ambient-admin")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-ambient-token")


@pytest.mark.usefixtures("ambient")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_variables_say_for_the_provider_goes_to_no_other_address(protocol: WireProtocol) -> None:
    with model_server("fine") as server:
        assert asked(endpoint(server, protocol)).text == "fine", "with the key that was given for it"
        (request,) = server.asked
    sent = str(request.headers)
    assert "ambient" not in sent and "x-gateway-key" not in request.headers


@pytest.mark.usefixtures("ambient")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_headers_of_the_variable_go_to_the_provider(protocol: WireProtocol) -> None:
    for base_url in (None, PROVIDER_URLS[protocol] + "/"):
        with SDKS[protocol].make_client(Endpoint(protocol, "m", base_url, KEY)) as client:
            assert client.default_headers["X-Gateway-Key"] == "sk-ambient"


@pytest.mark.usefixtures("ambient")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_sdk_that_cannot_be_kept_from_its_variable_asks_nobody(protocol: WireProtocol) -> None:
    with pytest.raises(ModelError, match="CUSTOM_HEADERS") as caught:
        keep_to_ourselves(SimpleNamespace(), Endpoint(protocol, "m", "http://elsewhere/v1"))
    assert "ambient" not in str(caught.value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_address_is_the_settings_and_never_the_sdks_variable(
    protocol: WireProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"{protocol.upper()}_BASE_URL"
    with model_server("never") as elsewhere, model_server("fine") as server:
        monkeypatch.setenv(variable, elsewhere.base_url)
        assert asked(endpoint(server, protocol)).text == "fine"
        with pytest.raises(SettingInvalid, match=variable):
            asked(Endpoint(protocol, "m", None, KEY, attempts=1))
        assert not elsewhere.asked, "the provider's key would have gone there"
    for said in ("", PROVIDER_URLS[protocol] + "/"):
        monkeypatch.setenv(variable, said)
        with SDKS[protocol].make_client(Endpoint(protocol, "m", None, KEY)) as client:
            assert str(client.base_url).rstrip("/") == PROVIDER_URLS[protocol]
