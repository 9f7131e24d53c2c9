"""Every example in the package's docstrings does what it says."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import icee
import pytest

MODULES = ["icee", *(f"icee.{module.name}" for module in pkgutil.iter_modules(icee.__path__))]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0
