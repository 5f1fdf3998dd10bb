"""kilobench build: firmware from a model file, and what it takes of the board."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import show

if TYPE_CHECKING:
    from harness.explain import Explanation
    from models.device import DeviceModel


def command(
    model: Annotated[Path, typer.Argument(metavar="FILE", help="A model file that `kilobench train` wrote.")],
    *,
    board: Annotated[str, typer.Option(help="A name that `kilobench boards` lists.")] = "uno",
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--buffer",
            help="Fold features in as they come, or keep them in RAM.  [default: in RAM if they fit]",
        ),
    ] = None,
    speed: Annotated[
        bool, typer.Option("--speed", help="Lay the weights out for the fewest cycles, not the fewest bytes.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show where flash, RAM and cycles go, stage by stage.")
    ] = False,
    as_json: show.Json = False,
) -> None:
    """Firmware of a model, and what it takes of the board."""
    from harness import boards
    from harness import explain as explaining
    from harness.build import build, faster, streams
    from models import modelfile

    kind = boards.load(board)
    device = modelfile.load(model)
    if speed:
        stream = streams(device, kind) if stream is None else stream
        device = faster(device, kind, streaming=stream)
    with show.working(f"building for {kind.title}", quiet=as_json):
        made = build(device, kind, streaming=stream)
    code = made.flash_total - made.flash_model
    explanation = explaining.explain(device, made) if explain else None
    if as_json:
        show.as_json(
            {
                "board": kind.name,
                "model": device.name,
                "family": device.family,
                "numbers": device.numbers,
                "flash_total": made.flash_total,
                "flash_model": made.flash_model,
                "flash_code": code,
                "flash_board": kind.flash_bytes,
                "ram_static": made.ram_static,
                "ram_board": kind.ram_bytes,
                "streaming": made.streaming,
                "compiler": made.compiler,
                "flags": made.flags,
                "elf": str(made.elf),
                "hex": str(made.hex),
                "cached": made.cached,
                **({"explain": explanation.json()} if explanation else {}),
            }
        )
        return
    mode = "features streamed" if made.streaming else "features buffered in RAM"
    show.facts(
        [
            ("firmware", f"{device.family} {device.numbers}, {mode}, for {kind.title}"),
            ("flash", _share(made.flash_total, kind.flash_bytes)),
            ("", show.bar([(made.flash_model, "█"), (code, "▒")], kind.flash_bytes)),
            ("", f"█ model {show.bytes_text(made.flash_model)}   ▒ code {show.bytes_text(code)}"),
            ("RAM", f"{_share(made.ram_static, kind.ram_bytes)}, the stack not counted"),
            ("", show.bar([(made.ram_static, "█")], kind.ram_bytes)),
            ("compiler", made.compiler),
            ("file", f"{made.hex}{' (built before)' if made.cached else ''}"),
        ]
    )

    if explanation:
        typer.echo("")
        _print_stages(explanation, device)


def _print_stages(explanation: Explanation, device: DeviceModel) -> None:
    if not explanation.stages:
        typer.echo(f"No stages are known of {device.family} in {device.numbers} on this board.")
        return
    numbers = ("flash", "RAM", "cycles", "floor", "ratio")
    show.table(("stage", "what", *numbers), explanation.rows(), right=numbers)
    typer.echo("Cycles are predicted. The floor is what the best loop known needs for the terms alone.")
    if any(stage.estimated for stage in explanation.stages):
        typer.echo(
            "What depends on the sample is an estimate, as the model has noted none: up to 25 % off so far."
        )
    typer.echo("")
    show.table(("", "layouts of the weights", "flash", "cycles"), explanation.layout_rows(), right=numbers)
    typer.echo(explanation.reason)


def _share(used: int, whole: int) -> str:
    return f"{show.bytes_text(used)} of {show.bytes_text(whole)} ({100 * used / whole:.1f} %)"
