"""Pages of the commands, made of what `--help` knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sitetools.pages import heading, write_pages

FOLDER = Path(__file__).resolve().parents[1] / "commands"


def all_commands() -> dict[str, Any]:
    """Every command by its words, groups left out: {"text fit": command}."""
    import typer

    from driftglm.cli.main import app

    return dict(_leaves(typer.main.get_command(app), ()))


def _leaves(command: Any, words: tuple[str, ...]) -> Any:
    if not hasattr(command, "commands"):
        yield " ".join(words), command
        return
    for name, inner in command.commands.items():
        yield from _leaves(inner, (*words, name))


def _plain(text: str) -> str:
    """Help in one paragraph, as reStructuredText: Rich's marks are gone, code stays code."""
    text = re.sub(r"\[/?[a-z ]+\]", "", " ".join(text.split()))
    text = text.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")
    return re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)


def _option(parameter: Any) -> str:
    names = ", ".join(f"``{name}``" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        names = f"``{parameter.metavar or parameter.name.upper()}``"
    facts = ["required"] if parameter.required else []
    if parameter.default not in (None, False, ()) and not callable(parameter.default):
        facts.append(f"default ``{parameter.default}``")
    said = _plain(getattr(parameter, "help", None) or "") or "\\-"
    return f"   * - {names}\n     - {said}{' (' + ', '.join(facts) + ')' if facts else ''}"


def command_page(words: str, command: Any) -> str:
    """The page of one command: what it does, then its arguments and options."""
    said = (command.help or "").split("\n\n")
    rows = [_option(each) for each in command.params if not getattr(each, "hidden", False)]
    lines = [
        heading(f"driftglm {words}"),
        "\n\n".join(_plain(part) for part in said),
        "",
        ".. list-table::\n   :widths: 30 70\n",
        *rows,
        "",
    ]
    return "\n".join(lines)


def all_pages() -> dict[str, str]:
    """Every page by the name of its file, and a list of them."""
    commands = all_commands()
    pages = {
        f"{words.replace(' ', '-')}.rst": command_page(words, each)
        for words, each in commands.items()
    }
    toc = "\n".join(f"   {name[:-4]}" for name in pages)
    pages["index.rst"] = (
        heading("Commands")
        + "\nWhat ``driftglm COMMAND --help`` says, on pages. The guide with examples is\n"
        + ":doc:`/command-line`.\n\n.. toctree::\n   :maxdepth: 1\n\n"
        + toc
        + "\n"
    )
    return pages


def _on_start(app: Any) -> None:
    write_pages(FOLDER, all_pages())


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("builder-inited", _on_start, priority=100)
    return {"parallel_read_safe": True}
