"""JSON and arrays become objects again; of known classes only, and of shapes that agree."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn

from driftglm.files import DamagedFileError
from driftglm.persistence.encoding import INDEX_TYPES, SPARSE, TYPES
from driftglm.persistence.shapes import MOST_STEPS, SHAPES, agrees
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
        # The names of the keys; an unknown key is no method of this class.
        self._makers = {
            name: getattr(self, f"_{name}")
            for name in (
                "array", "bytes", "categorical", "counter", "datetimes", "dict", "dtype",
                "estimator", "float", "index", "list", "numpy", "objects", "period", "periods",
                "range", "record", "scalar", "sparse", "tuple", "type",
            )
        }  # fmt: skip

    def value(self, node: Any) -> Any:
        """The value some JSON stands for."""
        if isinstance(node, list):
            return [self.value(item) for item in node]
        if not isinstance(node, dict):
            return node
        ((key, content),) = node.items()
        return self._makers[key](content)

    # ------------------------------------------------------------------ objects

    def _record(self, content: Any) -> Any:
        name, fields = content
        kind = _listed(records(), name)
        values = {key: self.value(field) for key, field in fields.items()}
        if name == "TimeAxis" and not 1 <= values["n_timesteps"] <= MOST_STEPS:
            raise DamagedFileError(f"its time axis has {values['n_timesteps']} steps")
        made = kind(**values)
        _check_shapes(name, made)
        if not agrees(name, made):
            raise DamagedFileError(f"the parts of its {name} do not fit each other")
        return made

    def _estimator(self, content: Any) -> Any:
        name, params, state, requests = content
        kind = _listed(estimators(), name)
        model = kind(**{key: self.value(value) for key, value in params.items()})
        for key, value in state.items():
            # Data must not take the place of a method.
            if not key.isidentifier() or key.startswith("__") or hasattr(kind, key):
                raise DamagedFileError(f"{name} has no fitted attribute {key!r}")
            vars(model)[key] = self.value(value)
        if requests:
            with sklearn.config_context(enable_metadata_routing=True):
                for method, wishes in requests.items():
                    getattr(model, f"set_{method}_request")(**wishes)
        return model

    # ------------------------------------------------------------------ numbers

    def _float(self, content: Any) -> float:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]

    def _scalar(self, content: Any) -> Any:
        return self.arrays[content][()]

    def _array(self, content: Any) -> np.ndarray:
        name, writeable = content
        array = self.arrays[name]
        array.setflags(write=bool(writeable))
        return array

    def _objects(self, content: Any) -> np.ndarray:
        shape, items = content
        values = self._items(items)
        if math.prod(shape) != len(values):
            raise DamagedFileError("an array of texts has another size than listed")
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out.reshape(shape)

    def _sparse(self, content: Any) -> Any:
        name, shape, *parts = content
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

    def _texts(self, data: str, ends: str) -> list[str]:
        joined, stops = self.arrays[data].tobytes(), self.arrays[ends].tolist()
        if sorted(stops) != stops or (stops[-1:] or [0]) != [len(joined)] or min(stops) < 0:
            raise DamagedFileError("a list of texts does not end where it should")
        starts = [0, *stops[:-1]]
        return [
            joined[start:stop].decode("utf-8", "surrogatepass")
            for start, stop in zip(starts, stops, strict=True)
        ]

    def _list(self, content: Any) -> list[Any]:
        return self._items(content)

    def _tuple(self, content: Any) -> tuple[Any, ...]:
        return tuple(self._items(content))

    def _dict(self, content: Any) -> dict[Any, Any]:
        keys, values = (self._items(part) for part in content)
        return dict(zip(keys, values, strict=True))

    def _counter(self, content: Any) -> Counter[Any]:
        return Counter(self._dict(content))

    def _range(self, content: Any) -> range:
        return range(*content)

    def _bytes(self, content: Any) -> bytes:
        return self.arrays[content].tobytes()

    # ------------------------------------------------------------ types, pandas

    def _dtype(self, content: Any) -> np.dtype:
        return np.dtype(str(content))

    def _numpy(self, content: Any) -> type[Any]:
        return np.dtype(str(content)).type

    def _type(self, content: Any) -> type[Any]:
        return TYPES[content]

    def _period(self, content: Any) -> Any:
        ordinal, freq = content
        return pd.Period(ordinal=int(ordinal), freq=str(freq))

    def _periods(self, content: Any) -> Any:
        name, freq = content
        made: Any = pd.PeriodIndex  # whose stubs lack this constructor
        return made.from_ordinals(self.arrays[name], freq=str(freq))

    def _datetimes(self, content: Any) -> Any:
        return pd.DatetimeIndex(self.arrays[content])

    def _index(self, content: Any) -> Any:
        dtype, items, name = content
        if dtype not in INDEX_TYPES:
            raise DamagedFileError(f"{dtype!r} is no type of index")
        return pd.Index(self._items(items), dtype=dtype, name=self.value(name))

    def _categorical(self, content: Any) -> Any:
        codes, categories, ordered = content
        return pd.Categorical.from_codes(
            self.arrays[codes], categories=self.value(categories), ordered=bool(ordered)
        )


def _listed(homes: dict[str, str], name: Any) -> type[Any]:
    """The class of a name, if a file may hold it."""
    if name not in homes:
        raise DamagedFileError(
            f"it holds a {name!r}, which is not known here; upgrade driftglm, or register the "
            "family or prior it was fitted with (driftglm.registry)"
        )
    found: type[Any] = resolve(homes[name])
    return found


def _check_shapes(name: str, record: Any) -> None:
    """Whether the arrays of a record agree in their lengths."""
    lengths: dict[str, int] = {}
    axes = SHAPES.get(name, {})
    for field in dataclasses.fields(record):
        letters, value = axes.get(field.name), getattr(record, field.name)
        if letters is None:
            continue
        shape = tuple(np.shape(value)) if isinstance(value, np.ndarray) else tuple(value.shape)
        agree = len(shape) == len(letters) and all(
            lengths.setdefault(letter, n) == n for letter, n in zip(letters, shape, strict=True)
        )
        if not agree:
            raise DamagedFileError(f"{name}.{field.name} has shape {shape}, unlike its neighbours")
