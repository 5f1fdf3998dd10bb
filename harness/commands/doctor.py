"""kilobench doctor: what is installed, what works, what to do."""

from __future__ import annotations

import dataclasses

import typer

from harness.commands import show

COLOURS = {"ok": "green", "note": "cyan", "missing": "yellow", "broken": "red"}
NAME = 26
"""Columns for the name of a check."""


def command(as_json: show.Json = False) -> None:
    """What is installed, what works, and what to do."""
    from harness import doctor

    checks = []
    console = None if as_json else show.console()
    for check in doctor.examine():
        checks.append(check)
        if console:
            from rich.text import Text

            line = Text.assemble(
                (f"{check.status:<8}", COLOURS[check.status]), f"{check.name:<{NAME}}", check.detail
            )
            console.print(line, soft_wrap=True)
            if check.remedy:
                console.print(Text(f"{'':8}{'':{NAME}}{check.remedy}", style="bold"), soft_wrap=True)
    hurting = [check.name for check in checks if check.hurts]
    if as_json:
        show.as_json({"ok": not hurting, "checks": [dataclasses.asdict(check) for check in checks]})
    elif console:
        console.print()
        console.print(
            f"Needed and not working: {', '.join(hurting)}." if hurting else "All that is needed works."
        )
    if hurting:
        raise typer.Exit(2)
