"""The command itself: what its commands share, and how it ends when something goes wrong."""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from driftglm.cli.console import BAD_INPUT, FAILED, INTERRUPTED, SETTINGS, advice, one_line, warn
from driftglm.exceptions import DriftError

ANYWHERE = {"--debug": "debug", "--quiet": "quiet", "-q": "quiet"}
USERS_FAULT = (DriftError, FileNotFoundError, PermissionError, IsADirectoryError, FileExistsError)


class BrokenCommandError(Exception):
    """The module of a command cannot be imported."""


class Commands(TyperGroup):
    """All commands; errors become one line on stderr and an exit code."""

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> int:
        """Run a command; --debug and --quiet may stand anywhere."""
        given = list(sys.argv[1:] if args is None else args)
        for name in ("debug", "quiet"):
            setattr(SETTINGS, name, any(ANYWHERE.get(word) == name for word in given))
        given = [word for word in given if word not in ANYWHERE]
        SETTINGS.options = _options(self, given)
        try:
            returned = super().main(given, prog_name or "driftglm", standalone_mode=False, **extra)
            code = returned if isinstance(returned, int) else 0
        except SystemExit as ended:
            # Click puts this wrapper in place when a pipe is closed while help is printed.
            closed = type(sys.stdout).__name__ == "PacifyFlushWrapper"
            code = 0 if closed else int(ended.code or 0)
        except BaseException as error:  # noqa: BLE001 (every error ends here)
            code = _report(error)
        if code == INTERRUPTED:
            sys.stderr.write("interrupted\n")
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run the command; a reader that has gone away, as in `| head`, is no error."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default" if SETTINGS.debug else "ignore")
                warnings.simplefilter("default", UserWarning)
                warnings.showwarning = lambda message, *_, **__: warn(message)
                returned = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # What is still buffered must not be written when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        return returned


def _options(group: TyperGroup, words: Sequence[str]) -> frozenset[str]:
    """Options of the command that some words call."""
    command: Any = group
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return frozenset(name for each in command.params for name in each.opts)


def _report(error: BaseException) -> int:
    """Say what went wrong in one line; the exit code."""
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED
    if type(error).__name__ == "NoArgsIsHelpError":  # without arguments: its whole help
        sys.stderr.write(f"{error.format_message()}\n")  # type: ignore[attr-defined]
        return BAD_INPUT
    if SETTINGS.debug:
        traceback.print_exception(error)
    code, message = _described(error)
    sys.stderr.write(f"error: {advice(message)}\n")
    return code


def _described(error: BaseException) -> tuple[int, str]:
    if callable(getattr(error, "format_message", None)):  # bad usage, as Typer found it
        path = getattr(getattr(error, "ctx", None), "command_path", None) or "driftglm"
        said = one_line(error.format_message()).rstrip(".")  # type: ignore[attr-defined]
        end = "" if said.endswith("?") else "."
        return int(getattr(error, "exit_code", BAD_INPUT)), f"{said}{end} See {path} --help."
    code = BAD_INPUT if isinstance(error, USERS_FAULT) else FAILED
    if isinstance(error, OSError) and error.filename is not None:
        return code, f"{error.filename}: {error.strerror}."
    if isinstance(error, (BrokenCommandError, *USERS_FAULT)):
        return code, str(error)
    if isinstance(error, MemoryError):
        return FAILED, "there is not enough memory; use fewer rows or columns."
    hint = "" if SETTINGS.debug else " (--debug shows where)"
    return FAILED, f"the run failed: {type(error).__name__}: {error}{hint}"


app = typer.Typer(
    cls=Commands,
    name="driftglm",
    help="Linear models whose coefficients drift over time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Boxes and colours are for terminals only.
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    epilog="--quiet and --debug may also stand after the command.",
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        sys.stdout.write(f"driftglm {version('driftglm')}\n")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    quiet: Annotated[
        bool, Option("--quiet", "-q", help="Print errors, warnings and --json only.")
    ] = False,
    debug: Annotated[bool, Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Fit, compare and report models whose coefficients drift over time."""
    # Read by `Commands.main`; named here for the help page.
    del show_version, quiet, debug


# Name of a command, and of a module in this package whose `command` or `app` it is.
COMMANDS = ("demo", "fit", "predict", "compare", "check", "report", "shard")
GROUPS = ("text", "reproduce")


def _register() -> None:
    for name in (*COMMANDS, *GROUPS):
        try:
            module = import_module(f"driftglm.cli.{name}")
        except Exception as error:  # noqa: BLE001 (whatever it is, the other commands work)
            _register_broken(name, error)
            continue
        if name in GROUPS:
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(module.command)


def _register_broken(name: str, why: Exception) -> None:
    """A command in the place of one that cannot be loaded: it says so, whatever it is asked."""
    anything = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}

    @app.command(name, help="Cannot be loaded.", context_settings=anything)
    def broken() -> None:
        raise BrokenCommandError(
            f"the command {name!r} cannot be loaded ({type(why).__name__}: {why}); driftglm or a "
            "package it needs is damaged. Install it again."
        ) from why


_register()


def prepared() -> Callable[[], None]:
    """The script `driftglm`, all of whose commands are made and only have to be called."""
    for stream in (sys.stdout, sys.stderr):
        # A letter the terminal does not know must not end a run whose work is done.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return partial(typer.main.get_command(app), prog_name="driftglm")
