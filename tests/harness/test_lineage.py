from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import lineage
from models import registry

TRAIN = """
import sys
from collections.abc import Iterator
from models import datasets, training
training.train(sys.argv[1], datasets.load("cancer"), budget=512, effort="fast").device("int8")
print(*(name for name in sys.modules if name.partition(".")[0] == "models"))
"""


@pytest.mark.parametrize("model", ["linear", "tree", "kmeans", "protonn"])
def test_it_covers_every_module_that_training_loads(model: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", TRAIN, model], check=True, capture_output=True, encoding="utf8"
    )
    loaded = set(ran.stdout.split()) - lineage.TABLES - {"models"}
    assert loaded
    assert loaded <= lineage.closure(["models.training", *registry.modules(model)])


def test_a_family_does_not_depend_on_another() -> None:
    of_protonn = lineage.closure(["models.training", *registry.modules("protonn")])
    assert "models.protonn_train" in of_protonn
    assert not of_protonn & {"models.trees", "models.bonsai", "models.npc"}
    assert lineage.of_model("protonn") != lineage.of_model("linear")


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """`models` of three modules, the first of which needs the second inside a function."""
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "first.py").write_text("def f():\n    from models import second\n")
    (tmp_path / "second.py").write_text("import numpy\n")
    (tmp_path / "third.py").write_text("")
    monkeypatch.setitem(lineage.ROOTS, "models", tmp_path)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    lineage._imports.cache_clear()
    lineage._source.cache_clear()


def test_a_change_counts_where_it_is_imported(package: Path) -> None:
    before = lineage.of(["models.first"])
    (package / "third.py").write_text("changed = 1\n")
    assert lineage.of(["models.first"]) == before
    (package / "second.py").write_text("import numpy, scipy\n")
    assert lineage.of(["models.first"]) != before


def test_data_that_learners_read_counts(package: Path) -> None:
    before = lineage.of(["models.first"])
    (package / "order.npy").write_bytes(b"1")
    assert lineage.of(["models.first"]) != before


def test_all_of_the_package_is_more_than_what_is_imported(package: Path) -> None:
    before = lineage.of_models()
    (package / "third.py").write_text("changed = 1\n")
    assert lineage.of_models() != before
