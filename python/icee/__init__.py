"""Which experiment next? And agents that learn a new task while they play it."""

from icee._native import Error, __version__
from icee.study import Study

__all__ = ["Error", "Study", "__version__"]
