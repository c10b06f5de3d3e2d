"""The site that `make docs` built, served on this machine, and a headless browser."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SITE = os.environ.get("DPREG_SITE")
# Nothing leaves the machine, and nothing is kept.
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the pages."""
    if SITE is None:
        pytest.skip("needs the site: run make test-docs")
    return Path(SITE)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and does not tell."""

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the site for as long as the tests run."""
    handler = functools.partial(Quiet, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="session")
def driver(site: Path) -> Iterator[object]:
    """Start what starts browsers."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright


@contextlib.contextmanager
def browser(driver: object, *arguments: str) -> Iterator[object]:
    """Start the browser that CHROMIUM names, with these arguments besides."""
    path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    started = driver.chromium.launch(executable_path=path, args=[*ARGUMENTS, *arguments])
    yield started
    started.close()


@pytest.fixture(scope="session")
def chromium(driver: object) -> Iterator[object]:
    """Start a browser to read and click in."""
    with browser(driver) as started:
        yield started


@pytest.fixture(scope="session")
def layout(driver: object) -> Iterator[object]:
    """Start a browser to load pages in, in three fifths of the time; clicks wait in vain."""
    with browser(driver, "--disable-threaded-compositing") as started:
        yield started
