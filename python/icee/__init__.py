"""Which experiment next? And agents that learn a new task while they play it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from icee._native import Error, __version__
from icee.study import Study

if TYPE_CHECKING:
    from icee.regression import InContextRegressor as InContextRegressor

__all__ = ["Error", "InContextRegressor", "Study", "__version__"]

# What needs other packages is imported when it is first used.
_LAZY = {"InContextRegressor": "icee.regression"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'icee' has no attribute {name!r}")
