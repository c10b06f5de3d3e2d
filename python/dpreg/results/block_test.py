"""What a private test of blocks released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpreg.estimation.inference.noisy_tests import noisy_binomial_p_value
from dpreg.privacy.certificate import Certificate
from dpreg.results.document import Saved
from dpreg.results.summary import Summary, privacy_note


@dataclass(frozen=True, slots=True, repr=False)
class DPTest(Saved):
    """A private test.  Holds released numbers only.

    Attributes
    ----------
    name : str
        Of the statistic.
    count : int
        Noisy number of blocks with a p-value of at most `threshold`.
    fraction : float
        Random number between 0 and 1, independent of the data.  It is added to `count` for
        `pvalue`, so that the test is exact at each level.
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

    _document = ("this is not a test", "dpreg_test", 3)

    name: str
    count: int
    fraction: float
    blocks: int
    threshold: float
    privacy: Certificate

    @property
    def pvalue(self) -> float:
        """Probability of as many small p-values, or more, if the null hypothesis is true.

        Exact if the p-values of blocks are uniform, and conservative if they are larger.
        """
        seen = self.count + self.fraction
        return noisy_binomial_p_value(seen, self.blocks, self.threshold, self.privacy.epsilon)

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

    @classmethod
    def _check(cls, data: Mapping[str, Any]) -> None:
        shares = data["threshold"], data["fraction"]
        if not (all(0 < share < 1 for share in shares) and data["blocks"] >= 1):
            raise ValueError("threshold, fraction or blocks: out of range")
