"""What a table of results says, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from driftglm.evaluation.tables import best_shown
from peer_fits.process import CUT, UNSETTLED, Result

OURS = "driftglm learned"
HEADER = ("peer", "seconds", "test loss", "nonzeros", "memory, MB", "")
DIGITS = 4
CLOSE = 0.002
"""Losses that differ by less than this share are called equal."""


def cells(results: Sequence[Result]) -> list[list[str]]:
    """A row a peer: figures, or what is there instead of them; a star marks the least loss."""
    losses = [r.loss if r.measured and r.loss is not None else math.nan for r in results]
    marks = best_shown(losses, DIGITS)
    return [[r.peer, *_figures(r, best=bool(m))] for r, m in zip(results, marks, strict=True)]


def markdown(results: Sequence[Result]) -> str:
    """The table of one data set."""
    lines = [f"| {' | '.join(HEADER)} |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for row in cells(results):
        starred = row[2].endswith("*")
        row[2] = f"**{row[2][:-1]}**" if starred else row[2]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def verdict(results: Sequence[Result]) -> str:
    """Who beats the learned prior in loss and in time, and who does not."""
    ours = next((r for r in results if r.peer == OURS and r.measured), None)
    others = [r for r in results if r.measured and not r.peer.startswith("driftglm ")]
    if ours is None or not others or ours.loss is None or ours.seconds is None:
        return "No comparison: the learned prior or all of its peers have no figures."
    gaps = {r.peer: r.loss / ours.loss - 1.0 for r in others if r.loss is not None}
    better = sorted((gap, name) for name, gap in gaps.items() if gap < -CLOSE)
    level = [name for name, gap in gaps.items() if abs(gap) <= CLOSE]
    parts = [f"Loss: the learned prior is behind {_listed(better)}" if better else ""]
    if not better:
        gap, name = min((gap, name) for name, gap in gaps.items())
        parts = [f"Loss: no peer is ahead of the learned prior; the best, {name}, is at {gap:+.1%}"]
    if level:
        parts.append(f"level with it: {', '.join(level)}")
    times = {r.peer: r.seconds for r in others if r.seconds is not None}
    faster = sorted((s, name) for name, s in times.items() if s < ours.seconds)
    quick = ", ".join(f"{name} ({ours.seconds / max(s, 1e-3):.1f}x)" for s, name in faster)
    said = f"Time: slower than {quick}" if faster else "Time: slower than none"
    cut = [r.peer for r in results if r.status == CUT]
    if cut:
        said += f"; not finished at all: {', '.join(cut)}"
    return f"{'; '.join(parts)}. {said}."


def _listed(better: list[tuple[float, str]]) -> str:
    return ", ".join(f"{name} ({gap:+.1%})" for gap, name in better)


def _figures(result: Result, *, best: bool) -> list[str]:
    if not result.measured or result.loss is None or result.seconds is None:
        said = result.note if result.status == CUT else result.status
        reason = "" if result.status == CUT else result.note
        return [said, "", "", "", reason]
    memory = "" if result.memory is None else f"{result.memory / 1e6:.0f}"
    note = result.note
    if result.status == UNSETTLED:
        note = f"{UNSETTLED}; {note}" if note else UNSETTLED
    return [
        f"{result.seconds:.2f}",
        f"{result.loss:.{DIGITS}f}{'*' * best}",
        f"{result.n_nonzero}",
        memory,
        note,
    ]
