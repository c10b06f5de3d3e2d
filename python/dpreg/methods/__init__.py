"""Private regressions: with `selection`, the only Python that reads records and draws noise."""

from __future__ import annotations

from collections.abc import Callable

from dpreg.methods.adassp import AdaSSP
from dpreg.methods.auto import Auto
from dpreg.methods.base import Method
from dpreg.methods.boosted_adassp import BoostedAdaSSP
from dpreg.methods.dpsgd import DPSGD
from dpreg.methods.frank_wolfe import FrankWolfe
from dpreg.methods.tukey_em import TukeyEM

__all__ = ["DPSGD", "AdaSSP", "Auto", "BoostedAdaSSP", "FrankWolfe", "TukeyEM", "method_from"]

_BY_NAME: dict[str, Callable[[], Method]] = {
    "auto": Auto,
    "tukey": TukeyEM,
    "adassp": AdaSSP,
    "boosted_adassp": BoostedAdaSSP,
    "dpsgd": DPSGD,
    "frank_wolfe": FrankWolfe,
}


def method_from(method: str | Method) -> Method:
    """Return the method that a name or an options object stands for.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if isinstance(method, str):
        if method not in _BY_NAME:
            names = ", ".join(map(repr, _BY_NAME))
            raise ValueError(f"method must be one of {names} or an options object, got {method!r}")
        return _BY_NAME[method]()
    if isinstance(method, type) and method in _BY_NAME.values():
        raise ValueError(
            f"method must be an object, not its class; write dpreg.{method.__name__}()"
        )
    if not callable(getattr(method, "release", None)) or isinstance(method, type):
        raise ValueError(
            f"method must be a name or an options object such as dpreg.TukeyEM(), got {method!r}"
        )
    return method
