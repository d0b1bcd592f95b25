"""What all commands share: errors as one line, exit codes, --debug and --version, a session of a run."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

import benchfill
from benchfill.commands.engine_options import HERE, Where
from benchfill.errors import BenchfillError, InputError

if TYPE_CHECKING:
    from benchfill.memory.runs import RunFolder
    from benchfill.settings import Settings

__all__ = ["main_callback", "run_app", "work_on"]

NOT_FILLED = 4
_debug = False


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"benchfill {benchfill.__version__}")
        raise typer.Exit


def main_callback(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of errors.", envvar="BENCHFILL_DEBUG")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    global _debug
    _debug = debug


def run_app(app: typer.Typer) -> NoReturn:
    """Run the command line; every error is one line on stderr and its exit code."""
    try:
        code = app(standalone_mode=False)
    except BenchfillError as error:
        if _debug:
            raise
        _say(f"Error: {error}")
        code = error.exit_code
    except typer.Exit as left:
        code = left.exit_code
    except typer.TyperException as error:
        # An unknown flag or a value of the wrong type: typer says it with the usage line.
        show = getattr(error, "show", None)
        show() if show is not None else _say(f"Error: {error}")
        code = InputError.exit_code
    except typer.Abort:
        code = 130
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # The reader of our output has gone, e.g. `benchfill runs | head -1`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except OSError as error:
        if _debug:
            raise
        _say(f"Error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
        code = 1
    except Exception as error:
        code = _unexpected(error)
    sys.exit(code if isinstance(code, int) else 0)


def _unexpected(error: Exception) -> int:
    if _debug:
        raise error
    _say(f"Error: unexpected {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    _say("This is a fault of BenchFill. Run again with --debug before the command to see where.")
    return 1


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def work_on(
    folder: RunFolder,
    today: Settings,
    *,
    as_json: bool,
    changes: Mapping[str, Mapping[str, Any]] | None = None,
    where: Where = HERE,
) -> NoReturn:
    """Drive a run to its end in this terminal, and leave with its exit code.

    Parameters
    ----------
    changes
        Settings of the run that this session changes for good.
    where
        The engine for gaps that are searched at the same time.
    """
    from benchfill.commands.engine_options import engine_of
    from benchfill.display.run import make_display
    from benchfill.graph.session import run_to_end
    from benchfill.graph.stopping import Interrupted
    from benchfill.settings import benchfill_home

    mode: Literal["auto", "json"] = "json" if as_json else "auto"
    # As long as an engine works, what others print goes to stderr.
    stdout = sys.stdout
    with (
        folder.lock(),
        engine_of(where, folder) as engine,
        make_display(mode, stdout=stdout, stderr=sys.stderr) as display,
    ):

        def emit(event: str, /, **fields: object) -> None:
            display({"event": event, **fields})

        try:
            ledger = benchfill_home() / "ledger.sqlite"
            summary = asyncio.run(
                run_to_end(folder, ledger, emit, today=today, changes=changes, engine=engine)
            )
        except Interrupted as stop:
            emit("interrupted", signal=stop.signum, resume=f"benchfill resume {folder.name}")
            code = 128 + stop.signum
        else:
            filled = all(gap["status"] == "filled" for gap in summary["gaps"])
            code = 0 if filled else NOT_FILLED
    if code > 128:
        sys.stdout.flush()
        sys.stderr.flush()
        # A fit in a thread would be waited for otherwise; everything that counts is on disk.
        os._exit(code)
    raise typer.Exit(code)
