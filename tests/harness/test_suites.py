from __future__ import annotations

from pathlib import Path

import pytest

from harness import suites
from harness.errors import InputError, UnknownName
from models import datasets, registry, search

VALID = """
title = "mine"
datasets = ["digits"]
models = ["linear", "protonn"]
numbers = ["int8"]
budgets = ["512B", "2kB"]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf8")
    return path


def test_quick_is_what_it_says() -> None:
    quick = suites.load("quick")
    assert [(j.dataset, j.model, j.numbers, j.budget) for j in quick.jobs("uno")] == [
        ("digits", "protonn", "int8", 2048),
        ("digits", "protonn", "float32", 2048),
        ("digits", "linear", "int8", 2048),
        ("digits", "linear", "float32", 2048),
        ("cancer", "protonn", "int8", 2048),
        ("cancer", "protonn", "float32", 2048),
        ("cancer", "linear", "int8", 2048),
        ("cancer", "linear", "float32", 2048),
    ]
    assert quick.seed == 0
    assert quick.samples is None


@pytest.mark.parametrize("name", suites.names())
def test_every_suite_names_only_what_there_is(name: str) -> None:
    suite = suites.load(name)
    assert set(suite.datasets) <= set(datasets.names())
    assert set(suite.models) <= set(registry.names())
    search.effort_named(suite.effort)


def test_an_unknown_suite_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"no suite named 'quik'. Did you mean 'quick'"):
        suites.load("quik")


def test_a_users_own_file(tmp_path: Path) -> None:
    suite = suites.load(str(write(tmp_path, VALID + "seed = 3\nsamples = 20\ncheck_scores = 'all'\n")))
    assert (suite.name, suite.seed, suite.samples, suite.check_scores) == ("mine", 3, 20, "all")
    assert suite.budgets == (512, 2048)
    jobs = suite.jobs("mega2560")
    assert len(jobs) == 4
    assert {job.board for job in jobs} == {"mega2560"}
    assert len({job.key for job in jobs}) == 4


def test_the_definition_changes_with_what_is_measured(tmp_path: Path) -> None:
    one = suites.read(write(tmp_path, VALID)).definition()
    assert suites.read(write(tmp_path, VALID.replace("mine", "other words"))).definition() == one
    assert suites.read(write(tmp_path, VALID + "seed = 1\n")).definition() != one
    assert suites.read(write(tmp_path, VALID.replace("512B", "513B"))).definition() != one


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (VALID + "colour = 'red'\n", "unknown key 'colour'"),
        (VALID.replace("title", "# title"), "key 'title' is missing"),
        (VALID.replace('["digits"]', '"digits"'), "key 'datasets' must be a list"),
        (VALID.replace('["digits"]', "[]"), "key 'datasets' must be a list"),
        (VALID.replace('["digits"]', '["digits", "digits"]'), "names 'digits' twice"),
        (VALID.replace('"int8"', '"int9"'), "key 'numbers' is 'int9'"),
        (VALID.replace('"512B"', '"a lot"'), "'a lot' is not a size"),
        (VALID + "seed = -1\n", "key 'seed' is -1"),
        (VALID + "samples = 0\n", "key 'samples' is 0"),
        (VALID + "samples = true\n", "key 'samples' is True"),
        (VALID + "effort = 7\n", "key 'effort' must be a string"),
        (VALID + "check_scores = 'few'\n", "key 'check_scores' is 'few'"),
        (VALID + "this is not TOML", "mine.toml"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=says) as caught:
        suites.load(str(path))
    assert str(path) in str(caught.value)
    assert caught.value.remedy


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no suite file"):
        suites.load(str(tmp_path / "absent.toml"))
