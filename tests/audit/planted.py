"""Ten leaks, each as somebody in a hurry would write it, and with the seal broken on purpose.

`LEAKS` says who refuses each: what is written here is what the tests find, and what the page on
privacy prints.  *plain* is code that does not know that a value is sealed; *forced* calls
`opened`, or has nothing to do with what is sealed.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from pathlib import Path

from audit.patches import OPEN, edited

import dpreg
from dpreg.audit.replay_calls import PublicCall
from dpreg.data import partitioned
from dpreg.estimation import standardised
from dpreg.estimation.methods import Auto, BoostedAdaSSP
from dpreg.estimation.methods import auto as _auto
from dpreg.estimation.newton import newton
from dpreg.estimation.releases import accountant, column_scaling, moments, quantised, residuals

CLAIM = (100.0, 1e-2)
FIT = PublicCall("dp_lm", "y ~ a", CLAIM, {"method": BoostedAdaSSP(), "diagnostics": True})
PARTED = PublicCall("dp_moments", "y ~ a", CLAIM, container="dask")
CHOSEN = PublicCall("dp_lm", "y ~ a", CLAIM, {"method": Auto(), "inference": False})


@dataclass(frozen=True)
class Leak:
    """A leak, and who refuses it.

    Attributes
    ----------
    name : str
    owner, function : object, str
        Which function is changed.
    old, plain, forced : str
        A line of it, and what becomes of the line.
    call : PublicCall
        That reaches it.
    mypy, run : bool
        Whether the plain one is refused by the type checker, and when it runs.
    syntax : bool
        Whether tests/test_sealed.py refuses the forced one.
    replay : bool
        Whether a replay finds the forced one.
    boundary : bool
        Whether it is seen beside the released numbers of its call, as tests/boundary compares them.
    other : str
        Who else does.
    """

    name: str
    owner: object
    function: str
    old: str
    plain: str
    forced: str
    call: PublicCall = FIT
    mypy: bool = True
    run: bool = True
    syntax: bool = True
    replay: bool = True
    boundary: bool = False
    other: str = ""

    @property
    def row(self):
        """Of the table on the page on architecture."""
        refusals = (self.mypy, self.run, self.syntax, self.replay, self.boundary)
        found = ("yes" if one else "" for one in refusals)
        cells = (self.name, *found, self.other and f"`{self.other}`")
        return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"

    def apply(self, line, stack):
        edited(self.owner, self.function, (self.old, line))(stack)

    def written(self, line):
        """Return the file of the function, its source, and that with the line in it."""
        function = inspect.unwrap(vars(self.owner)[self.function])
        file = Path(inspect.getsourcefile(function)).relative_to(Path(dpreg.__file__).parent)
        source = inspect.getsource(function)
        bare = textwrap.dedent(source)
        assert bare.count(self.old) == 1, self.name
        indent = source[: len(source) - len(source.lstrip())]
        return file.as_posix(), source, textwrap.indent(bare.replace(self.old, line), indent)


_ROWS = 'noise.release("number of rows", number, noise.share(_COUNT))'
_LABEL = 'label = "number of units, to choose the method"'
_HIGH = "float(scales.high[-1])\n    if line"
_RELEASED = """counts, deviation = noise.release(
            "orders of magnitude of residuals",
            design.total(ResidualMagnitudes(line, float(scales.scale[-1]))),
            noise.put_aside(_MAGNITUDES),
        )"""
_LOOK = "design.total(ResidualMagnitudes(line, float(scales.scale[-1])))"
_SAMPLED = "    scales = standardisation.release("
_GRAM = "symmetric(label, rows.gram(), noise, mu)"
_KEPT = 'globals().setdefault("_GRAMS", {}).setdefault(rows.width, rows.gram())'
_SCORE = "rounds.rows.score(rounds.path.theta, rounds.limits.usual)"
_GO = "rounds.go(limit, part, last=last)"
_LOG = "    import logging\n\n    logging.getLogger(__name__).warning("

LEAKS = (
    Leak(
        "a branch on an exact count",
        column_scaling, "column_scales", _ROWS,
        _ROWS.replace("(_COUNT)", "(_COUNT if number > 19 else 2 * _COUNT)"),
        _ROWS.replace("(_COUNT)", f"(_COUNT if {OPEN}(number)[0] > 19 else 2 * _COUNT)"),
    ),
    Leak(
        "a length in a message",
        _auto.Auto, "release", _LABEL,
        'label = f"number of units among {len(design.arrays())}"',
        f'label = f"number of units among {{len({OPEN}(design.arrays()).y)}}"',
        call=CHOSEN,
    ),
    Leak(
        "a limit from an exact maximum",
        residuals, "_diagnostics", _HIGH,
        _HIGH.replace("float(scales.high[-1])", "float(design.arrays().y.max())"),
        _HIGH.replace("float(scales.high[-1])", f"float({OPEN}(design.arrays()).y.max(initial=0))"),
    ),
    Leak(
        "use of exact residuals",
        residuals, "released_extras", _RELEASED,
        f"counts, deviation = {_LOOK}, 1.0",
        f"counts, deviation = {OPEN}({_LOOK}).astype(float), 1.0",
    ),
    Leak(
        "a cached sum",
        moments, "noisy_gram", _GRAM,
        _GRAM.replace("rows.gram()", _KEPT),
        _GRAM.replace("rows.gram()", _KEPT),
        mypy=False, run=False, replay=False,
    ),
    Leak(
        "a log line",
        standardised, "with_moments", _SAMPLED,
        f'{_LOG}"%d units", design.unit_count)\n{_SAMPLED}',
        f'{_LOG}"%d units", {OPEN}(design.unit_count)[0])\n{_SAMPLED}',
        call=CHOSEN, mypy=False, run=False, replay=False, boundary=True,
    ),
    Leak(
        "early stopping by an exact change",
        newton, "newton", _GO,
        f"{_GO}\n        if {_SCORE} > 0:\n            return",
        f"{_GO}\n        if {OPEN}({_SCORE})[0] > 0:\n            return",
    ),
    Leak(
        "reused noise",
        accountant.GaussianReleases, "_noise", "self.bits, ",
        "_core.TestBits(1), ", "_core.TestBits(1), ",
        mypy=False, run=False, replay=False, other="audit: fresh noise",
    ),
    Leak(
        "a sensitivity wrong by sqrt 2",
        quantised, "_score", "_core.score_sensitivity(width)",
        "_core.score_sensitivity(width) / math.sqrt(2)",
        "_core.score_sensitivity(width) / math.sqrt(2)",
        mypy=False, run=False, syntax=False,
    ),
    Leak(
        "a row counted in two partitions",
        partitioned.Task, "__call__", "sums += self.statistic(X, y)",
        "sums += self.statistic(X, y) + self.statistic(X[-1:], y[-1:])",
        "sums += self.statistic(X, y) + self.statistic(X[-1:], y[-1:])",
        call=PARTED, mypy=False, run=False, syntax=False, other="tests/data/test_engines.py",
    ),
)  # fmt: skip
