"""kilobench datasets: names, sizes, where they come from, whether they are here."""

from __future__ import annotations

import typer

from harness.commands import show


def command(as_json: show.Json = False) -> None:
    """Names, sizes, where they come from, and whether they are here."""
    import dataclasses

    from models import datasets

    facts = [datasets.status(name) for name in datasets.names()]
    if as_json:
        show.as_json([dataclasses.asdict(fact) for fact in facts])
        return
    show.table(
        ["dataset", "train", "test", "features", "classes", "here", "source"],
        [
            [
                fact.name,
                show.grouped(fact.train),
                show.grouped(fact.test),
                show.grouped(fact.features),
                f"{show.grouped(fact.classes)}{' labels' if fact.multilabel else ''}",
                "yes" if fact.available else "no",
                fact.source if fact.available else "–",
            ]
            for fact in facts
        ],
        right=["train", "test", "features", "classes"],
    )
    if not all(fact.available for fact in facts):
        typer.echo(
            "\nThe others are downloaded on first use; KILOBENCH_DATA can name a folder that has them."
        )
