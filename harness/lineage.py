"""Which of our own source a computation depends on: its modules and all that they import, in functions too.

What is kept from an earlier computation is taken again only while this source is the same; a change in
another model family leaves it alone.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import harness
import models
from models import registry

ROOTS = {"models": Path(models.__file__).parent, "harness": Path(harness.__file__).parent}
TABLES = frozenset({"models.registry", "models.families"})
"""They name every family and import none: whoever asks them says which one is meant."""
DATA = ("*.npy",)
"""Some learners read them."""


def of_model(name: str) -> str:
    """Of training a model of the registry."""
    return of(("models.training", *registry.modules(name)))


def of_models() -> str:
    """Of all of `models`, for what may depend on any of it."""
    return _digest(ROOTS["models"].rglob("*.py"))


def of(modules: Iterable[str]) -> str:
    return _digest(path for name in closure(modules) if (path := _source(name)))


def closure(modules: Iterable[str]) -> set[str]:
    """The modules, and all of ours that they import."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(name) - found
    return found


@cache
def _imports(module: str) -> frozenset[str]:
    source = _source(module)
    return frozenset(filter(_counts, _imported(ast.parse(source.read_bytes())))) if source else frozenset()


def _imported(tree: ast.AST) -> Iterator[str]:
    """What import statements name; `from package import name` may mean a module of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _counts(name: str) -> bool:
    return name not in TABLES and _source(name) is not None


@cache
def _source(name: str) -> Path | None:
    """None for what is not a module of ours."""
    package, *inner = name.split(".")
    if package not in ROOTS:
        return None
    place = ROOTS[package].joinpath(*inner)
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.exists():
            return path
    return None


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted({*paths, *(path for pattern in DATA for path in ROOTS["models"].rglob(pattern))}):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
