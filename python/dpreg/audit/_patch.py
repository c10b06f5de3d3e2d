"""Replacing a function for the length of a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[Any]:
    """Set ``owner.name`` to `value` within a ``with`` block; yields what was there."""
    before = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield before
    finally:
        setattr(owner, name, before)
