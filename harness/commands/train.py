"""kilobench train: a model within a byte budget, written to a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.commands import show
from models import registry


class Effort(StrEnum):
    fast = "fast"
    normal = "normal"
    best = "best"


class Numbers(StrEnum):
    int8 = "int8"
    int16 = "int16"
    float32 = "float32"


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=f"{', '.join(registry.names())}.")],
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="[DATASET]", help="A name that `kilobench datasets` lists, or a file."),
    ] = None,
    *,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own data instead: .csv with a header, or .npz."),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Its test part.  [default: a quarter of --data]"),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Its column of labels.  [default: the last]")
    ] = None,
    budget: Annotated[
        str, typer.Option(help="Flash bytes of the model: 512B, 2kB, 1.5kB (1 kB = 1024).")
    ] = "2kB",
    seed: Annotated[int, typer.Option(min=0, help="Of everything random in the training.")] = 0,
    effort: Annotated[Effort, typer.Option(help="How long to look for the best shape.")] = Effort.normal,
    max_ms: Annotated[
        float | None,
        typer.Option(metavar="MS", help="Milliseconds that a prediction may take on --board."),
    ] = None,
    board: Annotated[str, typer.Option(help="Where --max-ms holds.")] = "uno",
    speed: Annotated[
        bool, typer.Option("--speed", help="Reckon --max-ms with weights laid out as `build --speed` does.")
    ] = False,
    numbers: Annotated[Numbers, typer.Option(help="Arithmetic of the firmware.")] = Numbers.int8,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write it.  [default: MODEL-DATASET-BUDGET.kb]"),
    ] = None,
    as_json: show.Json = False,
) -> None:
    """Train MODEL on DATASET within a byte budget."""
    from harness import boards, timing
    from models import budget as budgets
    from models import datasets, modelfile, registry, training
    from models.errors import InputError, UnknownName

    size = budgets.parse(budget)
    if model not in registry.names():
        raise UnknownName("model", model, registry.names())
    if max_ms is not None and max_ms <= 0:
        raise InputError(f"--max-ms {max_ms:g} leaves no time.", "Give milliseconds above zero.")
    plan = timing.Plan(speed=speed, within=size)
    limit = None if max_ms is None else timing.limit(boards.load(board), max_ms, plan)
    samples = datasets.load(_name_of(dataset, data, test, target))
    path = out or Path(f"{model}-{samples.name}-{budgets.show(size)}.kb")
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {path.parent}.", "Make it, or name another file with --out.")
    with show.working(f"training {model} on {samples.name}", quiet=as_json) as progress:
        trained = training.train(
            model, samples, budget=size, seed=seed, effort=effort.value, limit=limit, progress=progress
        )
        device = trained.device(numbers.value)
        if limit is not None:
            device = plan.laid_out(device, boards.load(board))
    modelfile.save(device, path)
    facts: dict[str, Any] = {**trained.report, "numbers": numbers.value, "file": str(path)}
    if numbers is not Numbers.int8:
        # The report is about the integer model that the budget is for; this file holds another one.
        right = device.predict(samples.X_test) == samples.y_test
        facts |= {"flash_bytes": device.flash_bytes, "test_accuracy": float(right.mean())}
    if as_json:
        show.as_json(facts)
        return
    show.facts(
        [
            ("model", f"{model} ({numbers.value}) on {samples.name}, seed {seed}"),
            (
                "accuracy",
                f"{_percent(facts['test_accuracy'])} test, {_percent(facts['val_accuracy'])} validation",
            ),
            ("flash", f"{show.bytes_text(facts['flash_bytes'])} of {show.bytes_text(size)}"),
            *(
                [("time", f"{facts['predicted_ms']:.3g} ms of {max_ms:g} ms, predicted for {limit.board}")]
                if limit is not None
                else []
            ),
            ("papers' size", f"{facts['paper_kB']:.2f} kB"),
            ("training", f"{facts['fit_seconds']:.1f} s"),
            ("shape", ", ".join(f"{key} {value}" for key, value in facts["params"].items())),
            ("file", str(path)),
        ]
    )


def _name_of(dataset: str | None, data: Path | None, test: Path | None, target: str | None) -> str:
    """One name for a known dataset or for a user's own files."""
    from models import datasets
    from models.errors import InputError

    if data is not None and dataset is None:
        return datasets.own_name(data, test, target)
    if dataset is not None and data is None and test is None and target is None:
        return dataset
    raise InputError(
        "Training needs one dataset, by name or as files.",
        "Give either its name, or --data with --test and --target where they are needed.",
    )


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.2f} %"
