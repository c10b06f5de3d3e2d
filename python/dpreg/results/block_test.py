"""What a private test of blocks released."""

from __future__ import annotations

from dataclasses import dataclass

from dpreg.estimation.inference.noisy_binomial import noisy_binomial_p_value
from dpreg.privacy.certificate import Certificate
from dpreg.results.document import fields_from, reading, written
from dpreg.results.summary import Summary, privacy_note

_KIND, _FORMAT = "dpreg_test", 2


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
        return written(_KIND, _FORMAT, self)

    @classmethod
    def from_json(cls, text: str) -> DPTest:
        """Read what `to_json` wrote.

        Raises
        ------
        ValueError
            If `text` is something else.
        """
        with reading("this is not a test", _FORMAT):
            data = fields_from(text, _KIND, _FORMAT, cls)
            if not (0 < data["threshold"] < 1 and data["blocks"] >= 1):
                raise ValueError("threshold or blocks: out of range")
        return cls(**data)

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def __repr__(self) -> str:
        return str(self.summary())
