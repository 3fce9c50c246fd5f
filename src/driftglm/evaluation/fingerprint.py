"""Short names for data and settings, such that different ones never share a name."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import sys
from collections.abc import Collection
from importlib import metadata
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import driftglm
from driftglm._typing import MatrixLike
from driftglm.exceptions import DataError

LIBRARIES = ("driftglm", "numpy", "scipy", "scikit-learn", "numba", "pandas")


def digest(*parts: object) -> str:
    """Hash of settings: estimators, functions, arrays and plain values."""
    text = json.dumps([describe(part) for part in parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def describe(value: object) -> Any:
    """Plain content that tells any two settings apart; DataError where that is impossible."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | np.number | np.bool_):
        # repr tells 1 from 1.0 and keeps every digit.
        return [type(value).__name__, repr(value)]
    if isinstance(value, np.ndarray | pd.Series | pd.Index | pd.DataFrame) or sp.issparse(value):
        return ["array", data_digest(value)]
    if isinstance(value, dict | set | frozenset | list | tuple | range):
        return _describe_container(value)
    return _describe_object(value)


def _describe_container(value: Collection[object]) -> list[Any]:
    if isinstance(value, dict):
        # Parameters come back from files in another order; the order says nothing.
        items = ([describe(key), describe(item)] for key, item in value.items())
        return ["dict", sorted(items, key=json.dumps)]
    if isinstance(value, set | frozenset):
        return ["set", sorted(json.dumps(describe(item)) for item in value)]
    return [type(value).__name__, [describe(item) for item in value]]


def _describe_object(value: object) -> list[Any]:
    kind = _kind(value if isinstance(value, type) else type(value))
    if isinstance(value, type):
        return ["class", *kind]
    if isinstance(value, BaseEstimator):
        params = value.get_params(deep=False)
        return ["estimator", *kind, {name: describe(params[name]) for name in sorted(params)}]
    if isinstance(value, functools.partial):
        return ["partial", describe(value.func), describe(value.args), describe(value.keywords)]
    # Methods and compiled functions have a code too.
    if isinstance(getattr(value, "__code__", None), CodeType):
        return _describe_function(value)
    if isinstance(value, np.ufunc):
        return ["ufunc", value.__name__]
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return ["dataclass", *kind, {name: describe(item) for name, item in fields.items()}]
    raise DataError(
        f"a model has the setting {value!r} of type {type(value).__name__}, which has no content "
        "to name a cached result by; use a number, string, array, function or estimator, or "
        "compare without cache_dir."
    )


def _kind(cls: type) -> list[str]:
    """Name of a class, its source and the version of its package, where there are such."""
    try:
        source = hashlib.sha256(inspect.getsource(cls).encode()).hexdigest()
    except (OSError, TypeError):
        source = ""
    package = sys.modules.get(cls.__module__.partition(".")[0])
    version = str(getattr(package, "__version__", ""))
    return [f"{cls.__module__}.{cls.__qualname__}", source, version]


def _describe_function(function: Any) -> list[Any]:
    """What a function does, and the values it carries along."""
    carried = [function.__defaults__, function.__kwdefaults__]
    carried += [cell.cell_contents for cell in function.__closure__ or ()]
    name = [function.__module__, function.__qualname__]
    return ["function", *name, _code(function.__code__), [describe(value) for value in carried]]


def _code(code: CodeType) -> str:
    """Hash of what a function does; nested functions included."""
    parts = [code.co_code.hex(), repr(code.co_names)]
    constants = (
        _code(c) if isinstance(c, CodeType) else json.dumps(describe(c))
        for c in code.co_consts
        if c is not Ellipsis and not isinstance(c, bytes | complex)
    )
    return hashlib.sha256("\0".join([*parts, *constants]).encode()).hexdigest()


def data_digest(data: Any) -> str:
    """Hash of an array, sparse matrix, frame or list, its types and shape included."""
    found = hashlib.sha256()
    sparse: bool = sp.issparse(data)  # a plain bool narrows no type
    if data is None:
        found.update(b"none")
    elif sparse:
        matrix = sp.csr_array(data)
        found.update(f"sparse {matrix.shape} {matrix.dtype}".encode())
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        for part in (matrix.indptr, matrix.indices):
            # The same matrix may carry 32 or 64 bit indices.
            found.update(np.ascontiguousarray(part, dtype=np.int64).tobytes())
        found.update(np.ascontiguousarray(matrix.data).tobytes())
    elif hasattr(data, "columns"):
        found.update(f"frame {[str(name) for name in data.columns]}".encode())
        for name in data.columns:
            found.update(data_digest(data[name]).encode())
    else:
        _update_array(found, data)
    return found.hexdigest()


def _update_array(found: hashlib._Hash, data: MatrixLike) -> None:
    dtype = str(getattr(data, "dtype", "list"))
    array = np.asarray(data)
    found.update(f"array {dtype} {array.shape}".encode())
    if array.dtype.kind in "OUST":
        for item in array.ravel():
            text = str(item).encode()
            # The length keeps ["ab", "c"] apart from ["a", "bc"], the type 1 from "1".
            found.update(f"{type(item).__name__} {len(text)} ".encode())
            found.update(text)
    else:
        found.update(np.ascontiguousarray(array).tobytes())


@functools.cache
def library_fingerprint() -> str:
    """Versions of what computes, and driftglm's own source, which may change within a version."""
    found = hashlib.sha256()
    for name in LIBRARIES:
        found.update(f"{name} {_version(name)}\n".encode())
    root = Path(driftglm.__file__).parent
    for path in sorted(root.rglob("*.py")):
        found.update(str(path.relative_to(root)).encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"
