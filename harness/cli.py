"""The `kilobench` command: names, options and exit codes. What each command does is in harness/commands.

Exit codes: 0, 2 for anything the user has to change (usage errors too), 130 for Ctrl-C; 1 is kept for
commands that compare and found a difference. An error is a sentence of what is wrong and one of what to do
on stderr; `--debug`, anywhere on the line, shows the traceback as well.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from harness.commands import boards, build, compare, datasets, doctor, figures, report, run, train
from models.errors import KilobenchError

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="kilobench",
    help="Train kilobyte-size classifiers, run them as firmware, and measure them there.",
    # Plain help costs half the start-up time of typer's boxed one, and reads as well in a pager.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (doctor, boards, datasets, train, build, run, report, figures, compare):
    app.command(module.__name__.rpartition(".")[2])(module.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kilobench {version('kilobench')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Train kilobyte-size classifiers, run them as firmware, and measure them there."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The console script."""
    sys.exit(run_line(sys.argv[1:]))


def run_line(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; nothing but a code leaves this function."""
    debug = "--debug" in arguments
    line = [argument for argument in arguments if argument != "--debug"]
    try:
        code = app(args=line, prog_name="kilobench", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except SystemExit:
        # Shell completion, and a reader of stdout that has gone (head, less): neither is an error.
        return 0
    except BrokenPipeError:
        # As above; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        _explain(error, debug)
        return EXIT_ERROR
    if code == EXIT_INTERRUPTED:
        sys.stderr.write("kilobench: stopped.\n")
    return code if isinstance(code, int) else 0


def _explain(error: Exception, debug: bool) -> None:
    """What is wrong and what to do, on stderr."""
    problem, remedy = _sentences(error, debug)
    mark, plain = ("\x1b[1;31m", "\x1b[0m") if _colourful() else ("", "")
    sys.stderr.write(f"{mark}kilobench:{plain} {problem}\n")
    if remedy:
        sys.stderr.write(f"{remedy}\n")


def _sentences(error: Exception, debug: bool) -> tuple[str, str]:
    if isinstance(error, KilobenchError):
        return error.problem, error.remedy
    usage = getattr(error, "format_message", None)  # of any parser's error, typer's own or click's
    if usage is not None:
        said = " ".join(usage().split())
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "kilobench"
        return said if said.endswith((".", "?")) else f"{said}.", f"`{command} --help` lists what it takes."
    what = " ".join(str(error).split())
    return (
        f"Unexpected {type(error).__name__}{': ' if what else ''}{what.rstrip('.')}.",
        "This is a defect of kilobench: report it with the traceback above."
        if debug
        else "This is a defect of kilobench: repeat the command with --debug and report what it prints.",
    )


def _colourful() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ
