"""`driftglm reproduce`: the paper's two experiments on corpora the user has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from driftglm.cli import console
from driftglm.cli import options as opt

if TYPE_CHECKING:
    from driftglm.experiments import Settings

app = typer.Typer(
    help="Run the paper's two experiments on corpora you have; the paper's figures stand beside.",
    no_args_is_help=True,
)

Corpus = Annotated[Path, typer.Option("--corpus", help="Folder of the corpus.")]
Models = Annotated[
    str | None,
    typer.Option(
        "--models",
        help="Of ridge-one, ridge-all, ridge-ts, lasso-one, lasso-all, exact, variational and "
        "learned, separated by commas; all by default.",
    ),
]
Dev = Annotated[int | None, typer.Option("--dev", help="Year to tune baselines on.")]
Test = Annotated[
    str | None, typer.Option("--test", help="Test years, such as 2003,2004 or 2003-2005.")
]
Years = Annotated[str | None, typer.Option("--years", help="Years to read, such as 1996-2005.")]
Ranks = Annotated[
    str | None, typer.Option("--ranks", help="Frequency ranks of the words, such as 101-10101.")
]
Vocabulary = Annotated[
    str,
    typer.Option(
        "--vocabulary", help="Rank words in 'all' documents, in 'training' documents, or 'both'."
    ),
]


Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder for results, where a killed run goes on; default: reproduce- and the name.",
    ),
]
ABOUT = {
    "forecasting": "Volatility after annual reports, from their words: the 10-K corpus of Kogan et "
    "al. (2009).",
    "text": "Words of Federal Reserve documents and annual reports, from source, place and "
    "economy.",
}


def _add_command(name: str) -> None:
    """Both commands have the same options."""

    def command(  # noqa: PLR0913
        *,
        corpus: Corpus,
        out: Out = None,
        models: Models = None,
        dev: Dev = None,
        test: Test = None,
        years: Years = None,
        ranks: Ranks = None,
        vocabulary: Vocabulary = "both",
        jobs: opt.Jobs = 1,
        json: opt.Json = False,
    ) -> None:
        choices = _Choices(models, dev, test, years, ranks, vocabulary)
        folder = out or Path(f"reproduce-{name}")
        _reproduce(name, corpus, folder, choices, jobs=jobs, as_json=json)

    app.command(name, help=ABOUT[name])(command)


for _name in ABOUT:
    _add_command(_name)


class _Choices(NamedTuple):
    """Options as typed."""

    models: str | None
    dev: int | None
    test: str | None
    years: str | None
    ranks: str | None
    vocabulary: str


def _reproduce(
    name: str, corpus: Path, out: Path, choices: _Choices, *, jobs: int, as_json: bool
) -> None:
    """Run an experiment and print what it found."""
    from driftglm import experiments
    from driftglm.experiments.pages import text_page

    run = getattr(experiments, f"reproduce_{name}")
    settings = _settings(choices)
    result = run(corpus, out=out, settings=settings, n_jobs=jobs, verbose=console.shows_progress())
    if as_json:
        console.print_json(result.to_dict())
    else:
        console.say("\n".join(map(_printable, text_page(result).splitlines())))
    written = [f"{name}.txt", f"{name}.json", *([result.report.name] if result.report else [])]
    console.note(f"written to {out}: {', '.join(written)}")


def _printable(line: str) -> str:
    """A line without anything that moves a terminal's cursor; blanks stay, they align columns."""
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def _settings(choices: _Choices) -> Settings:
    from driftglm.experiments import Settings

    given: dict[str, Any] = {"dev": choices.dev, "vocabulary": choices.vocabulary}
    if choices.models is not None:
        names = [name.strip() for name in choices.models.split(",")]
        given["models"] = tuple(name for name in names if name)
    if choices.test is not None:
        given["test"] = _numbers(choices.test, "--test")
    for name in ("years", "ranks"):
        asked = getattr(choices, name)
        if asked is not None:
            given[name] = _range(asked, f"--{name}")
    return Settings(**given)


def _numbers(text: str, option: str) -> tuple[int, ...]:
    """2003,2004 or 2003-2005, or both mixed."""
    found: list[int] = []
    for part in text.split(","):
        first, last = _range(part, option)
        if last - first > 1000:  # noqa: PLR2004 (a slip, not a thousand years)
            console.fail(f"{option} {text} is too long; name years such as 2003-2005.")
        found += range(first, last + 1)
    return tuple(sorted(set(found)))


def _range(text: str, option: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:[-:]\s*(\d{1,9})\s*)?", text, flags=re.ASCII)
    if not match:
        console.fail(
            f"{option} got {text!r:.40}; whole numbers and ranges such as 2003-2005 are allowed."
        )
    return int(match[1]), int(match[2] or match[1])
