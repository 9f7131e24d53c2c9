"""Puts the worlds into Gymnasium's registry as soon as both are imported, in whichever order, and never imports it."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from icee._native import world_specs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

NAMESPACE = "icee"
MISSING = "environments need Gymnasium: pip install icee[gymnasium]"


def register() -> None:
    """Registers every world as ``icee/NAME-v0``, with its vector environment. Does nothing the second time."""
    import json

    from gymnasium.envs.registration import register as add
    from gymnasium.envs.registration import registry

    for spec in json.loads(world_specs()):
        name = f"{NAMESPACE}/{spec['id']}"
        if name not in registry:
            add(
                id=name,
                entry_point="icee.environments:WorldEnv",
                vector_entry_point="icee.environments:VectorWorldEnv",
                kwargs={"world": spec["id"]},
            )


def register_when_imported() -> None:
    """Registers now where Gymnasium is there already, else once somebody imports it."""
    # Who must not import it has None there.
    if sys.modules.get("gymnasium") is not None:
        register()
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """Waits for the import of Gymnasium, which has had no plugins since its version 1.0: a finder of `sys.meta_path`.

    It finds what the others find, and stays until Gymnasium has been imported: to look for it is no import, and an import may fail.
    """

    def __init__(self) -> None:
        # In which threads the others are being asked; there it finds nothing itself.
        self.asking = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium" or getattr(self.asking, "others", False):
            return None
        self.asking.others = True
        try:
            # Not by importlib.util.find_spec: while another thread imports Gymnasium, it gives the spec of that very module.
            others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
            found = (finder.find_spec(fullname, path, target) for finder in others)
            spec = next((spec for spec in found if spec is not None), None)
        finally:
            self.asking.others = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment]
        return spec


class _Loader:
    """Loads Gymnasium as its own loader does, and registers the worlds at the end."""

    def __init__(self, own: Any, waiting: _Waiting) -> None:
        self.own, self.waiting = own, waiting

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.own
        if module.__spec__ is not None:
            module.__spec__.loader = self.own
        self.own.exec_module(module)
        register()
        # A new list: other threads may be going through the old one.
        sys.meta_path = [finder for finder in sys.meta_path if finder is not self.waiting]
