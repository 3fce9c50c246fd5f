"""Objects become JSON and arrays.

JSON's own values stand for themselves, a list for a list; everything else is an object of one key,
which says what it is.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from driftglm.exceptions import DataError
from driftglm.registry import estimators, is_listed, records, stored_name

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
SPARSE = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
TYPES = {"float": float, "int": int, "bool": bool}
INDEX_TYPES = {"object", "str", "string", "int64", "float64", "bool"}
ROUTING = "_metadata_request"
"""Where scikit-learn keeps what `set_fit_request` and the like were given."""
FEW = 16
INTEGERS = np.iinfo(np.int64)


class Encoder:
    """Turns values into JSON; `arrays` collects what is stored beside it."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._seen: dict[int, tuple[str, np.ndarray]] = {}
        self._plain: dict[type, Callable[[Any, str], Json]] = {
            np.ndarray: self._ndarray,
            np.memmap: self._ndarray,
            list: self._list,
            tuple: lambda value, where: {"tuple": self._items(value, where)},
            dict: lambda value, where: {"dict": self._mapping(value, where)},
            Counter: lambda value, where: {"counter": self._mapping(value, where)},
            range: lambda value, _: {"range": [value.start, value.stop, value.step]},
            bytes: lambda value, _: {"bytes": self._array(np.frombuffer(value, np.uint8))},
            pd.PeriodIndex: lambda value, _: {
                "periods": [self._array(np.asarray(value.asi8)), value.freqstr]
            },
            pd.Period: lambda value, _: {"period": [value.ordinal, value.freqstr]},
            pd.Series: self._series,
            pd.Categorical: self._categorical,
        }

    def value(self, value: Any, where: str) -> Json:
        """JSON of a value; `where` is what an error calls it."""
        kind = type(value)
        if value is None or kind in {bool, str, int} or (kind is float and math.isfinite(value)):
            plain: Json = value
            return plain
        if kind is float:
            return {"float": repr(value)}
        return (self._plain.get(kind) or self._maker(value))(value, where)

    def _maker(self, value: object) -> Callable[[Any, str], Json]:
        """What to do with a value of a whole family of classes."""
        kind = type(value)
        if isinstance(value, np.generic) and not isinstance(value, np.void | np.object_):
            return lambda scalar, _: {"scalar": self._array(np.array(scalar))}
        if isinstance(value, pd.Index):
            return self._index
        if kind.__name__ in SPARSE and sp.issparse(value):
            return self._sparse
        if is_listed(records(), kind):
            return self._record
        return self._estimator if is_listed(estimators(), kind) else self._type

    # ------------------------------------------------------------------ objects

    def _record(self, value: Any, where: str) -> Json:
        name = stored_name(type(value))
        fields = {
            field.name: self.value(getattr(value, field.name), f"{where}.{field.name}")
            for field in dataclasses.fields(value)
            if field.init
        }
        return {"record": [name, fields]}

    def _estimator(self, model: BaseEstimator, _: str) -> Json:
        name = type(model).__name__
        given = model.get_params(deep=False)
        params = {key: self.value(value, f"{name}.{key}") for key, value in given.items()}
        state = {
            key: self.value(value, f"{name}.{key}")
            for key, value in vars(model).items()
            if key not in given and key != ROUTING
        }
        requests: dict[str, Json] = {}
        if (routing := vars(model).get(ROUTING)) is not None:
            # Methods that request nothing have no entry in the description of a request.
            for method, asked in vars(routing).items():
                wishes = {k: v for k, v in getattr(asked, "requests", {}).items() if v is not None}
                if wishes:
                    requests[method] = wishes
        return {"estimator": [name, params, state, requests]}

    def _type(self, value: object, where: str) -> Json:
        """Types of numbers, which `RankedVocabulary` takes; anything else is refused."""
        if isinstance(value, np.dtype) and not value.hasobject:
            return {"dtype": value.str}
        if isinstance(value, type) and value in TYPES.values():
            return {"type": value.__name__}
        if isinstance(value, type) and issubclass(value, np.number | np.bool_):
            return {"numpy": np.dtype(value).str}
        parameter = where.rpartition(".")[2]
        shown = f"{type(value).__module__}.{type(value).__qualname__}"
        advice = f"set it to something plain, set_params({parameter}=...), or use pickle"
        if isinstance(value, np.random.Generator | np.random.RandomState):
            advice = "pass a whole number, or set_params(random_state=None) before saving"
        raise DataError(
            f"{where} is of type {shown}, which a file cannot hold (files hold numbers and text, "
            f"never code); {advice}."
        )

    # --------------------------------------------------------------- containers

    def _list(self, value: list[object], where: str) -> Json:
        items = self._items(value, where)
        return items if isinstance(items, list) else {"list": items}

    def _mapping(self, value: Mapping[object, object], where: str) -> Json:
        return [self._items(list(value), where), self._items(list(value.values()), where)]

    def _items(self, values: Sequence[Any], where: str) -> Json:
        """Items one by one, or in an array if they are many and of one kind."""
        kinds = set(map(type, values))
        if len(values) > FEW and len(kinds) == 1:
            if kinds == {str}:
                return {"texts": self._texts(values)}
            if kinds == {float}:
                return {"floats": self._array(np.array(values))}
            if kinds == {int} and INTEGERS.min <= min(values) <= max(values) <= INTEGERS.max:
                return {"ints": self._array(np.array(values, dtype=np.int64))}
        return [self.value(item, where) for item in values]

    def _texts(self, values: Sequence[str]) -> Json:
        """UTF-8 end to end, and where each text ends."""
        parts = [text.encode("utf-8", "surrogatepass") for text in values]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        data = np.frombuffer(b"".join(parts), dtype=np.uint8)
        return [self._array(data), self._array(ends)]

    # ------------------------------------------------------------------- arrays

    def _array(self, value: np.ndarray) -> str:
        """Name of the part that holds an array; one array in two places stays one."""
        if id(value) not in self._seen:
            name = f"a{len(self.arrays)}"
            self.arrays[name] = np.asarray(value)
            self._seen[id(value)] = name, value  # held, so that its id stays its own
        return self._seen[id(value)][0]

    def _ndarray(self, value: np.ndarray, where: str) -> Json:
        if value.dtype.hasobject:
            if value.dtype.kind != "O":
                raise DataError(f"{where} has objects among its fields; store numbers or text.")
            return {"objects": [list(value.shape), self._items(value.ravel().tolist(), where)]}
        return {"array": [self._array(value), bool(value.flags.writeable)]}

    def _sparse(self, value: sp.csr_array, _: str) -> Json:
        parts = [self._array(part) for part in (value.data, value.indices, value.indptr)]
        return {"sparse": [type(value).__name__, list(value.shape), *parts]}

    # ------------------------------------------------------------------- pandas

    def _index(self, value: pd.Index, where: str) -> Json:
        if type(value) is pd.DatetimeIndex and value.tz is None:
            return {"datetimes": self._array(value.to_numpy())}
        if str(value.dtype) not in INDEX_TYPES or isinstance(value, pd.MultiIndex):
            raise DataError(
                f"{where} is an index of {value.dtype}, which a file cannot hold; "
                "pass a list of names or positions."
            )
        items = self._items(value.tolist(), where)
        return {"index": [str(value.dtype), items, self.value(value.name, where)]}

    def _series(self, value: pd.Series, where: str) -> Json:
        """Values alone: where a Series is a parameter, its index plays no part."""
        return self._index(pd.Index(value, name=value.name), where)

    def _categorical(self, value: pd.Categorical, where: str) -> Json:
        categories = self._index(value.categories, where)
        codes = self._array(np.asarray(value.codes))
        return {"categorical": [codes, categories, bool(value.ordered)]}
