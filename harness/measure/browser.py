"""A page in a headless Chromium, for tests and measurements."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
SECONDS = 60
TELL = """<script>
new PerformanceObserver((list) => {
  const [paint] = list.getEntriesByName("first-contentful-paint");
  if (paint) fetch("/paint", { method: "POST", body: paint.startTime });
}).observe({ type: "paint", buffered: true });
</script>"""


def program() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


def command(profile: Path, *arguments: str) -> list[str]:
    """The line that starts it with a profile of its own. Its sandbox cannot be had as root."""
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    return [program() or "chromium", *FLAGS, *sandbox, f"--user-data-dir={profile}", *arguments]


def first_paint(page: str, profile: Path) -> float:
    """Seconds from the begin of the navigation to the first text or picture, told by the page itself.

    A server on this machine hands the page out and hears the answer: what Chromium prints of a page, it
    prints before it has painted it.
    """
    told: queue.Queue[float] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        text: ClassVar[bytes] = page.replace("<head>", f"<head>{TELL}", 1).encode()

        def do_GET(self) -> None:
            found = self.path == "/"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(self.text) if found else 0))
            self.end_headers()
            self.wfile.write(self.text if found else b"")

        def do_POST(self) -> None:
            told.put(float(self.rfile.read(int(self.headers["Content-Length"]))) / 1000)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = command(profile, "--window-size=1200,900", f"http://127.0.0.1:{server.server_port}/")
        browser = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return told.get(timeout=SECONDS)
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()
