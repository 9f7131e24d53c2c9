"""Which experiment next? And agents that learn a new task while they play it.

What is slow to import is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from icee import _gymnasium
from icee._native import Error, __version__
from icee.study import Note, Study, studies

if TYPE_CHECKING:
    from icee import optuna as optuna
    from icee import worlds as worlds
    from icee.agent import Agent as Agent
    from icee.evaluation import evaluate as evaluate
    from icee.logs import Logs as Logs
    from icee.logs import collect as collect
    from icee.regression import InContextRegressor as InContextRegressor
    from icee.training import Run as Run
    from icee.training import resume as resume
    from icee.training import train as train

# Where the rest is; imported when it is first used, since some of it needs other packages.
_LATER = {
    "Agent": "icee.agent",
    "InContextRegressor": "icee.regression",
    "Logs": "icee.logs",
    "Run": "icee.training",
    "collect": "icee.logs",
    "evaluate": "icee.evaluation",
    "resume": "icee.training",
    "train": "icee.training",
}
_MODULES = ("optuna", "worlds")

# Without icee.optuna: it needs Optuna, and `from icee import *` would put it in Optuna's place.
__all__ = ["Error", "Note", "Study", "__version__", "studies", *_LATER, "worlds"]

_gymnasium.register_when_imported()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"icee.{name}")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'icee' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
