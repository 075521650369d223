"""The tutor in a real browser: Home, a lesson, a block that runs, and a page of a stranger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.serving.test_server import Server, serving
from tests.support import browser, loopback
from tests.support.browser import Page

pytestmark = pytest.mark.skipif(browser.program() is None, reason=browser.MISSING)

SHOWN = "document.body?.classList.contains('-first-byte')"
ENDED = "document.body.classList.contains('-closed')"
HOOK = "document.querySelector('.xterm-helper-textarea') === document.activeElement"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Start a server for one test."""
    with serving(tmp_path) as one:
        yield one


async def sent(page: Page, wanted: str) -> None:
    """Wait until the app has sent some words to the page, which draws them on a canvas."""
    await page.until(f"(window.words ?? '').includes({wanted!r})")


LISTEN = """
const Before = window.WebSocket;
window.WebSocket = class extends Before {
  constructor(...words) {
    super(...words);
    const text = new TextDecoder();
    this.addEventListener("message", (event) => {
      if (typeof event.data === "string") return;
      const said = text.decode(event.data).replace(/\\x1b\\[[0-9;?]*[a-zA-Z]/g, "");
      window.words = (window.words ?? "") + said;
    });
  }
};
"""
"""Keeps what the app sends, as text."""


async def test_newcomer_reads_lesson_and_runs_block_by_keys(server: Server) -> None:
    """A newcomer gets from the address to a result by keys, and no other host is contacted."""
    async with browser.browser() as page:
        await page.do("Page.enable")
        await page.do("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
        await page.open(server.url)
        await page.until(SHOWN)
        assert await page.value(HOOK)
        await page.press("3")
        await sent(page, "This machine")
        await page.press("Enter")
        await sent(page, "Press Enter to run")
        await page.press("r")
        await sent(page, "processor cores: ")
        await sent(page, "pass")
        await page.press("q")
        await page.until(ENDED)

        assert f"{server.origin}/" == await page.value("location.href")
        assert {f"127.0.0.1:{server.port}"} == {urlsplit(url).netloc for url in page.requested}
        assert await page.value("document.fonts.check('16px \"Roboto Mono\"')")


@contextmanager
def stranger(target: str) -> Iterator[str]:
    """Serve a page on another port of this machine, which tries to open the tutor."""

    class Handler(loopback.Handler):
        def do_GET(self) -> None:  # noqa: N802  the name of the library
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(
                f"""<script>
                const socket = new WebSocket("ws://{target}/ws?width=80&height=24");
                socket.onopen = () => document.title = "opened";
                socket.onclose = () => document.title ||= "refused";
                </script>""".encode()
            )

    with loopback.serve(Handler) as address:
        yield f"http://{address}/"


async def test_foreign_page_does_not_open_tutor(server: Server) -> None:
    """A foreign page can't open the tutor, even with the cookie or from this machine."""
    async with browser.browser() as page:
        await page.open(server.url)
        await page.until(SHOWN)
        [own] = server.apps()
        with stranger(f"127.0.0.1:{server.port}") as url:
            await page.open(url)
            await page.until("document.title")
            assert "refused" == await page.value("document.title")

        assert {own} >= {*server.apps()}
