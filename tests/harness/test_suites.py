from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness import suites
from harness.errors import InputError, UnknownName
from harness.jobs import KEY_COLUMNS
from models import datasets, registry, search, training

VALID = """
title = "mine"
datasets = ["digits"]
models = ["linear", "protonn"]
numbers = ["int8"]
budgets = ["512B", "2kB"]
"""


ROWS = """
title = "mine"
seed = 7

[[row]]
dataset = "digits"
model = "forest"
budget = "31kB"
numbers = "int16"
params = { n_trees = 31, max_leaves = 64 }

[[row]]
dataset = "usps-2"
model = "protonn"
budget = "2kB"
numbers = ["int8", "float32"]
seeds = [0, 1]
boards = ["uno", "nano"]
speed = true
max_ms = 0.9
effort = "fast"
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
    jobs = suites.load(name).jobs("uno")
    assert {job.dataset for job in jobs} <= set(datasets.names())
    assert {job.model for job in jobs} <= set(registry.names())
    for job in jobs:
        search.effort_named(job.effort)
        training.check_params(job.model, dict(job.params))


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


def test_rows_say_what_is_special_about_them(tmp_path: Path) -> None:
    suite = suites.read(write(tmp_path, ROWS))
    forest, *protonn = suite.jobs("uno")
    assert forest.params == (("max_leaves", 64), ("n_trees", 31))
    assert (forest.numbers, forest.seed, forest.effort, forest.speed) == ("int16", 7, "normal", False)
    assert [(job.seed, job.numbers) for job in protonn] == [
        (0, "int8"),
        (0, "float32"),
        (1, "int8"),
        (1, "float32"),
    ]
    assert {(job.speed, job.max_ms, job.effort) for job in protonn} == {(True, 0.9, "fast")}
    assert protonn[0].recipe == protonn[1].recipe != protonn[2].recipe
    assert protonn[0].recipe.limit == (0.9, "uno", True, None)
    assert len({job.name for job in suite.jobs("uno")}) == 5
    assert len({job.recipe.name for job in suite.jobs("uno")}) == 3
    assert dict(zip(KEY_COLUMNS, protonn[3].key, strict=True)) == {
        "board": "uno",
        "dataset": "usps-2",
        "model": "protonn",
        "numbers": "float32",
        "budget": "2048",
        "seed": "1",
        "speed": "yes",
        "max_ms": "0.9",
        "shape": "",
    }


def test_a_row_may_name_several(tmp_path: Path) -> None:
    text = ROWS.replace('"usps-2"', '["usps-2", "mnist-2"]').replace('"2kB"', '["1kB", "2kB"]')
    jobs = suites.read(write(tmp_path, text)).jobs("nano")[1:]
    assert [(job.dataset, job.budget) for job in jobs[::4]] == [
        ("usps-2", 1024),
        ("usps-2", 2048),
        ("mnist-2", 1024),
        ("mnist-2", 2048),
    ]
    assert len(jobs) == len({job.key for job in jobs}) == 16


def test_rows_for_other_boards_are_left_out(tmp_path: Path) -> None:
    suite = suites.read(write(tmp_path, ROWS))
    assert [job.model for job in suite.jobs("mega2560")] == ["forest"]


def test_rows_stand_behind_combinations(tmp_path: Path) -> None:
    suite = suites.read(write(tmp_path, VALID + ROWS.replace('title = "mine"', "")))
    assert [job.model for job in suite.jobs("mega2560")] == [
        "linear",
        "linear",
        "protonn",
        "protonn",
        "forest",
    ]


def test_a_suite_for_speed_has_every_row_for_speed(tmp_path: Path) -> None:
    suite = suites.read(write(tmp_path, ROWS + "").with_name("mine.toml"))
    fast = replace(suite, speed=True)
    assert all(job.speed for job in fast.jobs("uno"))
    assert fast.definition() != suite.definition()


def test_the_definition_is_what_json_gives_back(tmp_path: Path) -> None:
    definition = suites.read(write(tmp_path, ROWS)).definition()
    assert json.loads(json.dumps(definition)) == definition


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('model = "forest"', "", "row 1: key 'model' is missing"),
        ("speed = true", "sped = true", "row 2: unknown key 'sped'"),
        ("speed = true", "speed = 1", "row 2: key 'speed' is 1 and must be true or false"),
        ("max_ms = 0.9", "max_ms = 0", "row 2: key 'max_ms' is 0 and must be a number above zero"),
        ("max_ms = 0.9", "max_ms = '1'", "row 2: key 'max_ms' is '1'"),
        ('"nano"', '"nono"', "row 2: key 'boards' is 'nono'"),
        ("[0, 1]", "[0, 0]", "row 2: key 'seeds' names 0 twice"),
        ("[0, 1]", "[-1]", "row 2: key 'seeds' is -1"),
        ("[0, 1]", "0", "row 2: key 'seeds' must be a list"),
        ("{ n_trees = 31, max_leaves = 64 }", "31", "row 1: key 'params' must be a table"),
        ('"int16"', '"int17"', "row 1: key 'numbers' is 'int17'"),
        ('"31kB"', "31", "row 1: key 'budget' must be a list of one or more strings"),
        ('[[row]]\ndataset = "digits"', '[row]\ndataset = "digits"', "Cannot"),
        ("seed = 7", "seed = 7\nmodels = ['tree']", "key 'datasets' is missing beside 'models'"),
        (
            'numbers = "int16"',
            'seeds = [3]\nnumbers = ["int8"]\nboards = ["uno"]\n[[row]]\n'
            'dataset = "digits"\nmodel = "forest"\nbudget = "31kB"\nseeds = [3]',
            "is there twice",
        ),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = ROWS.replace(old, new, 1)
    assert text != ROWS
    if "twice" in says and "forest" in new:
        text = text.replace("params = { n_trees = 31, max_leaves = 64 }", "", 1)
    with pytest.raises(InputError, match=says):
        suites.read(write(tmp_path, text))


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
