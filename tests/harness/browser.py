"""A page in a real headless Chromium, with a script that tries it out; skips where there is none."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

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
WATCH = """<script>
window.problems = [];
window.addEventListener("error", (event) => window.problems.push(event.message));
console.error = (...words) => window.problems.push(words.join(" "));
</script>"""


def program() -> str:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    return found


def chromium(folder: Path, *arguments: str, size: tuple[int, int] = (1200, 900)) -> str:
    """Run it to its end; what it printed."""
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    line = [
        program(),
        *FLAGS,
        *sandbox,
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={size[0]},{size[1]}",
        *arguments,
    ]
    return subprocess.run(
        line, check=True, timeout=SECONDS, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout


def try_out(page: str, script: str, folder: Path, *, size: tuple[int, int] = (1200, 900)) -> dict[str, Any]:
    """What the script puts into `found` on that page, with the page's errors under `problems`."""
    trial = f"""<script>
window.addEventListener("load", () => {{
  const found = {{}};
  try {{ {script} }} catch (error) {{ window.problems.push(String(error)); }}
  const result = document.createElement("pre");
  result.id = "found";
  result.textContent = JSON.stringify({{...found, problems: window.problems}});
  document.body.append(result);
}});
</script>"""
    path = folder / "trial.html"
    text = page.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", f"{trial}</body>", 1)
    path.write_text(text, encoding="utf8")
    dumped = chromium(folder, "--dump-dom", path.as_uri(), size=size)
    answer = re.search(r'<pre id="found">(.*?)</pre>', dumped, re.DOTALL)
    assert answer, "the page did not answer"
    found: dict[str, Any] = json.loads(html.unescape(answer[1]))
    return found
