"""How many functions and package borders a row passes from `driftglm fit` to the solver.

    python benchmarks/borders.py [--list] [--all] [--package solvers] [--until solve]

A table (weekly volatility) is written to a CSV file and `driftglm fit` is run on it in this process, under
`sys.setprofile`. A package is the first name under driftglm (cli, tables, estimators, ...; a
module that lies there itself, such as `objective`, is one too). Modules are imported before, so
that decorators and class bodies do not count; neither do compiled kernels, where the way ends, nor
lambdas and comprehensions, which belong to the function they are written in. What other threads do
is not seen; the table is small enough to be fitted in one.

The headline, "functions a row passes": distinct functions that are handed rows, in the order of
their first call, from the command line to the first call of a function named `solve` in the
package `solvers`. A function is handed rows if one of its arguments is an array, sparse matrix,
frame or series that has the table's number of rows as one of its dimensions, or holds one (in a
tuple, list, dict or attribute of an object of driftglm, three deep). "Borders" are the changes of
package in that order; what is entered is left again, so that each is passed twice.

This definition is one among many. It was chosen because it comes near to "about 105 functions and
74 borders", figures that were named before without saying how they were counted, and it is to be
used before and after a change alike. Below it stand counts that need fewer choices:

- all functions called until then, whether they are handed rows or not;
- all functions called until `solve` has returned for the first time;
- functions that lie on some stack which leads down to a compiled kernel, until then;
- the stack itself at the first compiled kernel of the package `solvers`: its depth in frames of
  driftglm, and the changes of package along it.

For each of them: functions, distinct pairs (caller, callee) of different packages, and changes of
package in the order of first calls.

--list prints the functions of the headline in order, with a mark at each border; --all prints
all functions until `solve` returns. Where the solver's package or function has another name,
--package and --until say so.
"""

import argparse
import contextlib
import importlib
import inspect
import io
import os
import pkgutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

import driftglm

ROOT = f"{Path(driftglm.__file__).parent}{os.sep}"
DEPTH = 3
MOST = 100
"""Longer lists and dicts are data of another kind, and are not searched for rows."""
TABLES = (np.ndarray, pd.DataFrame, pd.Series, pd.Index, sp.spmatrix, sp.sparray)


def is_kernel(frame):
    """Frames of compiled functions are made up for the profiler, and nothing is above them."""
    return frame.f_back is None


@dataclass(frozen=True)
class Function:
    """One function of driftglm."""

    file: str
    name: str

    @classmethod
    def of(cls, frame):
        """None for what is not driftglm's, or no function with a name."""
        code = frame.f_code
        # Lambdas, comprehensions and generator expressions have a name in brackets.
        if not code.co_filename.startswith(ROOT) or code.co_name.startswith("<"):
            return None
        if not (is_kernel(frame) or code.co_flags & inspect.CO_OPTIMIZED):
            return None  # the body of a class
        return cls(code.co_filename[len(ROOT) :], code.co_qualname)

    @property
    def package(self):
        """The first name under driftglm."""
        return Path(self.file).parts[0].removesuffix(".py")

    def __str__(self):
        return f"{self.package:<12} {self.file}: {self.name}"


@dataclass(frozen=True)
class Call:
    """A call, the functions of driftglm above it (nearest first), and what it was about."""

    function: Function
    above: tuple
    rows: bool


@dataclass
class Record:
    """All calls until `until` in `package` returns for the first time, and when it was called."""

    n_rows: int
    package: str
    until: str
    calls: list = field(default_factory=list)
    kernels: list = field(default_factory=list)
    entered: int | None = None
    done: bool = False

    def __call__(self, frame, event, _):
        """What `sys.setprofile` calls."""
        if self.done or event not in {"call", "return"}:
            return
        function = Function.of(frame)
        if function is None:
            return
        if is_kernel(frame):
            if event == "call":
                self.kernels.append(Call(function, stack_of(sys._getframe(1)), rows=True))  # noqa: SLF001
            return
        ends = function.package == self.package and function.name.split(".")[-1] == self.until
        if event == "return":
            self.done = ends
            return
        if ends and self.entered is None:
            self.entered = len(self.calls)
        given = list(frame.f_locals.values())
        rows = any(holds_rows(value, self.n_rows, DEPTH) for value in given)
        self.calls.append(Call(function, stack_of(frame.f_back), rows))


def stack_of(frame):
    """Functions of driftglm on a stack, nearest first."""
    found = []
    while frame.f_back is not None:
        found.append(Function.of(frame))
        frame = frame.f_back
    return tuple(each for each in found if each is not None)


def holds_rows(value, n_rows, depth):
    """Whether a value is, or has inside, something of one entry a row."""
    if isinstance(value, TABLES):
        return n_rows in value.shape
    if depth == 0:
        return False
    inside = ()
    if isinstance(value, tuple | list) and len(value) <= MOST:
        inside = value
    elif isinstance(value, dict) and len(value) <= MOST:
        inside = value.values()
    elif type(value).__module__.startswith("driftglm"):
        inside = getattr(value, "__dict__", {}).values()
    return any(holds_rows(each, n_rows, depth - 1) for each in list(inside))


def import_all():
    """Import every module of driftglm that can be."""
    for found in pkgutil.walk_packages([ROOT.rstrip(os.sep)], "driftglm."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)


def profiled(package, until):
    """The record of `driftglm fit` on weekly volatility."""
    import_all()
    from driftglm.cli.main import app
    from volatility import SPEC, load_volatility

    frame = load_volatility().frame
    record = Record(len(frame), package, until)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "volatility.csv"
        frame.to_csv(path, index=False)
        words = ["fit", str(path), "--target", SPEC.target, "--time", SPEC.time]
        words += ["--drop", ",".join(SPEC.drop), "-o", str(Path(folder) / "model.drift"), "--quiet"]
        before = sys.getprofile()
        with contextlib.redirect_stdout(io.StringIO()):
            sys.setprofile(record)
            try:
                code = app(words, standalone_mode=False)
            finally:
                sys.setprofile(before)
    if code:
        sys.exit(f"driftglm fit ended with code {code}.")
    if not record.done:
        sys.exit(f"no function {until!r} of driftglm.{package} was called; see --package, --until.")
    return record


def in_order(functions):
    """Distinct functions in the order of their first call."""
    return list(dict.fromkeys(functions))


def changes(functions):
    """Changes of package along a sequence."""
    return sum(one.package != two.package for one, two in pairwise(functions))


def border_pairs(calls):
    """Distinct (caller, callee) of different packages."""
    pairs = {(call.above[0], call.function) for call in calls if call.above}
    return {pair for pair in pairs if pair[0].package != pair[1].package}


def above_kernels(record):
    """The calls on the stacks that lead to kernels, in the order of first calls."""
    some = {}
    for kernel in record.kernels:
        for k, function in enumerate(kernel.above):
            above = kernel.above[k + 1 :]
            some.setdefault((function, above[:1]), Call(function, above, rows=True))
    first = {call.function: number for number, call in reversed(list(enumerate(record.calls)))}
    return sorted(some.values(), key=lambda call: first.get(call.function, -1))


def print_functions(functions):
    """One a line, with a mark where the package changes."""
    before = None
    for number, function in enumerate(functions, 1):
        mark = "-->" if before is not None and function.package != before.package else "   "
        print(f"{number:4d} {mark} {function}")
        before = function


def print_by_package(calls, passed):
    """How many functions and border pairs each package has."""
    every = Counter(each.package for each in in_order(call.function for call in calls))
    rows = Counter(function.package for function in passed)
    pairs = border_pairs(calls)
    out, into = (Counter(pair[side].package for pair in pairs) for side in (0, 1))
    print("\n| package | functions handed rows | all functions | calls out to | calls in from |")
    print("|---|---|---|---|---|")
    for package, count in every.most_common():
        print(f"| {package} | {rows[package]} | {count} | {out[package]} | {into[package]} |")


def main():
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="the functions of the headline")
    parser.add_argument("--all", action="store_true", help="all functions until `solve` returns")
    parser.add_argument("--package", default="solvers", help="where the solver is")
    parser.add_argument("--until", default="solve", help="the solver's function")
    options = parser.parse_args()
    record = profiled(options.package, options.until)
    before, calls = record.calls[: record.entered], record.calls
    passed = in_order(call.function for call in before if call.rows)
    borders = changes(passed)
    print(
        f"From `driftglm fit` to {options.package}.{options.until} a row passes {len(passed)} "
        f"functions and {2 * borders} package borders ({borders} on the way in)."
    )
    print("\n| | functions | pairs across a border | changes of package |\n|---|---|---|---|")
    counts = {
        f"handed rows, until {options.until} is called": [call for call in before if call.rows],
        f"all, until {options.until} is called": before,
        f"handed rows, until {options.until} returns": [call for call in calls if call.rows],
        f"all, until {options.until} returns": calls,
        "on a stack that leads to a kernel": above_kernels(record),
    }
    for name, some in counts.items():
        functions = in_order(call.function for call in some)
        print(f"| {name} | {len(functions)} | {len(border_pairs(some))} | {changes(functions)} |")
    first = next((k for k in record.kernels if k.function.package == options.package), None)
    if first is not None:
        way = [*reversed(first.above), first.function]
        print(
            f"\nStack at the first kernel of {options.package}, {first.function.name}: {len(way)} "
            f"frames, {changes(way)} changes of package: "
            f"{' > '.join(dict.fromkeys(function.package for function in way))}."
        )
    print_by_package(calls, in_order(call.function for call in calls if call.rows))
    if options.list:
        print("\nFunctions a row passes, --> where the package changes:\n")
        print_functions(passed)
    if options.all:
        print(f"\nAll functions until {options.until} returns:\n")
        print_functions(in_order(call.function for call in calls))


if __name__ == "__main__":
    main()
