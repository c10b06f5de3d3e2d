"""The page of the engine's numbers says of each what it is."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SITE = Path(__file__).parents[2] / "vignettes/site"


def page_of_constants(monkeypatch):
    monkeypatch.syspath_prepend(str(SITE))
    spec = importlib.util.spec_from_file_location("constants", SITE / "constants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_number_of_the_engine_says_what_it_is(monkeypatch):
    constants = page_of_constants(monkeypatch)
    found = [row for path in sorted(constants.ENGINE.glob("*.py"))
             for row in constants.constants(path)]  # fmt: skip
    assert "_ROUND, _FIRST_OF_TWO = 0.2, 0.35" in dict(found)
    assert [code for code, said in found if not said] == []


def test_names_texts_and_other_objects_are_no_numbers(monkeypatch, tmp_path):
    module = tmp_path / "module.py"
    lines = [
        "# Half.",
        "HALF = 0.5",
        'NAME = "x"',
        "TWO = 1, 2",
        'OF = {"a": 1.0}',
        "A = np.ones(1)",
    ]
    module.write_text("\n".join(lines))
    found = dict(page_of_constants(monkeypatch).constants(module))
    assert found == {"HALF = 0.5": "Half.", "TWO = 1, 2": "", 'OF = {"a": 1.0}': ""}
