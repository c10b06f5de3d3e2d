"""Results are the same, bit by bit, as when `net.json` was written; see net.py."""

from __future__ import annotations

import json

import pytest
from net import FILE, cast, machine


def test_no_result_and_no_message_has_changed(use_threads):
    use_threads(0)
    kept = json.loads(FILE.read_text())
    if kept["machine"] != machine():
        pytest.skip("made on another machine: python tests/net.py --write before a change")
    found = cast()
    changed = {name: now for name, now in found.items() if kept["calls"].get(name) != now}
    assert not changed, "meant to change? python tests/net.py --write"
    assert found.keys() == kept["calls"].keys()
