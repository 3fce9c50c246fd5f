"""Parameters by name: what is registered counts, whenever it was."""

from __future__ import annotations

from typing import Any

from sklearn.utils._param_validation import StrOptions


class Registered(StrOptions):
    """Names of a registry, looked up when a parameter is checked."""

    def __init__(self, homes: dict[str, str]) -> None:
        super().__init__(set(homes))
        self._homes = homes

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether it is a name of the registry."""
        return isinstance(val, str) and val in self._homes

    def __str__(self) -> str:
        return f"a str among {{{', '.join(repr(name) for name in self._homes)}}}"
