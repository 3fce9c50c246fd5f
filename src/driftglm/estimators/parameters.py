"""Parameters by name: what is registered counts, whenever it was."""

from __future__ import annotations

from sklearn.utils._param_validation import StrOptions


class Registered(StrOptions):
    """Names of a registry, looked up when a parameter is checked.

    `classes` lets a class pass, which whoever makes an object of the parameter refuses with advice.
    """

    def __init__(self, homes: dict[str, str], *, classes: bool = False) -> None:
        super().__init__(set(homes))
        self._homes, self._classes = homes, classes

    def is_satisfied_by(self, val: object) -> bool:
        """Whether it is a name of the registry."""
        named = isinstance(val, str) and val in self._homes
        return named or (self._classes and isinstance(val, type))

    def __str__(self) -> str:
        return f"a str among {{{', '.join(repr(name) for name in self._homes)}}}"
