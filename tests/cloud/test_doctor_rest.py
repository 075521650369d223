"""Bad days of Google's REST services: what is not answered is unknown, and why is said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials

from tests.support.fake_google import HANG, PROJECT, FakeGoogle, disabled, refusal, rule, serving
from tpustarter.cloud.api import rest_client
from tpustarter.cloud.api.rest_client import RestClient, UnansweredError
from tpustarter.core.problem import Problem

PATH = f"v1/projects/{PROJECT}/billingInfo"
WEB_PAGE = b"<!DOCTYPE html><title>Sign in</title>"


@pytest.fixture
def google() -> Iterator[tuple[FakeGoogle, RestClient]]:
    """Return a fake Google, and what asks it."""
    fake = FakeGoogle()
    with serving(fake) as address:
        yield fake, RestClient(AnonymousCredentials(), address=address, call_s=2, total_s=5)


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        (refusal(400, "Permission x is not valid."), "invalid", "did not take the question (400)"),
        (refusal(401, "Request is missing credentials"), "credentials", "did not accept"),
        (refusal(403, "No permission."), "denied", "refuses to tell (403): No permission"),
        (refusal(403, "x", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"), "credentials", "did not accept"),
        (disabled(rest_client.BILLING), "off", "the Cloud Billing API is not enabled"),
        (
            (403, {"error": {"message": "x", "errors": [{"reason": "accessNotConfigured"}]}}),
            "off",
            "is not enabled",
        ),
        (refusal(404, "Not found."), "missing", "knows no such thing"),
        (refusal(429, "Quota exceeded for 'Read requests per minute'"), "rate", "in one minute"),
        (refusal(500, "Internal error."), "server", "service failed (500): Internal error"),
        ((503, WEB_PAGE), "server", "(503): no reason given"),
        ((302, b""), "garbled", "sign-in page"),
        ((200, WEB_PAGE), "garbled", "a web page, as a proxy"),
        ((200, b'{"name": "x", "billingEn'), "garbled", "no complete JSON"),
        ((200, b""), "garbled", "no complete JSON"),
        ((200, b"[]"), "garbled", "no complete JSON"),
        ((200, b"[" * 100_000), "garbled", "no complete JSON"),
        ((403, b'{"error": "a text"}'), "denied", "no reason given"),
        ((403, b'{"error": {"details": [1, null], "errors": "x"}}'), "denied", "no reason"),
    ],
)
def test_unusable_answer_has_its_reason(
    google: tuple[FakeGoogle, RestClient], answer: Any, reason: str, words: str
) -> None:
    """Each has its reason, its words, and no traceback."""
    google[0].breaks("billing", answer)

    with pytest.raises(UnansweredError) as caught:
        google[1].get(rest_client.BILLING, PATH, dict)

    assert reason == caught.value.reason
    assert words in str(caught.value)


def test_failing_service_is_retried_and_refusal_is_not(
    google: tuple[FakeGoogle, RestClient],
) -> None:
    """A failing service is retried, and a refusal isn't."""
    fake, client = google
    answers = [refusal(500, "oops"), {"name": "x"}, refusal(403, "no"), {"name": "y"}]
    fake.breaks("billing", lambda _: answers.pop(0))

    assert {"name": "x"} == client.get(rest_client.BILLING, PATH, dict)
    with pytest.raises(UnansweredError):
        client.get(rest_client.BILLING, PATH, dict)
    assert 3 == len(fake.asked)


def test_a_server_that_never_answers_is_given_up() -> None:
    """After its own time, and at once where the time for all is over."""
    with serving(FakeGoogle().breaks("billing", HANG)) as address:
        for total_s in (5.0, 0.0):
            client = RestClient(
                AnonymousCredentials(), address=address, call_s=0.1, total_s=total_s
            )
            with pytest.raises(UnansweredError, match="no answer in time") as caught:
                client.get(rest_client.BILLING, PATH, dict)

            assert "silent" == caught.value.reason


def test_lost_server_is_network_failure() -> None:
    """A lost server is a network failure."""
    with serving(FakeGoogle()) as address:
        pass
    with pytest.raises(UnansweredError, match="cannot be reached: the connection failed"):
        RestClient(AnonymousCredentials(), address=address).get(rest_client.BILLING, PATH, dict)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_proxy_is_not_used_for_loopback(
    google: tuple[FakeGoogle, RestClient], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that leads nowhere changes nothing."""
    monkeypatch.setenv(name, "http://user:secret@127.0.0.1:1")

    assert google[1].get(rest_client.BILLING, PATH, dict)["billingEnabled"]


def test_silent_proxy_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Google itself is asked through it; nothing leaves this machine here."""
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(UnansweredError) as caught:
        RestClient(AnonymousCredentials(), call_s=2).get(rest_client.BILLING, PATH, dict)

    assert "the proxy that HTTPS_PROXY names does not answer" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate is not yet valid", "the clock of this"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", "a proxy may be in between"),
        ("NameResolutionError: Failed to resolve", "the name a.googleapis.com is not resolved"),
    ],
)
def test_network_errors_become_sentences(raised: str, words: str) -> None:
    """Clocks, certificates and names have sentences of their own."""
    import requests

    error = rest_client.convert_exception(requests.ConnectionError(raised), "a.googleapis.com")

    assert "network" == error.reason
    assert words in str(error)


def test_netrc_does_not_replace_token(google: tuple[FakeGoogle, RestClient], home: Any) -> None:
    """A `default` entry in .netrc doesn't replace the token."""
    (home / ".netrc").write_text("default login bob password secret")
    client = google[1]
    session = client._session()
    session.trust_env = True
    client.get(rest_client.BILLING, PATH, dict)

    assert "Authorization" not in google[0].headers[-1]


def test_ten_thousand_rules_are_read_once_in_pages(google: tuple[FakeGoogle, RestClient]) -> None:
    """Two parts that need the list share it."""
    fake, client = google
    rules = [rule(f"rule-{number}", "tcp:22") for number in range(10_000)]

    def page(query: dict[str, list[str]]) -> dict[str, Any]:
        size, start = int(query["maxResults"][0]), int(query.get("pageToken", ["0"])[0])
        more = {"nextPageToken": str(start + size)} if start + size < len(rules) else {}
        return {"items": rules[start : start + size], **more}

    fake.breaks("firewalls", page)
    path = f"compute/v1/projects/{PROJECT}/global/firewalls"
    found = client.pages(rest_client.COMPUTE, path, "items", dict, maxResults=500)

    assert rules == found == client.pages(rest_client.COMPUTE, path, "items", dict, maxResults=500)
    assert 20 == len(fake.asked)


def test_endless_pages_are_given_up(google: tuple[FakeGoogle, RestClient]) -> None:
    """Endless pages are given up."""
    google[0].breaks("/locations", {"locations": [], "nextPageToken": "again"})

    with pytest.raises(UnansweredError, match="more than 50 pages"):
        google[1].pages(rest_client.TPU, f"v2/projects/{PROJECT}/locations", "locations", dict)


@pytest.mark.parametrize("value", ["text", {"a": 1}, [1], [{}, None]])
def test_invalid_list_is_unusable_answer(google: tuple[FakeGoogle, RestClient], value: Any) -> None:
    """A listing in another form than the documented one is not read as empty."""
    google[0].breaks("/locations", {"items": value})
    path = f"v2/projects/{PROJECT}/locations"

    with pytest.raises(UnansweredError, match="`items`: Expected") as caught:
        google[1].pages(rest_client.TPU, path, "items", dict)

    assert "garbled" == caught.value.reason
    assert [] == google[1].pages(rest_client.TPU, path, "locations", dict)


@pytest.mark.parametrize(
    "address", ["tpu.googleapis.com:443", "10.0.0.1:80", "127.0.0.1", "127.0.0.1:x", "x"]
)
def test_a_server_elsewhere_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only this machine may stand in for Google."""
    monkeypatch.setenv(rest_client.ENDPOINT, address)

    with pytest.raises(Problem, match="expected an address of this machine"):
        rest_client.find_rest_test_server()


def test_addresses_of_this_machine_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """All forms of this machine's address are accepted."""
    for address in ("127.0.0.1:80", "localhost:80", "[::1]:80"):
        monkeypatch.setenv(rest_client.ENDPOINT, address)

        assert address == rest_client.find_rest_test_server()
