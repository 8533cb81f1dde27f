"""Requests that a page of another site could make a browser send, and those of the page itself."""

import anyio
import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from plugplay.web.app import loopback_hosts
from plugplay.web.guard import Guard

HERE = "http://127.0.0.1:8420"
HOSTS = loopback_hosts(8420)


def ask(method="GET", path="/", *, base=HERE, token=None, hosts=HOSTS, **options):
    async def go():
        async def answer(request):
            return PlainTextResponse("secret")

        methods = ["GET", "POST", "DELETE"]
        inner = Starlette(routes=[Route("/", answer, methods=methods), Route("/api", answer, methods=methods)])
        guarded = Guard(inner, hosts=hosts, token=token)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guarded), base_url=base) as client:
            return await client.request(method, path, **options)

    return anyio.run(go)


@pytest.mark.parametrize("host", ["127.0.0.1:8420", "localhost:8420", "[::1]:8420", "LOCALHOST:8420"])
def test_this_machine_is_served(host):
    assert ask(headers={"host": host}).text == "secret"


@pytest.mark.parametrize("host", ["evil.example:8420", "127.0.0.1:80", "localhost", "127.0.0.1:8420.evil.example", ""])
def test_a_rebound_name_is_not(host):
    response = ask(headers={"host": host})
    assert response.status_code == 421
    assert "secret" not in response.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8420"},
        {"origin": "http://localhost:8420"},
        {"origin": "http://127.0.0.1:8421"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_other_pages_are_refused(method, headers):
    assert ask(method, "/api", headers=headers).status_code == 403


def test_a_link_to_the_page_may_be_followed():
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert ask(headers=followed).status_code == 200
    assert ask("POST", headers=followed).status_code == 403


def test_the_page_itself_is_served():
    own = {"origin": HERE, "sec-fetch-site": "same-origin"}
    assert ask("POST", "/api", headers=own).status_code == 200


def test_every_answer_has_the_security_headers():
    for response in (ask(), ask(headers={"host": "evil.example"})):
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert "unsafe" not in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["x-frame-options"] == "DENY"


def test_other_addresses_need_the_token():
    open_to_all = {"hosts": None, "token": "right", "base": "http://192.0.2.1:8420"}
    assert ask(**open_to_all).status_code == 401
    assert ask(path="/?token=wrong", **open_to_all).status_code == 401
    assert ask("POST", "/api?token=right", **open_to_all).status_code == 401
    for scheme in ("Bearer right", "bearer right"):
        assert ask(path="/api", headers={"authorization": scheme}, **open_to_all).text == "secret"
    assert ask(path="/api", headers={"authorization": "Bearer wrong"}, **open_to_all).status_code == 401
    welcome = ask(path="/?token=right", **open_to_all)
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
    assert "HttpOnly" in welcome.headers["set-cookie"]
    assert "SameSite=Strict" in welcome.headers["set-cookie"]
    cookie = welcome.headers["set-cookie"].partition(";")[0]
    assert ask(path="/api", headers={"cookie": cookie}, **open_to_all).text == "secret"
    assert (
        ask(path="/api", headers={"cookie": cookie, "origin": "http://evil.example"}, **open_to_all).status_code == 403
    )


def test_a_server_for_everybody_without_a_token_is_not_made():
    with pytest.raises(ValueError, match="token"):
        Guard(Starlette(), hosts=None, token=None)
