"""`driftglm text`: the text model over documents with covariates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from driftglm.cli import options as opt
from driftglm.cli.console import fail, print_json, say, say_table, shows_progress, waiting, warn

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from driftglm.datasets import TextCorpus
    from driftglm.estimators import DriftTextModel

app = typer.Typer(
    no_args_is_help=True,
    help="Word shares that depend on what is known about documents, drifting over time.",
)
N_SHOWN = 12


@app.command("fit")
def fit(  # noqa: PLR0913
    source: Annotated[
        Path,
        Argument(
            metavar="SOURCE",
            help="Table with texts (.csv, .jsonl, .parquet), or folder with a table `documents`, "
            "or a table `metadata` and text files.",
        ),
    ],
    *,
    output: Annotated[Path, Option("--output", "-o", metavar="MODEL", help="Model file to write.")],
    effects: Annotated[
        list[str] | None,
        Option(metavar="COLS", help="Covariates; default: all columns but id and date."),
    ] = None,
    freq: Annotated[str, Option(metavar="F", help="Length of a step: Y, Q, M, ...")] = "Y",
    vocabulary: opt.Vocabulary = None,
    date: Annotated[str, Option(metavar="COL", help="Column of dates.")] = "date",
    date_format: opt.DateFormat = None,
    text: Annotated[str, Option(metavar="COL", help="Column of texts.")] = "text",
    key: Annotated[str, Option(metavar="COL", help="Column of keys.")] = "id",
    prior: opt.PriorOption = "learned",
    json: opt.Json = False,
) -> None:
    """Fit a text model to documents with covariates.

    driftglm text fit reports.parquet --effects source,state -o words.drift
    """
    from driftglm.datasets import load_text_panel
    from driftglm.tables.documents import fit_documents
    from driftglm.tables.writing import check_writable

    check_writable(output, inputs=(source,))
    ranks = opt.ranks(vocabulary)
    if not source.exists():
        fail(f"{source} does not exist; check the path.")
    with waiting(f"reading {source.name}"):
        corpus = load_text_panel(source, key=key, date=date, text=text, date_format=date_format)
    model = fit_documents(
        corpus,
        freq=freq,
        effects=opt.names(effects, list(corpus.frame.columns)) or None,
        vocabulary=ranks,
        verbose=shows_progress(),
        prior=prior,
    )
    model.save(output)
    _print(model, corpus, output, as_json=json)


def _print(model: DriftTextModel, corpus: TextCorpus, output: Path, *, as_json: bool) -> None:
    """What was fitted, for people or for scripts."""
    steps = [str(step) for step in model.timesteps_]
    effects = [str(name) for name in model.feature_names_in_]
    n_documents, n_words = len(corpus.frame), len(model.vocabulary_)
    if as_json:
        print_json(
            {
                "documents": n_documents,
                "dropped": corpus.provenance.dropped,
                "steps": steps,
                "effects": effects,
                "words": n_words,
                "converged": model.converged_,
                "model": output,
            }
        )
        return
    for why, number in corpus.provenance.dropped.items():
        if number:
            warn(f"{number} {why} left out.")
    say(
        f"{n_documents} documents, {len(steps)} steps ({steps[0]} to {steps[-1]}), "
        f"{len(effects)} effects, {n_words} words."
    )
    shown = ", ".join(effects[:N_SHOWN])
    say(f"Effects: {shown}{', ...' if len(effects) > N_SHOWN else ''}")
    say(f"Written to {output}; see `driftglm text top-words {output} --effect ...`")


@app.command("top-words")
def top_words(
    model: Annotated[Path, Argument(metavar="MODEL", help="File of `driftglm text fit`.")],
    effect: Annotated[str, Option(metavar="E", help="Name of the effect.")],
    time: Annotated[
        str | None, Option(metavar="T", help="Step; default: the one after the last.")
    ] = None,
    k: Annotated[int, Option("-k", metavar="N", min=1, help="Words each way.")] = 10,
    start: Annotated[
        str | None, Option("--from", metavar="T", help="With --to: words that rose and fell since.")
    ] = None,
    end: Annotated[str | None, Option("--to", metavar="T", help="The later step.")] = None,
    json: opt.Json = False,
) -> None:
    """The words an effect makes most frequent, then those it makes rarest.

    driftglm text top-words words.drift --effect source=press --time 2004

    driftglm text top-words words.drift --effect source=press --from 1980 --to 2020
    """
    from driftglm.estimators import DriftTextModel
    from driftglm.tables.columns import near

    found = opt.load_file(model, DriftTextModel, "text fit")
    known = [str(name) for name in found.feature_names_in_]
    if effect not in known:
        fail(f"there is no effect {effect!r:.60}; {near(effect, known)}")
    if (start is None) != (end is None) or (start is not None and time is not None):
        fail("--from and --to go together, and without --time.")
    if start is not None and end is not None:
        _say_changes(found, effect, (start, end), k, as_json=json)
        return
    step = None if time is None else _step(found.timesteps_, time)
    table = found.top_words(effect, time=step, k=k)
    if json:
        print_json({"effect": effect, "time": time, "words": table.to_dict("records")})
        return
    figures = table[["word", "coef", "inclusion_probability", "share"]].itertuples(index=False)
    rows = [[word, f"{coef:.3f}", f"{p:.2f}", f"{share:.2g}"] for word, coef, p, share in figures]
    if not rows:
        say(f"{effect} makes no word more or less frequent.")
        return
    say_table(["word", "coefficient", "included", "share"], rows, f"words of {effect}")


def _say_changes(
    model: DriftTextModel, effect: str, steps: tuple[str, str], k: int, *, as_json: bool
) -> None:
    """Words that rose and fell from one step to another."""
    start, end = (_step(model.timesteps_, text) for text in steps)
    table = model.word_changes(effect, start, end, k=k)
    if as_json:
        print_json(
            {"effect": effect, "from": steps[0], "to": steps[1], "words": table.to_dict("records")}
        )
        return
    figures = table[["word", "change", "coef_start", "coef_end"]].itertuples(index=False)
    rows = [[word, *(f"{value:.3f}" for value in values)] for word, *values in figures]
    if not rows:
        say(f"No word rose or fell for {effect} from {steps[0]} to {steps[1]}.")
        return
    title = f"words of {effect}, {steps[0]} to {steps[1]}"
    say_table(["word", "change", steps[0], steps[1]], rows, title)


def _step(steps: np.ndarray | pd.PeriodIndex, text: str) -> pd.Period | int:
    """The step that was typed, or that holds the year or date that was."""
    import pandas as pd

    try:
        if not isinstance(steps, pd.PeriodIndex):
            length = int(steps[1] - steps[0]) if len(steps) > 1 else 1
            return int(text) - (int(text) - int(steps[0])) % length
        unit = steps.freqstr.lstrip("0123456789")
        length = getattr(steps.freq, "n", 1)
        typed = pd.Period(text, freq=unit)
        # A step of ten years holds all of them, not only its first.
        ahead = (typed.ordinal - steps[0].ordinal) // length
        return steps[0] + int(ahead)
    except ValueError:
        fail(f"--time {text!r:.40} is no step; steps run from {steps[0]} to {steps[-1]}.")
