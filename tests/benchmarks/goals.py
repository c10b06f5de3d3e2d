"""The goals of the design, and what the figures of the benchmarks say of each.

A goal whose benchmark did not run is not judged; of quick runs the words say that sizes differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from measure import spread

# Median test R2 at eps = ln 3 of two prototypes: floors to beat.
FLOORS = {
    "diamonds": 0.904, "visualizing_soil": 0.829, "brazilian_houses": 0.939, "elevators": 0.820,
    "bike_sharing": 0.607, "keggdirected": 0.922, "house_8L": 0.479, "randhie": 0.531,
    "protein": 0.276, "cpssw8": 0.263, "nycflights13": 0.879, "api_schools": 0.843,
    "abalone": 0.448, "analcatdata_supreme": -0.01, "space_ga": 0.430,
}  # fmt: skip
LN3 = round(math.log(3), 3)


@dataclass(frozen=True)
class Verdict:
    measured: str
    met: bool | None  # None: not measured
    note: str = ""


NOT_MEASURED = Verdict("not measured", None)


@dataclass(frozen=True)
class Goal:
    topic: str
    text: str
    judge: Callable[[dict], Verdict]


def at_least(key, limit, unit=" times"):
    return figure(key, lambda median: median >= limit, unit)


def at_most(key, limit, unit=""):
    return figure(key, lambda median: median <= limit, unit)


def within(key, low, high):
    return figure(key, lambda median: low <= median <= high, "")


def figure(key, holds, unit):
    """Judge by the median of a figure; its range stands beside it."""

    def judge(found):
        row = found["figures"].get(key)
        if row is None:
            return NOT_MEASURED
        measured = spread([row["least"], row["median"], row["most"]], unit)
        return Verdict(measured, holds(row["median"]), row["note"])

    return judge


def ratios(found, eps=LN3):
    """Return name, n and R2 of auto over that of OLS, and auto itself, by medians."""
    rows = found["accuracy"].get(eps)
    if rows is None:
        return None
    result = []
    for row in rows:
        values = np.array(row["scores"]["auto"], dtype=float)
        auto = float(np.median(np.where(np.isnan(values), -np.inf, values)))
        result.append((row["name"], row["n"], auto / np.median(row["scores"]["ols"]), auto))
    return result


def accuracy(text):
    def judge(found):
        rows = ratios(found)
        return NOT_MEASURED if rows is None else text(rows)

    return judge


def near_ols(rows):
    large = [(ratio, name) for name, n, ratio, _ in rows if n >= 5000]
    near = sum(ratio >= 0.95 for ratio, _ in large)
    return Verdict(f"{near} of {len(large)}, least {min(large)[0]:.3f}", near >= 0.8 * len(large),
                   min(large)[1])  # fmt: skip


def never_far(rows):
    least = min((ratio, name) for name, n, ratio, _ in rows if n >= 5000)
    return Verdict(f"least {least[0]:.3f}", least[0] >= 0.8, least[1])


def positive(rows):
    least = min((auto, name) for name, _, _, auto in rows)
    return Verdict(f"least {least[0]:.3f}", least[0] > 0, least[1])


def floors(rows):
    below = [f"{name} {auto:.3f} < {FLOORS[name]}" for name, _, _, auto in rows
             if name in FLOORS and auto < FLOORS[name]]  # fmt: skip
    total = sum(name in FLOORS for name, *_ in rows)
    return Verdict(f"{total - len(below)} of {total}", not below, "; ".join(below))


def peers(holds):
    """Judge, by medians, each data set and eps; `holds` says of which n and eps, and what."""

    def judge(found):
        if not found["peers"]:
            return NOT_MEASURED
        from bench_peers import METHODS, middles

        cells, lost = 0, []
        for row in found["peers"]:
            for eps in sorted({r["eps"] for r in row["results"] if r["eps"] is not None}):
                ols, best = middles(row, eps)
                theirs = max(METHODS[2:], key=best.__getitem__)
                met = holds(row["n"], eps, best["auto"], best[theirs], ols)
                cells += met is not None
                if met is False:
                    lost.append(f"{row['name']} at {eps:.3g} to {theirs}")
        return Verdict(f"{cells - len(lost)} of {cells}", not lost, "; ".join(lost))

    return judge


def best_or_near(n, eps, auto, theirs, ols):
    if n < 5000 or eps != 1:
        return None
    return auto >= theirs or auto >= 0.99 * ols


def glm(kind, judge_cell):
    """Judge `dp_glm` in the cells of `bench_glm`; `kind` is "" for log-loss, " AUC" for AUC."""

    def judge(found):
        from bench_glm import EPS, METHODS, SETS

        medians = {k: row["median"] for k, row in found["figures"].items()}
        cells = [(name, eps) for name in SETS for eps in EPS
                 if f"glm {name} {eps:g} {METHODS[0]}{kind}" in medians]  # fmt: skip
        if not cells:
            return NOT_MEASURED
        met = {}
        for name, eps in cells:
            ours, *theirs = (medians[f"glm {name} {eps:g} {m}{kind}"] for m in METHODS)
            met[f"{name} at {eps:g}"] = judge_cell(eps, ours, theirs,
                                                   medians[f"glm {name} exact{kind}"])  # fmt: skip
        judged = {k: v for k, v in met.items() if v is not None}
        lost = [k for k, v in judged.items() if not v]
        return Verdict(f"{len(judged) - len(lost)} of {len(judged)}", not lost, "; ".join(lost))

    return judge


def near_exact(eps, ours, _, exact):
    allowed = {1.0: 0.01, 0.1: 0.04}.get(eps)
    return None if allowed is None else bool(ours >= exact - allowed)


def intervals(found):
    """Coverage of what `auto` mostly takes, given Monte Carlo error."""
    rows = [r for r in found["coverage"] if r["method"] == "boosted_adassp"
            and not np.isnan(r["coverage"])]  # fmt: skip
    if not rows:
        return NOT_MEASURED
    inside = sum(0.93 <= r["coverage"] <= 0.97 for r in rows)
    clear = [r for r in rows if not 0.93 - 2 * r["error"] <= r["coverage"] <= 0.97 + 2 * r["error"]]
    where = "; ".join(f"{r['design']} n={r['n']:,} d={r['d']}: {100 * r['coverage']:.1f}"
                      for r in clear)  # fmt: skip
    runs = [r["runs"] for r in rows]
    text = (f"{inside} of {len(rows)} cells, {len(clear)} outside by more than twice the Monte "
            f"Carlo error; {min(runs)} to {max(runs)} runs a cell")  # fmt: skip
    # With fewer than 1000 runs a cell outside may be an accident, and one inside too.
    return Verdict(text, not clear and inside == len(rows) and min(runs) >= 1000, where)


def widths(found):
    """Our intervals against the best of those with bounds 3 times too wide, where both are."""
    by_cell = {}
    for r in found["coverage"]:
        by_cell.setdefault((r["design"], r["n"], r["d"]), {})[r["method"]] = r["width"]
    wins, lost = 0, []
    for (design, n, d), width in by_cell.items():
        ours = width.get("boosted_adassp")
        theirs = [w for m, w in width.items() if m.endswith(" x3") and w is not None]
        if ours is None and not theirs:
            continue
        if ours is not None and ours < min(theirs, default=math.inf):
            wins += 1
        else:
            lost.append(f"{design} n={n:,} d={d}")
    if not wins + len(lost):
        return NOT_MEASURED
    return Verdict(f"{wins} of {wins + len(lost)} cells", not lost, "; ".join(lost))


def counts(key, total, text, wanted=None):
    """Judge that nothing of `key` was found among `total`, of which there should be `wanted`."""

    def judge(found):
        row, whole = found["figures"].get(key), found["figures"].get(total)
        if row is None:
            return NOT_MEASURED
        met, note = row["median"] == 0, row["note"]
        if met and wanted is not None and whole["median"] < wanted:
            met, note = None, f"too few to judge; `make audit` and `make fuzz` go on {note}"
        return Verdict(f"{row['median']:.0f} of {whole['median']:,.0f} {text}", met, note)

    return judge


SPEED, LAW = "speed and memory", "trust"
GOALS = (
    Goal("accuracy", "auto at ln 3: 0.95 of OLS on four of five data sets, n >= 5,000",
         accuracy(near_ols)),
    Goal("accuracy", "auto at ln 3: 0.8 of OLS on every one, n >= 5,000", accuracy(never_far)),
    Goal("accuracy", "auto at ln 3: above 0 on every one, n >= 2,000", accuracy(positive)),
    Goal("accuracy", "auto at ln 3: the better prototype's R2 on every one", accuracy(floors)),
    Goal("accuracy", "auto above what users could pick instead, every data set and eps",
         peers(lambda n, eps, auto, theirs, ols: auto >= theirs)),
    Goal("accuracy", "auto at eps = 1, n >= 5,000: best, or within 1% of the R2 of OLS",
         peers(best_or_near)),
    Goal("accuracy", "dp_glm: AUC within .01 of exact at eps = 1, .04 at .1",
         glm(" AUC", near_exact)),
    Goal("accuracy", "dp_glm: log-loss below all others that get bounds, every eps",
         glm("", lambda eps, ours, theirs, exact: ours < min(theirs))),
    Goal("inference", "coverage of 93 to 97% in every cell of 1,000 runs", intervals),
    *(Goal("inference", f"BinAgg's design, mu = {mu:g}: 94 to 96% covered",
           within(f"binagg_coverage_{mu:g}", 0.94, 0.96)) for mu in (0.5, 1, 2, 5)),
    *(Goal("inference", f"BinAgg's design, mu = {mu:g}: not wider than it",
           at_most(f"binagg_width_{mu:g}", 1.0)) for mu in (0.5, 1, 2, 5)),
    Goal("inference", "narrower than with bounds 3 times too wide, in every cell", widths),
    *(Goal("one-shot limit",
           f"{family}, {kind}: at most {most} times its noise{of and ', as'}{of}, in every cell",
           at_least(f"limit {family} {name}{of}", 1.0, " of the cells"))
      for family in ("gaussian", "binomial") for of in ("", " made")
      for name, kind, most in (("other", "all designs but lognormal", 1.4),
                               ("lognormal", "lognormal", 1.8))),
    Goal("one-shot limit", "real tables: median width at most 1.25 times its",
         at_most("limit tables", 1.25)),
    Goal("one-shot limit", "real tables: 1.6 times at most, where it moves little",
         at_most("limit tables worst", 1.6)),
    Goal("one-shot limit", "noisy steps of a fit: median at most 14", at_most("limit steps", 14)),
    Goal("one-shot limit", "noisy steps of a fit: at most 20", at_most("limit most steps", 20)),
    Goal(SPEED, "Kendall of one pair: 4 times scipy", at_least("kendall", 4)),
    Goal(SPEED, "the same with many ties: 4 times scipy", at_least("kendall_ties", 4)),
    Goal(SPEED, "Kendall of one pair: 3 times pcaPP::cor.fk", at_least("kendall_r", 3)),
    Goal(SPEED, "scores of DPKendall: 12 times scipy in a loop", at_least("dp_kendall", 12)),
    Goal(SPEED, "TukeyEM: at most 4 times one X.T @ X", at_most("tukey", 4, " times")),
    Goal(SPEED, "TukeyEM: faster than sklearn a batch", at_least("tukey_sklearn", 1)),
    Goal(SPEED, "TukeyEM: peak memory below 1.3 X", at_most("tukey_memory", 1.3)),
    Goal(SPEED, "TukeyEM with AVX2 alone: 2.5 times X.T @ X", at_most("tukey_avx2", 2.5)),
    Goal(SPEED, "Boosted AdaSSP: 0.7 of a loop in numpy", at_most("boosted", 0.7)),
    Goal(SPEED, "Boosted AdaSSP with AVX2 alone: 0.3 of it", at_most("boosted_avx2", 0.3)),
    Goal(SPEED, "Gram matrix with AVX2 alone: X.T @ X", at_most("gram_avx2", 1.0)),
    Goal(SPEED, "canonical Lipschitz: 20 times an O(dk) loop", at_least("canonical", 20)),
    Goal(SPEED, "canonical Lipschitz: 2 s at most", at_most("canonical_seconds", 2, " s")),
    Goal(SPEED, "SubLasso: 20 times sklearn.Lasso a batch", at_least("sub_lasso", 20)),
    Goal(SPEED, "DP-FW, KDDA's shape: 100 times as fast as a step over all columns",
         at_least("frank_wolfe_dense", 100)),
    Goal(SPEED, "DP-FW, the same, no column frequent", at_least("frank_wolfe_even_dense", 100)),
    Goal(SPEED, "DP-FW: memory 2.2 times that of the CSR arrays",
         at_most("frank_wolfe_memory", 2.2)),
    Goal(SPEED, "10^7 x 10 from Parquet: 3 times DuckDB's means and products",
         at_most("large", 3.0, " times")),
    Goal(SPEED, "import dpreg: 1.3 times numpy, scipy, pandas", at_most("import", 1.3)),
    Goal(LAW, "no claim is seen to be broken", counts("claims_broken", "claims", "claims")),
    Goal(LAW, "lower bounds above half of each claim", counts("claims_blunt", "claims", "claims")),
    Goal(LAW, "every mutant tried is rejected", counts("mutants_accepted", "mutants", "accepted")),
    Goal(LAW, "no exception or warning in 1e5 hostile inputs",
         counts("hostile_wrong", "hostile", "fits", 100_000)),
)  # fmt: skip
WORDS = {True: "met", False: "**not met**", None: "**not judged**"}
QUICK_WORDS = {True: "met at this size", False: "not met at this size", None: "not judged"}


def table(found, *, quick):
    """Return lines of Markdown: every goal with what was measured."""
    words = QUICK_WORDS if quick else WORDS
    rows = [(goal, goal.judge(found)) for goal in GOALS]
    lines = ["| | goal | measured | | |", "|---|---|--:|---|---|"]
    lines += [
        f"| {goal.topic} | {goal.text} | {v.measured} | {words[v.met]} | {v.note} |"
        for goal, v in rows
    ]
    count = {met: sum(v.met is met for _, v in rows) for met in words}
    lines += ["", f"Met {count[True]}, not met {count[False]}, not judged {count[None]}."]
    return lines
