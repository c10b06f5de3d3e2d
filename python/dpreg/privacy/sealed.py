"""Values computed from records, sealed: only the doors, which pay for it, can read them.

A sealed value has no length, no elements, no truth and no text, is not compared and is not pickled:
code that branches on one does not type-check and fails at run time, with a fixed message.  What is
made of one by `Sealed.map` is sealed too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, NoReturn, TypeVar

from dpreg.base.arrays import Doubles, Sums

Content = TypeVar("Content")
Made = TypeVar("Made")

# Modules that may open: the data room, audits, and the doors of the table in sealed.md.
_ROOMS: Final = ("dpreg.data.", "dpreg.audit.")
_DOORS: Final = frozenset(
    f"dpreg.{module}"
    for module in (
        "calls.public_data",
        "estimation.blocks.model_rows",
        "estimation.methods.frank_wolfe_run",
        "estimation.releases.accountant",
        "estimation.releases.doors",
        "estimation.releases.quantised",
    )
)


def opened(sealed: Sealed[Content]) -> Content:
    """Return what is inside.  For doors only, which add noise to it: see sealed.md.

    Raises TypeError if a module of this package asks that is no door, whatever is inside.
    """
    asks = str(sys._getframe(1).f_globals.get("__name__"))
    if asks.startswith("dpreg.") and asks not in _DOORS and not asks.startswith(_ROOMS):
        raise TypeError(f"{asks} cannot open a value computed from records: release it with noise")
    return sealed._Sealed__content  # type: ignore[attr-defined, no-any-return]


class Sealed(Generic[Content]):
    """A value that was computed from records."""

    __slots__ = ("__content",)

    def __init__(self, content: Content) -> None:
        self.__content = content

    def map(self, of: Callable[[Content], Made]) -> Sealed[Made]:
        """Return what `of` makes of the content, sealed."""
        return Sealed(of(self.__content))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    if not TYPE_CHECKING:  # for a type checker there are no such methods at all

        def _refuse(self, *_: object) -> NoReturn:
            raise TypeError("a value computed from records is sealed: release it with noise")

        __array__ = __bool__ = __eq__ = __ne__ = __reduce_ex__ = __delattr__ = _refuse
        __getstate__ = _refuse  # which object has since Python 3.11, with all slots
        __array_ufunc__ = __hash__ = None

        def __setattr__(self, name: str, value: object) -> None:
            if hasattr(self, name):
                self._refuse()
            object.__setattr__(self, name, value)


class ExactSums(Sealed[Sums]):
    """Exact sums over rows, and how much a row, or a unit, changes them.

    Made beside each statistic, by its `seal`, so that no other sensitivity can be stated for it.

    sums: entry k counts `weights[k]` times.
    sensitivity: in l2 norm.
    of_units: a unit moves them by no more; otherwise a row does.
    weights: default 1 each.
    """

    __slots__ = ("of_units", "sensitivity", "weights")

    def __init__(
        self,
        sums: Sums,
        sensitivity: float,
        *,
        of_units: bool = False,
        weights: Doubles | None = None,
    ) -> None:
        super().__init__(sums)
        self.sensitivity: Final = sensitivity
        self.of_units: Final = of_units
        self.weights: Final = weights


class Counts(ExactSums):
    """Counts of which a row, or a unit, adds 1 to one at most: as much in any norm."""

    __slots__ = ()

    def __init__(self, counts: Sums, *, of_units: bool = False) -> None:
        super().__init__(counts, 1.0, of_units=of_units)


class Scores(Sealed[Doubles]):
    """Scores of candidates, and the range of their changes by a unit.

    range: the largest change of a score less the smallest one, at most.
    """

    __slots__ = ("range",)

    def __init__(self, scores: Doubles, range: float) -> None:
        super().__init__(scores)
        self.range: Final = range
