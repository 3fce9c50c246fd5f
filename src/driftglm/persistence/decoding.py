"""JSON and arrays become objects again; of known classes only, and of shapes that agree."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn

from driftglm.files import DamagedFileError
from driftglm.persistence.encoding import INDEX_TYPES, SPARSE, TYPES, Json
from driftglm.persistence.shapes import MOST_STEPS, SHAPES, agrees
from driftglm.persistence.trial import check_estimator, check_pattern
from driftglm.registry import estimators, records, resolve

UNUSABLE = (
    ArithmeticError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What Python, numpy, pandas and the classes' own checks raise about content that does not fit."""


class Decoder:
    """Turns JSON and its arrays back into values."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays
        # By key, what makes a value of one JSON value, and of a list of them. Nothing is checked
        # here: what Python and numpy raise about content of other kinds is in UNUSABLE.
        self._of_one: dict[str, Callable[[Any], object]] = {
            "bytes": lambda name: arrays[name].tobytes(),
            "datetimes": lambda name: pd.DatetimeIndex(arrays[name]),
            "dtype": lambda text: np.dtype(str(text)),
            "float": {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.__getitem__,
            "list": self._items,
            "numpy": lambda text: np.dtype(str(text)).type,
            "scalar": lambda name: arrays[name][()],
            "tuple": lambda items: tuple(self._items(items)),
            "type": TYPES.__getitem__,
        }
        self._of_several: dict[str, Callable[..., object]] = {
            "array": self._array,
            "categorical": self._categorical,
            "counter": lambda keys, values: Counter(self._dict(keys, values)),
            "dict": self._dict,
            "estimator": self._estimator,
            "index": self._index,
            "objects": self._objects,
            "period": lambda ordinal, freq: pd.Period(ordinal=int(ordinal), freq=str(freq)),
            "periods": self._periods,
            "range": range,
            "record": self._record,
            "sparse": self._sparse,
        }

    def value(self, node: Json) -> Any:
        """The value some JSON stands for."""
        if isinstance(node, list):
            return [self.value(item) for item in node]
        if not isinstance(node, dict):
            return node
        ((key, content),) = node.items()
        if key in self._of_one:
            return self._of_one[key](content)
        if not isinstance(content, list):
            raise DamagedFileError(f"{key!r} is no kind of value")
        return self._of_several[key](*content)

    # ------------------------------------------------------------------ objects

    def _record(self, name: str, fields: dict[str, Json]) -> object:
        kind = _listed(records(), name)
        values = {key: self.value(field) for key, field in fields.items()}
        if name == "TimeAxis" and not 1 <= values["n_timesteps"] <= MOST_STEPS:
            raise DamagedFileError(f"its time axis has {values['n_timesteps']} steps")
        made = kind(**values)
        _check_shapes(name, made)
        if not agrees(name, made):
            raise DamagedFileError(f"the parts of its {name} do not fit each other")
        return made

    def _estimator(
        self,
        name: str,
        params: dict[str, Json],
        state: dict[str, Json],
        requests: dict[str, dict[str, bool | str]],
    ) -> object:
        kind = _listed(estimators(), name)
        model = kind(**{key: self.value(value) for key, value in params.items()})
        check_pattern(getattr(model, "token_pattern", None))
        for key, value in state.items():
            # Data must not take the place of a method.
            if not key.isidentifier() or key.startswith("__") or hasattr(kind, key):
                raise DamagedFileError(f"{name} has no fitted attribute {key!r}")
            vars(model)[key] = self.value(value)
        if requests:
            with sklearn.config_context(enable_metadata_routing=True):
                for method, wishes in requests.items():
                    getattr(model, f"set_{method}_request")(**wishes)
        check_estimator(model)
        return model

    # ------------------------------------------------------------------- arrays

    def _array(self, name: str, writeable: bool) -> np.ndarray:
        array = self.arrays[name]
        array.setflags(write=bool(writeable))
        return array

    def _objects(self, shape: list[int], items: Json) -> np.ndarray:
        values = self._items(items)
        if math.prod(shape) != len(values):
            raise DamagedFileError("an array of texts has another size than listed")
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out.reshape(shape)

    def _sparse(self, name: str, shape: list[int], *parts: str) -> object:
        if name not in SPARSE:
            raise DamagedFileError(f"{name!r} is no sparse matrix it may hold")
        data, indices, indptr = (self.arrays[part] for part in parts)
        matrix = getattr(sp, name)((data, indices, indptr), shape=tuple(shape))
        # Compiled code follows these indices without looking.
        matrix.check_format(full_check=True)
        return matrix

    # --------------------------------------------------------------- containers

    def _items(self, content: Any) -> list[Any]:
        if isinstance(content, list):
            return [self.value(item) for item in content]
        ((kind, name),) = content.items()
        if kind == "texts":
            return self._texts(*name)
        if kind not in {"floats", "ints"}:
            raise DamagedFileError(f"{kind!r} is no kind of list")
        return list(self.arrays[name].tolist())

    def _texts(self, data: str, ends: str) -> list[object]:
        joined, stops = self.arrays[data].tobytes(), self.arrays[ends].tolist()
        if sorted(stops) != stops or (stops[-1:] or [0]) != [len(joined)] or min(stops) < 0:
            raise DamagedFileError("a list of texts does not end where it should")
        pairs = itertools.pairwise([0, *stops])
        return [joined[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairs]

    def _dict(self, keys: Json, values: Json) -> dict[object, object]:
        return dict(zip(self._items(keys), self._items(values), strict=True))

    # ------------------------------------------------------------------- pandas

    def _periods(self, name: str, freq: str) -> pd.PeriodIndex:
        made: Any = pd.PeriodIndex  # whose stubs lack this constructor
        periods: pd.PeriodIndex = made.from_ordinals(self.arrays[name], freq=str(freq))
        return periods

    def _index(self, dtype: str, items: Json, name: Json) -> pd.Index:
        if dtype not in INDEX_TYPES:
            raise DamagedFileError(f"{dtype!r} is no type of index")
        index: pd.Index = pd.Index(self._items(items), dtype=dtype, name=self.value(name))
        return index

    def _categorical(self, codes: str, categories: Json, ordered: bool) -> pd.Categorical:
        return pd.Categorical.from_codes(
            self.arrays[codes], categories=self.value(categories), ordered=bool(ordered)
        )


def _listed(homes: dict[str, str], name: str) -> type[Any]:
    """The class of a name, if a file may hold it."""
    if name not in homes:
        raise DamagedFileError(
            f"it holds a {name!r}, which is not known here; upgrade driftglm, or register the "
            "family or prior it was fitted with (driftglm.registry)"
        )
    found: type[Any] = resolve(homes[name])
    return found


def _check_shapes(name: str, record: object) -> None:
    """Whether the arrays of a record agree in their lengths."""
    lengths: dict[str, int] = {}
    for letters, fields in SHAPES.get(name, {}).items():
        for field in fields.split():
            shape = getattr(record, field).shape
            agree = len(shape) == len(letters) and all(
                lengths.setdefault(letter, n) == n for letter, n in zip(letters, shape, strict=True)
            )
            if not agree:
                raise DamagedFileError(f"{name}.{field} has shape {shape}, unlike its neighbours")
