"""`save` and `load`: one object a file."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from driftglm import files
from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError, StrPath
from driftglm.persistence.decoding import UNUSABLE, Decoder
from driftglm.persistence.encoding import Encoder
from driftglm.registry import WHOLE, estimators, is_listed, records, stored_name

KIND = "driftglm object"


def save(model: object, path: StrPath) -> None:
    """Write an estimator, baseline, vocabulary, comparison or forecast to a file, in one step."""
    name, storable = stored_name(type(model)), _storable()
    if name not in storable or not is_listed(estimators() | records(), type(model)):
        shown = f"{type(model).__module__}.{type(model).__qualname__}"
        raise DataError(
            f"{shown} is no class that driftglm.load knows ({', '.join(sorted(storable))} are); "
            "use pickle or joblib for a class of your own."
        )
    encoder = Encoder()
    content = encoder.value(model, name)
    facts = {"kind": KIND, "driftglm": version("driftglm"), "content": content}
    files.save(path, facts, encoder.arrays)


def load(path: StrPath, *, max_bytes: int | None = None) -> Any:
    """Whatever `save` wrote: an estimator, a baseline, a vocabulary, a comparison or a forecast.

    Parameters
    ----------
    path
        The file. Reading it never runs code, whoever wrote it.
    max_bytes
        Most bytes of content to read into memory. None: 256 MiB, or 200 times the file's size if
        that is more; every file that `save` wrote keeps that, a file made to fill memory does not.

    Raises
    ------
    DamagedFileError
        If the file is cut short, altered, of another kind, or written by a newer driftglm.

    Examples
    --------
    >>> import driftglm, numpy as np, tempfile
    >>> X = np.arange(20.0).reshape(10, 2) % 7
    >>> model = driftglm.baselines.RidgeAll(strength=1.0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.drift")
    ...     again = driftglm.load(f"{folder}/model.drift")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    facts, arrays = files.load(path, limit=max_bytes)
    try:
        return _object(facts, arrays)
    except UNUSABLE as error:
        raise DamagedFileError(
            f"{path} holds nothing driftglm can use: {error}. Save the model again."
        ) from error


def _storable() -> set[str]:
    """What a file may be a file of; the others are parts."""
    return {*estimators(), *WHOLE}


def _object(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    if facts.get("kind") != KIND:
        raise DamagedFileError(f"its kind is {facts.get('kind')!r}, not {KIND!r}")
    found = Decoder(arrays).value(facts["content"])
    if stored_name(type(found)) not in _storable():
        raise DamagedFileError(f"it holds a {type(found).__name__}, which is no model")
    return found
