"""Where charges are kept: in memory, or in a file that is never behind what was spent.

The file is a SQLite database, so that processes take turns, and a charge is on disk, whole,
before `append` returns, whatever ends the process.  Each charge has a hash of itself and of the
one before, and the number of charges and the last hash stand in a place of their own, changed in
the same transaction: a charge that was changed or taken out is noticed.  Whoever can write the
file can write all of it anew; only a process that has seen the charges will notice that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from dpreg.errors import BudgetError
from dpreg.privacy.charge import Charge

if TYPE_CHECKING:
    import sqlite3

__all__ = ["FileLedger", "Ledger", "MemoryLedger"]

Charges = tuple[Charge, ...]

# Of the layout of the file, in its header.
_VERSION = 2
# Seconds to wait for other processes.
_PATIENCE = 60.0
_TABLES = """
CREATE TABLE ledger (totals TEXT NOT NULL, charges INTEGER NOT NULL, last TEXT NOT NULL);
CREATE TABLE charges (number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL);
"""

# How many charges this process has seen in a ledger, and the hash of the last of them.
_SEEN: dict[str, tuple[int, str]] = {}


class Ledger(Protocol):
    """Where charges are kept."""

    def append(self, charge: Charge, allowed: Callable[[Charges], bool]) -> bool:
        """Add `charge` if all charges together are `allowed`; say whether it was added."""
        ...

    def charges(self) -> Charges:
        """All charges so far, oldest first."""
        ...


class MemoryLedger:
    """A ledger that lasts as long as the process."""

    def __init__(self) -> None:
        self._charges: Charges = ()
        self._lock = threading.Lock()

    def append(self, charge: Charge, allowed: Callable[[Charges], bool]) -> bool:
        """See `Ledger.append`."""
        with self._lock:
            if not allowed((*self._charges, charge)):
                return False
            self._charges = (*self._charges, charge)
            return True

    def charges(self) -> Charges:
        """See `Ledger.charges`."""
        return self._charges


class FileLedger:
    """A ledger on disk, shared by all processes that name it.

    Parameters
    ----------
    path : path
        Made when it is not there.
    totals : mapping of str to float
        What the ledger is for; those of a file that is there must be the same.
    """

    def __init__(self, path: str | os.PathLike[str], totals: Mapping[str, float]) -> None:
        self._path = _absolute(path)
        self._totals = dict(totals)
        if not os.path.exists(self._path) and self._path not in _SEEN:
            self._make()
        self.charges()

    def append(self, charge: Charge, allowed: Callable[[Charges], bool]) -> bool:
        """See `Ledger.append`."""
        with self._opened("IMMEDIATE") as database:
            charges, last = self._read(database)
            if not allowed((*charges, charge)):
                return False
            content = json.dumps(
                {"label": charge.label, "eps": charge.epsilon, "delta": charge.delta}
            )
            number, digest = len(charges) + 1, _digest(last, content)
            database.execute("INSERT INTO charges VALUES (?, ?, ?)", (number, content, digest))
            database.execute("UPDATE ledger SET charges = ?, last = ?", (number, digest))
        self._note(number, digest)
        return True

    def charges(self) -> Charges:
        """See `Ledger.charges`."""
        with self._opened("DEFERRED") as database:
            charges, last = self._read(database)
        self._note(len(charges), last)
        return charges

    def _note(self, number: int, digest: str) -> None:
        # Another thread may have seen more by now.
        _SEEN[self._path] = max(_SEEN.get(self._path, (0, "")), (number, digest))

    def _make(self) -> None:
        """Make the file whole before it has its name, so that nobody finds a part of it."""
        import sqlite3

        draft = f"{self._path}.{os.getpid()}.{threading.get_ident()}.new"
        totals = json.dumps(self._totals)
        try:
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with contextlib.closing(sqlite3.connect(draft)) as database, database:
                database.execute(f"PRAGMA user_version = {_VERSION}")
                database.executescript(_TABLES)
                first = (totals, _digest("", totals))
                database.execute("INSERT INTO ledger VALUES (?, 0, ?)", first)
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.link(draft, self._path)
        except OSError as error:
            raise BudgetError(f"ledger: cannot open {self._path!r}: {error.strerror}") from None
        except sqlite3.Error as error:
            raise BudgetError(f"ledger: cannot write {self._path!r}: {error}") from None
        finally:
            with contextlib.suppress(OSError):
                os.unlink(draft)

    @contextlib.contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, which is on disk when this ends without an error."""
        import sqlite3

        if not os.path.exists(self._path):
            raise self._lost()
        if os.path.getsize(self._path) == 0:
            raise self._lost() if self._path in _SEEN else self._untrusted("it is empty")
        try:
            with contextlib.closing(
                sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
            ) as database:
                # The folder too is on disk before a transaction ends.
                database.execute("PRAGMA synchronous = EXTRA")
                database.execute(f"BEGIN {mode}")
                yield database
                database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise BudgetError(
                f"ledger: cannot use {self._path!r}: {error}; the charge was not made"
            ) from None
        except (sqlite3.Error, UnicodeError) as error:
            raise self._untrusted(str(error)) from None

    def _read(self, database: sqlite3.Connection) -> tuple[Charges, str]:
        """Return all charges and the last hash."""
        import sqlite3

        try:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            ((totals, count, last),) = database.execute("SELECT * FROM ledger").fetchall()
            rows = database.execute("SELECT * FROM charges ORDER BY number").fetchall()
            pages = database.execute("PRAGMA page_count").fetchone()[0]
            size = database.execute("PRAGMA page_size").fetchone()[0]
        except (sqlite3.OperationalError, UnicodeError, TypeError, ValueError):
            raise self._untrusted("it is not a ledger of this version of dpreg") from None
        if version != _VERSION or os.path.getsize(self._path) != pages * size:
            raise self._untrusted("it is not whole, or not of this version of dpreg")
        self._check_totals(totals)
        digest = _digest("", totals)
        seen, known = _SEEN.get(self._path, (0, digest))
        hashes = [digest]
        for number, (place, content, claimed) in enumerate(rows, start=1):
            hashes.append(_digest(hashes[-1], content))
            if place != number or claimed != hashes[-1]:
                raise self._untrusted(f"charge {number} was changed after it was made")
        if len(rows) < seen or hashes[seen] != known:
            raise self._lost()
        if count != len(rows) or last != hashes[-1]:
            raise self._untrusted("charges were taken out of it or put into it")
        charges = tuple(self._charge(n, row[1]) for n, row in enumerate(rows, start=1))
        return charges, hashes[-1]

    def _check_totals(self, text: str) -> None:
        totals = _parsed(text)
        if totals != self._totals:
            made = ", ".join(f"{name}={value}" for name, value in totals.items())
            raise BudgetError(
                f"ledger: {self._path!r} was made for {made}; use these totals, or another file"
            )

    def _charge(self, number: int, text: str) -> Charge:
        """Return the charge of a row; one below 0 would be money."""
        entry = _parsed(text)
        label, epsilon, delta = (entry.get(name) for name in ("label", "eps", "delta"))
        if (
            isinstance(label, str)
            and isinstance(epsilon, float | int)
            and isinstance(delta, float | int)
            and 0 < epsilon <= sys.float_info.max
            and 0 <= delta < 1
        ):
            return Charge(label, float(epsilon), float(delta))
        raise self._untrusted(f"charge {number} is not a charge")

    def _lost(self) -> BudgetError:
        return BudgetError(
            f"ledger: charges that this process has seen are gone from {self._path!r}; restore "
            "the file from a copy, for what was spent stays spent, or name another file"
        )

    def _untrusted(self, why: str) -> BudgetError:
        return BudgetError(
            f"ledger: {self._path!r} cannot be trusted: {why}; restore it from a copy, or name "
            "another file"
        )


def _absolute(path: object) -> str:
    """Return where the ledger is, whatever the working directory will be."""
    try:
        return os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]
    except TypeError:
        raise BudgetError(f"ledger must be the path of a file, got {path!r}") from None


def _digest(previous: str, content: str) -> str:
    return hashlib.sha256(f"{previous}\n{content}".encode("utf-8", "surrogatepass")).hexdigest()


def _parsed(text: Any) -> dict[str, Any]:
    """Return the object that a text holds; an empty one if it holds something else."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
