"""What predicts, one of each kind in a process: models are large, have threads, and must not travel with what is pickled."""

from __future__ import annotations

import functools

from icee._native import Surrogate

__all__ = ["surrogate"]


@functools.cache
def surrogate(model: str) -> Surrogate:
    """The model of this name, ``"learned"`` or ``"gp"``; its weights are read when it first predicts."""
    return Surrogate(model)
