"""One board, one run: a lock that names its owner and dies with it.

The kernel holds the lock (flock), so that one whose owner was killed is free in the same instant, and what
the file still says of the dead is only history. All users of the machine share the locks. A board on another
machine is locked for this machine only; its RFC 2217 server takes one client at a time.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import getpass
import json
import os
import socket
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.bench import Place
from harness.errors import PortError, SetupError

VARIABLE = "KILOBENCH_LOCKS"
GLANCE = 0.2
"""Seconds: whoever only looks who holds a lock has it for far less."""
MINUTE, HOUR, DAY = 60, 3600, 86400


@dataclass(frozen=True)
class Owner:
    user: str
    pid: int
    host: str
    since: float
    """Seconds since the epoch."""

    @classmethod
    def me(cls) -> Owner:
        return cls(getpass.getuser(), os.getpid(), socket.gethostname(), time.time())

    def __str__(self) -> str:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since))
        return f"{self.user}, process {self.pid} on {self.host}, since {when} ({age(self.since)})"


def age(since: float) -> str:
    """How long ago, as a person says it."""
    seconds = max(0, int(time.time() - since))
    for unit, name in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= unit:
            count = seconds // unit
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return f"{seconds} s ago"


def folder() -> Path:
    return Path(os.environ.get(VARIABLE) or Path(tempfile.gettempdir(), "kilobench-locks"))


@contextmanager
def held(places: Iterable[Place]) -> Iterator[None]:
    """All of these boards are this process's until the end of the block, or PortError says whose they are."""
    with ExitStack() as stack:
        # In one order everywhere: two runs that want the same boards must not each get a half.
        for place in sorted(places, key=lambda place: place.identity):
            stack.enter_context(_one(place))
        yield


def holder(place: Place) -> Owner | None:
    """Who uses this board now."""
    try:
        handle = os.open(_path(place), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return None if take(handle) else owner(handle)
    finally:
        os.close(handle)


@contextmanager
def _one(place: Place) -> Iterator[None]:
    handle = _open(_path(place))
    try:
        deadline = time.monotonic() + GLANCE
        while not (ours := take(handle)) and time.monotonic() < deadline:
            time.sleep(GLANCE / 10)
        if not ours:
            raise PortError(
                f"The board {place.title} is in use by {owner(handle) or 'another run'}.",
                "Wait for the end of that run, or choose another board.",
            )
        sign(handle)
        yield
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _path(place: Place) -> Path:
    word = "".join(letter if letter.isalnum() else "-" for letter in place.identity)[-40:]
    return folder() / f"{word}-{zlib.crc32(place.identity.encode()):08x}"


def _open(path: Path) -> int:
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(PermissionError):  # another user was first
                path.parent.chmod(0o1777)
        try:
            # Not with O_CREAT at once: in a sticky folder Linux refuses that for another user's file.
            return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            with contextlib.suppress(PermissionError):
                os.fchmod(handle, 0o666)  # whatever the umask says: the next user must be able to lock it
            return handle
    except OSError as error:
        raise SetupError(
            f"The board's lock {path} cannot be made: {error.strerror}.",
            f"Set {VARIABLE} to a folder that all users of the board can write to.",
        ) from error


def take(handle: int) -> bool:
    """Whether the lock is ours now."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def sign(handle: int) -> None:
    """Write into a lock that is ours who that is."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(asdict(Owner.me())).encode(), 0)


def owner(handle: int) -> Owner | None:
    """Who has signed a lock."""
    try:
        return Owner(**json.loads(os.pread(handle, 4096, 0)))
    except (ValueError, TypeError):  # it is being written
        return None
