"""One place that decides how kernels are compiled, and where their machine code is stored."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import stat
import sys
import tempfile
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

config: Any = numba.config
FOLDER, MARK = "driftglm-kernels-", b"@kernel"
PACKAGE = "driftglm"
JUST_NOW = 300.0
"""Seconds for which what one process says of compiling holds for all."""
_announced = False

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of plain arrays and scalars; the machine code is cached on disk.

    Kernels let other threads run beside them. Those that receive or close over other jitted
    *objects* miss the cache in every new process, so they take arrays only. Calling another
    module-level kernel is fine.
    """
    home = cache_home()
    with _stored_in(_folder(home)):
        compiled = numba.njit(cache=home is not None, error_model="numpy", nogil=True)(function)
    return cast("Function", compiled)


@cache
def cache_home() -> str | None:
    """Where machine code is stored: "" for beside the source, a folder, or None for nowhere.

    Beside the source if that can be written to, else the user's own cache, else a folder of the
    user's in the system's temporary one. What is stored there is run, so a folder that somebody
    else could write to will not do.
    """
    if config.CACHE_DIR or os.access(Path(__file__).parent, os.W_OK):
        return ""
    for folder in _other_homes():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if _is_ours(folder):
            return str(folder)
    return None


@cache
def _folder(home: str | None) -> str | None:
    """The folder for the kernels as they are now.

    The compiler looks whether a kernel's own file has changed, not those of the kernels it calls:
    after an update old machine code would be run beside new. So each version has its own folder;
    beside the source earlier ones are removed.
    """
    if home is None:
        return None
    package = Path(__file__).parent
    name = f"{FOLDER}{_version(package)}"
    if home or config.CACHE_DIR:
        return str(Path(home or config.CACHE_DIR) / name)
    beside = package / "__pycache__"
    if not (beside / name).exists():
        for earlier in beside.glob(f"{FOLDER}*"):
            shutil.rmtree(earlier, ignore_errors=True)
    return str(beside / name)


def _version(package: Path) -> str:
    """A digest of all files that have kernels."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        if MARK in text:
            digest.update(text)
    return digest.hexdigest()[:16]


def _other_homes() -> Iterator[Path]:
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        yield Path(given) / "driftglm"
    with suppress(RuntimeError):  # neither HOME nor an entry in the user database
        yield Path.home() / ".cache" / "driftglm"
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    yield Path(tempfile.gettempdir()) / f"driftglm-{user}"


def _is_ours(folder: Path) -> bool:
    """A real folder that we can write to and nobody else can."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or not os.access(folder, os.W_OK | os.X_OK):
        return False
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@contextmanager
def _stored_in(home: str | None) -> Iterator[None]:
    """Functions compiled in this context have their cache there; others keep their own place."""
    before = config.CACHE_DIR
    if home:
        config.CACHE_DIR = home
    try:
        yield
    finally:
        config.CACHE_DIR = before


class _Announcer(event.Listener):
    """Says that kernels are being compiled when the first one is: not where all are on disk."""

    def on_start(self, event: event.Event) -> None:
        """The compiler has begun with a function, anybody's."""
        global _announced  # noqa: PLW0603
        function = getattr(event.data["dispatcher"], "py_func", None)
        if _announced or getattr(function, "__module__", "").partition(".")[0] != PACKAGE:
            return
        _announced = True
        if not _said_by_another_process():
            sys.stderr.write(f"driftglm: {_what_compiling_takes()}\n")
            sys.stderr.flush()

    def on_end(self, event: event.Event) -> None:
        """Nothing is said at the end."""


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


def _what_compiling_takes() -> str:
    home, folder = cache_home(), _folder(cache_home())
    if home is None:
        return (
            "compiling its kernels, which takes a minute; no folder was found to keep them in (set "
            "NUMBA_CACHE_DIR to one), so this happens in every process."
        )
    if any(Path(str(folder)).rglob("*.nbi")):
        return "compiling kernels that were not needed before, once; this takes a moment."
    return "compiling its kernels; this happens once and takes a minute."


def _said_by_another_process() -> bool:
    """Whether a process has said so just now: workers come to the same kernels at the same time."""
    folder = _folder(cache_home())
    if folder is None:
        return multiprocessing.parent_process() is not None
    mark = Path(folder) / "compiling"
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        if mark.exists() and clock.time() - mark.stat().st_mtime > JUST_NOW:
            mark.unlink(missing_ok=True)
        mark.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return True
    except OSError:
        return False
    return False
