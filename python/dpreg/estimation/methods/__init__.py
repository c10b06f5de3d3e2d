"""Private regressions: with `selection`, the only Python that reads records and draws noise."""

from __future__ import annotations

from collections.abc import Callable

from dpreg.base.errors import ArgumentError, Options, unknown_name, unusable
from dpreg.estimation.base import Method
from dpreg.estimation.methods.adassp import AdaSSP
from dpreg.estimation.methods.auto import Auto
from dpreg.estimation.methods.boosted_adassp import BoostedAdaSSP
from dpreg.estimation.methods.dpsgd import DPSGD
from dpreg.estimation.methods.frank_wolfe import FrankWolfe
from dpreg.estimation.methods.tukey_em import TukeyEM

__all__ = [
    "DPSGD",
    "METHODS",
    "AdaSSP",
    "Auto",
    "BoostedAdaSSP",
    "FrankWolfe",
    "TukeyEM",
    "method_from",
]

METHODS: dict[str, Callable[[], Method]] = {
    "auto": Auto,
    "tukey": TukeyEM,
    "adassp": AdaSSP,
    "boosted_adassp": BoostedAdaSSP,
    "dpsgd": DPSGD,
    "frank_wolfe": FrankWolfe,
}


def method_from(method: str | Method) -> Method:
    """Return the method that a name or an options object stands for.

    Raises ValueError if it is neither.
    """
    if isinstance(method, str):
        if method not in METHODS:
            raise unknown_name("method", method, METHODS)
        return METHODS[method]()
    if isinstance(method, type) and method in METHODS.values():
        made = Options("method", method().name, method.__name__)
        raise ArgumentError("method", "must be an object, not its class", ("write ", made))
    if not callable(getattr(method, "release", None)) or isinstance(method, type):
        such = Options("method", "tukey", "TukeyEM")
        raise unusable("method", ("a name or an options object such as ", such), method)
    return method
