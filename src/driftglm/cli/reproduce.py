"""`driftglm reproduce`: the paper's two experiments on corpora the user has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Option

from driftglm.cli import console
from driftglm.cli import options as opt

if TYPE_CHECKING:
    from driftglm.experiments import Settings

app = typer.Typer(
    help="Run the paper's two experiments on corpora you have; the paper's figures stand beside.",
    no_args_is_help=True,
)

ABOUT = {
    "forecasting": "Volatility after annual reports, from their words: the 10-K corpus of Kogan et "
    "al. (2009).",
    "text": "Words of Federal Reserve documents and annual reports, from source, place and "
    "economy.",
}


class Choices(NamedTuple):
    """What may be chosen about an experiment, as typed."""

    models: Annotated[
        str | None,
        Option(
            help="Of ridge-one, ridge-all, ridge-ts, lasso-one, lasso-all, exact, variational, "
            "learned, and of forecasting also paper and forecast; all by default (the last two "
            "where words are counted already)."
        ),
    ] = None
    dev: Annotated[int | None, Option(help="Year to tune baselines on.")] = None
    test: Annotated[str | None, Option(help="Test years, such as 2003,2004 or 2003-2005.")] = None
    years: Annotated[str | None, Option(help="Years to read, such as 1996-2005.")] = None
    ranks: Annotated[
        str | None, Option(help="Frequency ranks of the words, such as 101-10101.")
    ] = None
    vocabulary: Annotated[
        str, Option(help="Rank words in 'all' documents, in 'training' documents, or 'both'.")
    ] = "both"

    def settings(self) -> Settings:
        """The settings of the experiment; what is not chosen is the paper's."""
        from driftglm.experiments import Settings

        given: dict[str, Any] = {"dev": self.dev, "vocabulary": self.vocabulary}
        if self.models is not None:
            given["models"] = opt.names([self.models])
        if self.test is not None:
            given["test"] = _numbers(self.test, "--test")
        for name in ("years", "ranks"):
            if getattr(self, name) is not None:
                given[name] = _range(getattr(self, name), f"--{name}")
        return Settings(**given)


def _add_command(name: str) -> None:
    """Both commands have the same options."""

    @app.command(name, help=ABOUT[name])
    @opt.flattened
    def command(
        *,
        corpus: Annotated[Path, Option(help="Folder of the corpus.")],
        out: Annotated[
            Path | None,
            Option(
                "--out",
                "-o",
                help="Folder for results, where a killed run goes on; default: reproduce- and the "
                "name.",
            ),
        ] = None,
        choices: Choices,
        jobs: opt.Jobs = 1,
        json: opt.Json = False,
    ) -> None:
        from driftglm import experiments
        from driftglm.experiments.pages import text_page

        folder, settings = out or Path(f"reproduce-{name}"), choices.settings()
        run, verbose = getattr(experiments, f"reproduce_{name}"), console.shows_progress()
        result = run(corpus, out=folder, settings=settings, n_jobs=jobs, verbose=verbose)
        if json:
            console.print_json(result.to_dict())
        else:
            console.say("\n".join(map(console.printable, text_page(result).splitlines())))
        pages = [f"{name}.txt", f"{name}.json", *([result.report.name] if result.report else [])]
        console.note(f"written to {folder}: {', '.join(pages)}")


for _name in ABOUT:
    _add_command(_name)


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
