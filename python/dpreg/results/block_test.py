"""What a private test of blocks released."""

from __future__ import annotations

import json
from dataclasses import dataclass

from dpreg.estimation.inference.noisy_binomial import noisy_binomial_p_value
from dpreg.privacy.certificate import Certificate
from dpreg.results.document import CERTIFICATE, parsed, reading
from dpreg.results.summary import Summary, privacy_note

__all__ = ["DPTest"]

_FORMAT = 2
_DOCUMENT = {
    "dpreg_test": float, "name": str, "count": float, "blocks": float, "threshold": float,
    "privacy": CERTIFICATE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DPTest:
    """A private test.  Holds released numbers only.

    Attributes
    ----------
    name : str
        Of the statistic.
    count : int
        Noisy number of blocks with a p-value of at most `threshold`.
    blocks : int
    threshold : float
    privacy : Certificate

    Examples
    --------
    >>> import dpreg
    >>> from scipy import stats
    >>> d = dpreg.load_diamonds()
    >>> test = dpreg.dp_test(lambda b: stats.spearmanr(b["carat"], b["price"]).pvalue, d, 2.0)
    >>> 0 <= test.pvalue <= 1
    True
    """

    name: str
    count: int
    blocks: int
    threshold: float
    privacy: Certificate

    @property
    def pvalue(self) -> float:
        """Probability of as many small p-values, or more, if the null hypothesis is true.

        Exact where p-values of blocks are uniform, and at most as much where they are larger.
        """
        return noisy_binomial_p_value(self.count, self.blocks, self.threshold, self.privacy.epsilon)

    @property
    def statistic(self) -> int:
        """`count`, as scipy names it."""
        return self.count

    def summary(self) -> Summary:
        """Return what was found, printable as text, HTML and LaTeX."""
        expected = self.blocks * self.threshold
        return Summary(
            (),
            (
                f"Private test of {self.name}: p-value {self.pvalue:.4g}.",
                f"{self.count} of {self.blocks} blocks (with noise) have a p-value of at most "
                f"{self.threshold:g}; {expected:.3g} are expected under the null hypothesis.",
                privacy_note(self.privacy),
            ),
        )

    def to_json(self) -> str:
        """Return everything as JSON; `from_json` reads it."""
        return json.dumps(
            {
                "dpreg_test": _FORMAT,
                "name": self.name,
                "count": self.count,
                "blocks": self.blocks,
                "threshold": self.threshold,
                "privacy": self.privacy.to_dict(),
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> DPTest:
        """Read what `to_json` wrote.

        Raises
        ------
        ValueError
            If `text` is something else.
        """
        with reading("this is not a test", _FORMAT):
            data = parsed(text, _DOCUMENT, _FORMAT)
            if not (0 < data["threshold"] < 1 and data["blocks"] >= 1):
                raise ValueError("threshold or blocks: out of range")
        whole = {name: int(data[name]) for name in ("count", "blocks")}
        return cls(**{**data, **whole, "privacy": Certificate.from_dict(data["privacy"])})

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def __repr__(self) -> str:
        return str(self.summary())
