"""What a call asks for: its arguments, without the data."""

import math
import numbers
from collections.abc import Iterable, Mapping, Set
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Self

import numpy as np

from dpreg._core import BitSource
from dpreg.base.families import Family
from dpreg.base.levels import Level
from dpreg.data.bounds import Bounds

# Who pays, and where rows are kept, change no result; a start is described among what is public.
_UNRECORDED = ("budget", "memory", "start")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The arguments of one call of the function `call`, as they were given.  Public, all of them.

    A new argument of `dp_lm` is a field here.  `dpreg.calls.session.begin` checks them.
    """

    call: str
    formula: Any
    eps: float
    delta: float | None = None
    family: str | Family = "gaussian"
    link: str | None = None
    method: Any = "auto"
    select: Any = None
    k: int | None = None
    split: float | None = None
    levels: Mapping[str, Iterable[Level]] | None = None
    bounds: Mapping[str, Bounds] | None = None
    unit: str | None = None
    max_rows: int | None = None
    weights: str | None = None
    weight_limit: float | None = None
    budget: object = None
    inference: bool = True
    fit_stats: bool = False
    diagnostics: bool = False
    memory: float | None = None
    start: Any = None
    rng: int | BitSource | None = None

    def __post_init__(self) -> None:
        # What may be read only once, or be changed by its owner later.
        if isinstance(self.levels, Mapping):
            kept = {name: _kept(values) for name, values in self.levels.items()}
            object.__setattr__(self, "levels", kept)

    @classmethod
    def of(
        cls, call: str, given: Mapping[str, Any], instead: Mapping[str, Any] | None = None
    ) -> Self:
        """Return the request of a public function: its arguments, as `locals()` has them at first.

        What is no field is left out: `data`, and what `method` describes.

        instead: fields that are no arguments of the function, or other ones.
        """
        known = {each.name for each in fields(cls)} & given.keys()
        return cls(call=call, **{name: given[name] for name in known} | dict(instead or {}))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for certificates and ledgers: what is not the default.

        The same for a method and for its name; no bit source, and nothing of the data.
        """
        found = _given(self)
        if isinstance(self.rng, BitSource):
            del found["rng"]
        return {name: value for name, value in found.items() if name not in _UNRECORDED}


def _kept(values: Any) -> Any:
    """Return levels that can be read again; what is refused as levels stays as it is."""
    refused = isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable)
    return values if refused else tuple(values)


def _given(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are not at their defaults, as JSON has them."""
    found = {}
    for each in fields(options):
        value, default = _plain(getattr(options, each.name)), each.default
        if each.default_factory is not MISSING:
            default = each.default_factory()
        if default is MISSING or value != _plain(default):
            found[each.name] = value
    return found


def _plain(value: Any) -> Any:
    """Return `value` as JSON has it; of results and other objects the name of their type."""
    if is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "to_json"):
        own, name = _given(value), getattr(value, "name", type(value).__name__)
        return {"name": name, **own} if own else name
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, Iterable):
        return [_plain(each) for each in value]
    return type(value).__name__
