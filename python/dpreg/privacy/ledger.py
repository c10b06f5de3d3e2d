"""A ledger on disk: append-only, locked, and never behind what was spent.

One JSON object a line.  The first line holds the totals, each later one a charge; every
line ends with a hash of itself and of the line before, so that a change anywhere is
noticed; that lines were cut off its end, or that the file is gone, is noticed by a process
that has seen them.  A charge counts from the moment its line is whole and on disk, and the caller
reads no record before that.  A last line without its newline is a charge whose process
died while writing: nothing was released for it, and it is cut off.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from dpreg.errors import BudgetError

if TYPE_CHECKING:
    from dpreg.privacy.budget import Charge

__all__ = ["FileLedger"]

_VERSION = 1

# How many lines this process has seen of a ledger, and the hash of the last of them.
_SEEN: dict[str, tuple[int, str]] = {}


def _absolute(path: object) -> str:
    """Return where the ledger is, whatever the working directory will be."""
    try:
        return os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]
    except TypeError:
        raise BudgetError(f"ledger must be the path of a file, got {path!r}") from None


def _digest(previous: str, body: str) -> str:
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


def _line(previous: str, content: dict[str, object]) -> tuple[bytes, str]:
    body = json.dumps(content, sort_keys=True)
    digest = _digest(previous, body)
    return f"{body}\t{digest}\n".encode(), digest


def _parsed(body: str) -> dict[str, object]:
    """Return the object of a line; an empty one if it holds something else."""
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


class FileLedger:
    """See `dpreg.Budget`; `fits` and `charge_type` are handed in by it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        epsilon: float,
        delta: float,
        fits: Callable[[tuple[Charge, ...], Decimal, Decimal], bool],
        charge_type: type[Charge],
    ) -> None:
        self._path = _absolute(path)
        self._totals: dict[str, object] = {
            "dpreg_ledger": _VERSION,
            "eps": epsilon,
            "delta": delta,
        }
        self._fits = fits
        self._charge_type = charge_type
        with self._locked() as file:
            self._read(file)

    def append(self, charge: Charge, epsilon: Decimal, delta: Decimal) -> bool:
        """Add `charge` unless the totals would exceed the limits; say whether it was added."""
        with self._locked() as file:
            charges, last = self._read(file)
            if not self._fits((*charges, charge), epsilon, delta):
                return False
            content: dict[str, object] = {
                "label": charge.label,
                "eps": charge.epsilon,
                "delta": charge.delta,
            }
            line, digest = _line(last, content)
            self._write(file, line)
            _SEEN[self._path] = (len(charges) + 2, digest)
            return True

    def charges(self) -> tuple[Charge, ...]:
        """All charges so far, oldest first."""
        with self._locked() as file:
            return self._read(file)[0]

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the file and hold its lock; one process at a time gets past here."""
        create = 0 if self._path in _SEEN else os.O_CREAT
        try:
            file = os.open(self._path, os.O_RDWR | create | os.O_APPEND, 0o600)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not create:
                raise self._lost() from None
            raise BudgetError(f"ledger: cannot open {self._path!r}: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    @staticmethod
    def _write(file: int, data: bytes) -> None:
        try:
            written = os.write(file, data)
            os.fsync(file)
        except OSError as error:
            raise BudgetError(f"ledger: cannot write: {error.strerror}") from None
        if written != len(data):
            raise BudgetError("ledger: the disk is full; the charge was not made")

    def _read(self, file: int) -> tuple[tuple[Charge, ...], str]:
        """Return all charges and the last hash; start the file if it is new."""
        content = os.pread(file, os.fstat(file).st_size, 0)
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.ftruncate(file, len(whole))
        if not whole:
            if self._path in _SEEN:
                raise self._lost()
            first, digest = _line("", self._totals)
            self._write(file, first)
            self._sync_directory()
            _SEEN[self._path] = (1, digest)
            return (), digest

        digest = ""
        seen, known = _SEEN.get(self._path, (0, ""))
        entries: list[tuple[int, str]] = []
        for number, line in enumerate(whole.decode(errors="replace").splitlines(), start=1):
            body, _, claimed = line.partition("\t")
            digest = _digest(digest, body)
            if digest != claimed:
                raise BudgetError(
                    f"ledger: line {number} of {self._path!r} was changed after it was written; "
                    "restore the file from a copy, it cannot be trusted as it is"
                )
            if number == seen and digest != known:
                raise self._lost()
            entries.append((number, body))
        if len(entries) < seen:
            raise self._lost()
        self._check_totals(entries[0][1])
        _SEEN[self._path] = (len(entries), digest)
        return tuple(self._charge(*entry) for entry in entries[1:]), digest

    def _lost(self) -> BudgetError:
        return BudgetError(
            f"ledger: charges that this process has seen are gone from {self._path!r}; restore "
            "the file from a copy, for what was spent stays spent, or name another file"
        )

    def _check_totals(self, body: str) -> None:
        totals = _parsed(body)
        if totals != self._totals:
            raise BudgetError(
                f"ledger: {self._path!r} was made for eps={totals.get('eps')}, "
                f"delta={totals.get('delta')}; use these totals, or another file"
            )

    def _charge(self, number: int, body: str) -> Charge:
        """Return the charge of a line; one below 0 would be money."""
        entry = _parsed(body)
        label, epsilon, delta = (entry.get(name) for name in ("label", "eps", "delta"))
        if (
            isinstance(label, str)
            and isinstance(epsilon, float | int)
            and isinstance(delta, float | int)
            and 0 < epsilon <= sys.float_info.max
            and 0 <= delta < 1
        ):
            return self._charge_type(label, float(epsilon), float(delta))
        raise BudgetError(f"ledger: line {number} of {self._path!r} is no charge")

    def _sync_directory(self) -> None:
        directory = os.open(os.path.dirname(os.path.abspath(self._path)), os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
