"""Which experiment next? And agents that learn a new task while they play it.

What is slow to import is imported when it is first used.
"""

from icee._native import Error, __version__
from icee.study import Note, Study

__all__ = ["Error", "Note", "Study", "__version__"]
