"""Puts the worlds into Gymnasium's registry as soon as both are imported, in whichever order, and never imports it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from icee._native import world_specs

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

NAMESPACE = "icee"


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
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """Waits for the import of Gymnasium, which has had no plugins since its version 1.0: a finder of `sys.meta_path`."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run(module)
                register()

            spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec
