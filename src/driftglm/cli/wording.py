"""Advice in the words of the command that is running: options, where it has them."""

from __future__ import annotations

import re

RULES: tuple[tuple[str, str, str], ...] = (
    ("--family", r"\bfamily='([\w-]+)'", r"--family \1"),
    ("--family", r"successes out of trials '([\w-]+)'", r"successes out of trials --family \1"),
    ("--prior", r"\bprior='([\w-]+)'", r"--prior \1"),
    ("--seasonality", r"\bpass seasonality=(\d+)", r"pass --seasonality \1"),
    ("--seasonality", r"\bseasonality=(\d+)", r"--seasonality \1"),
    ("--seasonality", r"\bseasonality=None", "--seasonality none"),
    ("--exposure", r"an exposure that was not passed", "an exposure (--exposure)"),
    ("--static", r"name them in static=", "name them in --static"),
    ("--overwrite", r"overwrite=True \(--overwrite\)", "--overwrite"),
    ("--trials", r"\(trials=\)", "(--trials)"),
    ("--json", r" See `note` in summary\(\)\.", " With --json every feature has its `note`."),
)
"""An option, how a message names what it sets in Python, and how it is said here."""
PYTHON_ALONE: tuple[tuple[str, str], ...] = (
    (r"\(DriftRegressor\(errors='student'\)\)", "(in Python, DriftRegressor(errors='student'))"),
    (r"\bnoise='drift' \(the learned prior\)", "in Python noise='drift' (the learned prior)"),
    (r"\braise max_iter or tol\b", "in Python, raise max_iter or tol"),
    (r"\bPass a smaller tol to go on", "In Python, pass a smaller tol to go on"),
    (r" See `note` in summary\(\)\.", ""),
)
"""What no command has an option for."""


def in_options(message: object, known: frozenset[str]) -> str:
    """A message whose advice names options of a command, those that are `known`."""
    text = str(message)
    for option, said, instead in RULES:
        if option in known:
            text = re.sub(said, instead, text)
    for said, instead in PYTHON_ALONE:
        text = re.sub(said, instead, text)
    return text
