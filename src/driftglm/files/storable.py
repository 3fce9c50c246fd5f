"""The method `save`, for classes of any layer."""

from __future__ import annotations

from importlib import import_module

from driftglm.files.layout import StrPath


class Storable:
    """Mixin of everything `driftglm.load` can bring back."""

    def save(self, path: StrPath) -> None:
        """Write this object, fitted or not, to a file that `driftglm.load` reads.

        The file holds the constructor's parameters and what `fit` found as arrays and JSON, never
        code. It appears whole or not at all. Functions and random generators among the
        parameters cannot be stored and raise a `DataError`.
        """
        # Which classes can be stored is known above all of them, hence not an import up here.
        import_module("driftglm.persistence").save(self, path)
