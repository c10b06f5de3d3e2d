"""Blocks of records, in memory while they fit, then in a temporary file."""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from dpreg.errors import SourceError

__all__ = ["Spool"]

Block = TypeVar("Block")


class Spool(Generic[Block]):
    """Blocks that can be read again and again, in the order in which they came.  Private.

    The file has no name where the system allows that, is readable by its owner alone, and is gone
    when the spool is.

    Parameters
    ----------
    memory : float
        Bytes that blocks may take before they are all moved to the file.
    """

    def __init__(self, memory: float) -> None:
        self._left = memory
        self._held: list[Block] = []
        self._file: Any = None
        self._places: list[int] = []

    @property
    def held(self) -> list[Block] | None:
        """The blocks, when all of them are in memory; None otherwise."""
        return self._held if self._file is None else None

    def append(self, block: Block, size: int) -> None:
        """Add a block of `size` bytes.

        Raises
        ------
        SourceError
            If there is no room for temporary files.
        """
        self._left -= size
        if self._left < 0 and self._file is None:
            self._file = _on_disk(tempfile.TemporaryFile, buffering=1 << 20)
            weakref.finalize(self, self._file.close)
            for held in self._held:
                self._write(held)
            self._held = []
        if self._file is None:
            self._held.append(block)
        else:
            self._write(block)

    def __iter__(self) -> Iterator[Block]:
        if self._file is None:
            yield from self._held
            return
        for place in self._places:
            self._file.seek(place)
            yield _on_disk(pickle.load, self._file)

    def _write(self, block: Block) -> None:
        self._places.append(self._file.seek(0, os.SEEK_END))
        _on_disk(pickle.dump, block, self._file, protocol=pickle.HIGHEST_PROTOCOL)


def _on_disk(call: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return call(*arguments, **options)
    except OSError as error:
        reason = error.strerror
    raise SourceError(
        "data: rows that do not fit in memory go to a temporary file in "
        f"{tempfile.gettempdir()!r}, which failed ({reason}).  The budget is "
        "charged.  Make room there, set TMPDIR to another folder, or raise memory="
    )
