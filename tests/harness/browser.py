"""A page in a real headless Chromium, with a script that tries it out; skips where there is none."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.measure import browser

WATCH = """<script>
window.problems = [];
window.addEventListener("error", (event) => window.problems.push(event.message));
console.error = (...words) => window.problems.push(words.join(" "));
</script>"""
HEIGHT = 900
DARK = "--blink-settings=preferredColorScheme=0"


def chromium_or_skip() -> None:
    if browser.program() is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")


def chromium(folder: Path, *arguments: str) -> str:
    """Run it to its end; what it printed."""
    chromium_or_skip()
    line = browser.command(folder / "profile", f"--window-size=1200,{HEIGHT}", *arguments)
    done = subprocess.run(line, check=True, timeout=browser.SECONDS, capture_output=True, text=True)
    return done.stdout


def try_out(
    page: str, script: str, folder: Path, *, width: int | None = None, dark: bool = False
) -> dict[str, Any]:
    """What the script puts into `found` on that page, with the page's errors under `problems`.

    width: of the screen in pixels. Chromium's own window is never narrower than 500, a frame in it may be.
    """
    text = _with_trial(page, script)
    if width is not None:
        text = f"<!doctype html><body>{_frame(text, width)}</body>"
    return _answer(text, folder, *([DARK] if dark else []))


def try_out_without_scripts(page: str, script: str, folder: Path) -> dict[str, Any]:
    """The same of a page none of whose scripts may run: it is looked at from outside."""
    host = f"<!doctype html><head></head><body>{_frame(page, 1200, sandbox='allow-same-origin')}</body>"
    inside = f"const document = window.frames[0].document; {script}"
    return _answer(_with_trial(host, inside), folder)


def _with_trial(page: str, script: str) -> str:
    trial = f"""<script>
window.addEventListener("load", () => {{
  const found = {{}};
  try {{ {script} }} catch (error) {{ window.problems.push(String(error)); }}
  const result = top.document.createElement("pre");
  result.id = "found";
  result.textContent = JSON.stringify({{...found, problems: window.problems}});
  top.document.body.append(result);
}});
</script>"""
    return page.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", f"{trial}</body>", 1)


def _frame(page: str, width: int, **attributes: str) -> str:
    named = {**attributes, "style": f"border: 0; width: {width}px; height: {HEIGHT}px", "srcdoc": page}
    written = " ".join(f'{name}="{html.escape(text)}"' for name, text in named.items())
    return f"<iframe {written}></iframe>"


def _answer(text: str, folder: Path, *arguments: str) -> dict[str, Any]:
    path = folder / "trial.html"
    path.write_text(text, encoding="utf8")
    dumped = chromium(folder, "--dump-dom", *arguments, path.as_uri())
    answer = re.search(r'<pre id="found">(.*?)</pre>', dumped, re.DOTALL)
    assert answer, "the page did not answer"
    found: dict[str, Any] = json.loads(html.unescape(answer[1]))
    return found
