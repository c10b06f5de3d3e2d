"""Typical mistakes, and a table of the message for each.

python tests/mistakes.py > vignettes/messages.md
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import dpreg

__all__ = ["MISTAKES", "Data", "Mistake", "message_of"]


@dataclass(frozen=True)
class Mistake:
    """What was typed, in Python or after `dpreg`; what the message begins with and says."""

    typed: str
    argument: str
    says: str

    @property
    def in_shell(self):
        return self.typed.startswith("dpreg ")


class Data:
    """What the mistakes are made with."""

    def __init__(self, folder: Path):
        n = 300
        rng = np.random.default_rng(20260101)
        self.df = pd.DataFrame(
            {
                "y": rng.standard_normal(n),
                "x": rng.standard_normal(n),
                "city": rng.choice(["Oslo", "Rome"], n),
                "sex": rng.choice(["f", "m"], n),
                "year": rng.integers(2000, 2005, n),
                "when": pd.date_range("2020-01-01", periods=n),
                "person": np.arange(n) // 2,
                "k": pd.Categorical(rng.choice(["u", "v"], n), ["u", "v"]),
            }
        )
        self.folder = folder
        self.df.to_parquet(folder / "d.parquet")
        self.df.to_csv(folder / "d.csv")
        (folder / "fit.json").write_text("{}")
        dpreg.Budget(1.0, 1e-5, ledger=folder / "kept", name="visits", user="ada")
        self.budget = dpreg.Budget(1.0, 1e-5)
        self.fit = dpreg.dp_lm("y ~ x", self.df, 5.0, rng=1)

    def charges(self):
        return self.budget.charges, dpreg.Budget.open(self.folder / "kept").charges


def message_of(mistake: Mistake, data: Data) -> str:
    """Make the mistake and return the message, without the folder it was made in."""
    message = _in_shell(mistake, data) if mistake.in_shell else _in_python(mistake, data)
    return message.replace(f"{data.folder}/", "")


def _in_python(mistake, data):
    names = {"dpreg": dpreg, "df": data.df, "budget": data.budget, "pd": pd, "np": np,
             "fit": data.fit, "dp_glm": dpreg.dp_glm,
             "kept": str(data.folder / "kept"), "csv": str(data.folder / "d.csv")}  # fmt: skip
    names |= {name: getattr(dpreg, name) for name in ("dp_lm", "dp_select", "dp_plan", "Budget")}
    try:
        eval(mistake.typed, names)
    except Exception as error:
        return str(error)
    raise AssertionError(f"nothing was said about {mistake.typed}")


def _in_shell(mistake, data):
    import shlex

    from dpreg.faces.cli.commands import main

    words = shlex.split(mistake.typed)[1:]
    said = io.StringIO()
    with contextlib.chdir(data.folder), contextlib.redirect_stderr(said):
        code = main(words)
    if code != 2:
        raise AssertionError(f"exit code {code} for {mistake.typed}: {said.getvalue()}")
    return said.getvalue().strip().splitlines()[-1].removeprefix("dpreg: ")


MISTAKES = [
    Mistake(typed, argument, says)
    for typed, argument, says in [
        # Names from other packages.
        ("dp_lm('y ~ x', df, epsilon=1)", "epsilon: dp_lm() has no such argument", "write eps"),
        ("dp_lm('y ~ x', df)", "eps must be given", "compute it with dp_plan()"),
        ("dp_select('y ~ x', df, eps=1)", "k must be given", "write k=5"),
        ("dp_lm('y ~ x', df, eps=df['x'])", "eps must be a number", "got a Series"),
        ("dp_lm('y ~ x', df, eps=df['x'].tolist())", "eps must be a number", "got a list"),
        ("dp_plan(df, 3, eps=1)", "n must be an integer", "got a DataFrame"),
        ("dp_glm('y ~ x', df, 1, family='logit')", "family", "write family='binomial'"),
        ("dp_glm('y ~ x', df, 1, family='nb')", "family", "write family='negativebinomial'"),
        ("dp_glm('y ~ x', df, 1, family='probit')", "family",
         "write family='binomial' and link='probit'"),
        ("dp_glm('y ~ x', df, 1, family='multinomial')", "family", "is dp_multinomial()"),
        ("dp_lm('y ~ poly(x, 2)', df, 1)", "formula",
         "write bounds={'x': (low, high)} with public limits, or write poly(x, 2, raw=True)"),
        ("dp_lm('y ~ x', df, 1, seed=1)", "seed", "write rng, which makes the result reproducible"),
        ("dp_lm('y ~ x', df, 1, random_state=1)", "random_state", "write rng"),
        ("dp_lm('y ~ x', df, 1, weights=df['x'])", "weights", "name of one column"),
        ("dp_lm('y ~ x', df, 1, sample_weight=df['x'])", "sample_weight", "write weights with"),
        ("dp_lm('y ~ x', df, 1, bounds={'X': (0, 1)})", "bounds", "bounds={'x': (low, high)}"),
        ("dp_lm('y ~ x', df, 1, bounds={'x': ('a', 'b')})", "bounds", "two numbers; write bounds"),
        ("dp_lm('y ~ x', df, 1, levels={'x': ['a']})", "levels", "write levels={'x': ['first'"),
        ("dp_lm('y ~ x', df, 1, start=3)", "start", "not an int; start from a fit of the same"),
        ("dp_lm('y ~ x', df, 1, stratum='k')", "stratum", "write budget with one stratum"),
        ("dp_lm('y ~ x', df, 1, cov_type='HC3')", "cov_type", "dpreg.AdaSSP(cov_type="),
        ("dp_lm('y ~ x', df, 1, family='gaussian')", "family", "leave it out"),
        ("dp_lm('y ~ x', df, 1, max_rows=3)", "max_rows", "add unit='person'"),
        ("dp_lm('y ~ x', df, 1, groups='person')", "groups", "write unit"),
        ("dp_lm('y ~ x', df, 1, alpha=0.1)", "alpha", "summary(alpha=0.1)"),
        ("dp_lm('y ~ x', df, 1, confidence=0.9)", "confidence", "summary(alpha=0.1)"),
        ("dp_lm('y ~ x', df, 1, data_norm=3)", "data_norm", "leave it out: limits are estimated"),
        ("dp_lm('y ~ x', df, 1, id='person')", "id", "write unit"),
        ("dp_lm('y ~ x', df, 1, na_action='drop')", "na_action", "incomplete rows are dropped"),
        ("dp_lm('y ~ x', df, 1, meth='tukey')", "meth", "write method"),
        ("dp_lm(y=df['y'], X=df[['x']], eps=1)", "y", "write formula and data"),
        ("Budget(epsilon=1.0)", "epsilon: Budget() has no such argument", "write eps"),
        ("dp_plan(rows=100, features=2, eps=1)", "rows", "write n"),
        ("dp_select('y ~ .', df, n_features_to_select=1, eps=1)", "n_features", "write k"),
        ("dp_glm('k ~ x', df, 1, reference='v')", "reference", "the first of the levels is"),
        ("dpreg.dp_logit('y ~ x', df, 1)", "module 'dpreg' has no attribute", "write dp_glm"),
        ("dpreg.cox('Surv(x, k) ~ 1', df, 1)", "module 'dpreg' has no", "write dp_survival"),
        # Arguments in another order, or of another kind.
        ("dpreg.dp_moments(df, 1)", "formula", "write dp_moments('~ x + z', data, ...)"),
        ("dp_lm(df, eps=1)", "formula: comes first", "write dp_lm('y ~ x', data, ...)"),
        ("dpreg.dp_moments(df, '~ x', 1)", "formula", "write the formula first, then the data"),
        ("dpreg.dp_moments(df, df, 1)", "formula", "'~ price + carat', or a list of terms"),
        ("dpreg.dp_survival(data=df, eps=1)", "formula", "write formula='Surv(time, event) ~ x'"),
        ("dp_lm('y ~ x')", "data must be given", "a dict of arrays or the path of a Parquet file"),
        ("dp_glm('y ~ x', df, 1, 'binomial')", "delta", "and other arguments by name"),
        ("dp_plan(1000, eps=1)", "d must be given", "write d=10"),
        ("dp_plan(n=1e5, d=3, eps=1)", "n must be an integer", "write n=100000"),
        ("dp_plan('y ~ x', df, 1)", "d must be an integer", "write d=10, for example"),
        ("dp_lm(df, 'y ~ x', 1)", "formula", "write the formula first, then the data"),
        ("dp_lm(df, df, 1)", "formula", "must be a string such as 'y ~ x', not a DataFrame"),
        ("dp_lm('y ~ x', df, '1')", "eps must be a number", "write eps=1.0"),
        ("dp_lm('y ~ x', df, 0)", "eps must be", "got 0"),
        ("dp_lm('y ~ x', df, 1, 5)", "delta must be", "got 5"),
        ("dp_lm('y ~ x', df, 1, 0)", "delta", "write delta=1e-06"),
        ("dp_lm('y ~ x', df, 1, inference='no')", "inference must be True or False", "'no'"),
        ("dp_lm('y ~ x', df, 1, rng='a')", "rng must be None", "got 'a'; write rng=1"),
        ("dp_lm('y ~ x', [[1, 2]], 1)", "data must be", "not a list"),
        ("dp_lm('y ~ x', csv, 1)", "data", "pyarrow.csv.read_csv("),
        ("dp_lm('y ~ x', df.to_csv(), 1)", "data", "not the text of a table"),
        ("dp_lm('y ~ x', 'https://a.org/d.parquet', 1)", "data", "download it first"),
        ("dp_lm('y ~ x', 'nowhere.parquet', 1)", "data", "there is no such file"),
        # Effects and survival.
        ("dpreg.dp_effect('y ~ x', df, 1)", "treatment must be given", "treatment='arm'"),
        ("dpreg.dp_effect('person ~ x', df, 1, treatment='k', family='binomial', "
         "bounds={'person': (1, 2)})", "bounds", "write I(person == 2)"),
        ("dpreg.dp_curve('Surv(x) ~ 1', df, 1, cuts=[1, 2])", "formula", "given 1 argument;"),
        ("dpreg.dp_curve('Surv(x, k) ~ 1', df, 1, cuts=[2, 1])", "cuts", "write cuts=[90, 180"),
        ("dpreg.dp_curve('Surv(x, k) ~ 1', df, 1, cuts=[1, 2])", "formula", "Surv(x, k == 'v')"),
        ("dpreg.dp_curve('Surv(x, y) ~ 1', df, 1, cuts=[-1, 2])", "start", "are not above"),
        ("dpreg.dp_test('ttest', df, 1)", "statistic must be a function", "got 'ttest'"),
        ("dpreg.dp_effect('y ~ x', df, 1, treatment='k', method='ipw')", "method",
         "write method='aipw'"),
        ("dpreg.dp_effect('y ~ x', df, 1, treatment='k', estimand='ATT')", "estimand",
         "the effect is the average over all rows"),
        ("dpreg.dp_effect('y ~ x', df, 1, treatment='k', instrument='year')", "instrument",
         "for two-stage least squares write dp_moments(...).iv()"),
        ("dpreg.dp_survival('Surv(0, x, y) ~ k', df, 1, cuts=[1, 2])", "formula",
         "Surv() needs columns, and '0' is a number"),
        ("dp_glm('y ~ x', df, 1, family='quantile', tau=0.9)", "tau",
         "write family=dpreg.Quantile(q=0.9)"),
        ("dp_glm('y ~ x', df, 1, family='negativebinomial', alpha=0.5)", "alpha",
         "for negative binomial counts write family=dpreg.NegativeBinomial(alpha=0.5)"),
        ("dpreg.dp_effect('y ~ x', df, 1, treatment='k', family='poisson')",
         "family must be 'gaussian' or 'binomial', got 'poisson'", "write family='gaussian'"),
        # Formulas.
        ("dp_lm('y ~ z', df, 1)", "formula", "there is no column 'z'; the data have 'y', 'x'"),
        ("dp_lm('y ~ X', df, 1)", "formula", "perhaps 'x' was meant"),
        ("dp_lm('y ~ x +', df, 1)", "formula", "write 'response ~ term + term'"),
        ("dp_lm('x', df, 1)", "formula", "must have one response"),
        ("dp_lm('y ~ x + y', df, 1)", "formula", "leave it out on the right"),
        ("dp_lm('y ~ scale(x)', df, 1)", "formula", "depends on the other rows"),
        ("dp_lm('y ~ ns(year, 3)', df, 1)", "formula", "ns(year, knots=["),
        ("dpreg.dp_moments('x, k', df, 1)", "formula", "write '~ x + k'"),
        ("dpreg.dp_survival('Surv(y, k) ~ x, k', df, 1, cuts=[1, 2])", "formula",
         "cannot read 'x, k'"),
        ("dpreg.dp_multinomial('k ~ x, y', df, 1)", "formula",
         "cannot read 'k ~ x, y'"),
        ("dp_lm('y ~ x - 1 - x', df, 1)", "formula", "nothing on its right-hand side"),
        ("dp_lm('y ~ city', df, 1)", "levels", "add levels={'city': ['first', 'second', ...]}"),
        ("dp_lm('y ~ city + sex', df, 1)", "levels", "{'city': ['first', 'second', ...], 'sex'"),
        ("dp_lm('y ~ C(year)', df, 1)", "levels", "without declared levels"),
        ("dp_lm('y ~ when', df, 1)", "formula", "days since a fixed date"),
        ("dp_lm('city ~ x', df, 1, levels={'city': ['Oslo', 'Rome']})", "formula",
         "for a category write I(city == 'Rome')"),
        ("dp_lm('y ~', df, 1)", "formula", "'y ~ 1' for the mean alone"),
        ("dp_lm('y ~ x**2', df, 1)", "formula", "write I(x ** 2) for the square"),
        ("dp_lm('y ~ x^2 + k', df, 1)", "formula", "write I(x ** 2) for the square"),
        ("dp_lm('y ~ I(x^2)', df, 1)", "formula", "I(x ** 2)"),
        ("dp_lm('y ~ 1/x', df, 1)", "formula", "write I(1 / x) for the reciprocal"),
        ("dp_lm('y ~ log(x, 10)', df, 1)", "formula", "write log(x), log10(x) or log2(x)"),
        ("dp_lm('y ~ ' + '*'.join(f'I(x+{i})' for i in range(20)), df, 1)", "formula",
         "name those that matter"),
        ("dp_lm('y ~ np.where(x > 0, 1, 0)', df, 1)", "formula", "write I(x > 0)"),
        ("dp_lm('y ~ cut(x, 3)', df, 1)", "formula", "with public breaks"),
        ('dp_lm("y ~ Q(\'x\')", df, 1)', "formula", "write `name of column`"),
        ("dp_lm(\"y ~ df['x']\", df, 1)", "formula", "write the name of the column alone"),
        ("dp_lm('y ~ x', {}, 1)", "formula", "the data have no columns"),
        ("dp_lm('y ~ x', pd.concat([df, df], axis=1), 1)", "data", "both named 'city'; rename one"),
        ("dp_lm('y ~ z', df.assign(z=pd.Categorical([None] * 300)), 1)", "levels",
         "is a category without levels"),
        ("dp_lm('y ~ log(\\xb5)', df.assign(**{'\\xb5': 1.0}), 1)", "formula: there is no column",
         "which looks the same; rename the column"),
        ("dp_lm('y ~ x', df, 1, bounds={'x': (1, 0)})", "bounds", "'x' needs low < high; "),
        ("dp_lm('log(x) ~ k', df, 1, bounds={'x': (1, 9)})", "bounds", "bounds={'log(x)': ("),
        ("dp_lm('y ~ x', df, 1, bounds={'x': 3})", "bounds", "two numbers, not an int"),
        ("dp_glm('y ~ x', df, 1, bounds={'y': (1, 2)})", "bounds", "write I(y == 2)"),
        # Of results.
        ("fit.predict(3)", "data must be", "not an int; write data={'x': [1.0, 2.0]}"),
        ("fit.predict({'z': [1]})", "data: there is no column 'x'", "the data have 'z'"),
        ("fit.predict({'x': 1})", "data: column 'x' must be", "write data={'x': [1.0, 2.0]}"),
        ("fit.predict(df.assign(x='a'))", "data: column 'x' was numeric", "convert it to numbers"),
        ("fit.residuals", "there is no 'residuals'", "use predict(data) for data that need no"),
        ("fit.conf_int(level=0.9)", "level", "write alpha=0.1"),
        ("fit.conf_int(0.95)", "alpha must be", "write alpha=0.05 for 95% intervals"),
        ("fit.summary2()", "there is no 'summary2'", "write summary()"),
        ("fit.pvalue", "'DPResults' object has no attribute", "perhaps 'pvalues' was meant"),
        ("fit.odds_ratios", "there is no 'odds_ratios'", "write tidy(exp=True)"),
        ("fit.save('fit.json')", "there is no 'save'", "write_text(fit.to_json())"),
        ("fit.score(df)", "there is no 'score'", "fit_stats=True in the call pays for rsquared"),
        ("fit.predict(df, se_fit=True)", "se_fit", "write interval='confidence'"),
        ("dpreg.dp_moments('~ x', df, 1).predict(df)", "there is no 'predict'", "lm(formula).pre"),
        ("dpreg.dp_moments('~ x + y', df, 1).fit('y ~ x')", "there is no 'fit'", "lm(formula)"),
        ("dpreg.dp_moments('~ x + y', df, 1).lm('y ~ x', 1)", "formula is the last", "leave out"),
        ("fit.plot('x')", "ax must be a Matplotlib axis", "leave ax out"),
        ("dpreg.DPResults.from_json('fit.json')", "this is not a dpreg result",
         "give the text of a file"),
        ("fit.coef_", "there is no 'coef_'", "write params"),
        ("fit.to_json('fit.json')", "to_json(): takes no arguments", "write_text(fit.to_json())"),
        ("fit.cov_params('x')", "cov_params(): takes no arguments", "write cov_params().loc["),
        ("fit.to_latex()", "there is no 'to_latex'", "write summary().as_latex()"),
        ("fit.predict()", "data must be given", "rows that need no protection"),
        ("fit.marginal_effects()", "data must be given", "rows that need no protection"),
        # Levels and units.
        ("dp_lm('y ~ city', df, 1, levels={'city': {'Oslo', 'Rome'}})", "levels",
         "in order: the first is the reference level"),
        ("dp_lm('y ~ city', df, 1, levels=['Oslo', 'Rome'])", "levels must be a dict", "list"),
        ("dp_lm('y ~ city', df, 1, levels={'city': 'Oslo'})", "levels", "those of 'city' must be"),
        ("dp_lm('y ~ city', df, 1, levels={'City': ['Oslo', 'Rome']})", "levels",
         "perhaps 'city' was meant"),
        ("dp_lm('y ~ city', df, 1, levels={'city': ['Oslo', 'Oslo']})", "levels", "all different"),
        ("dp_lm('y ~ city', df, 1, levels={'city': [1, 2]})", "levels", "must be text too"),
        ("dp_lm('y ~ x', df, 1, unit=df['person'])", "unit must be the name", "not a Series"),
        ("dp_lm('y ~ x', df, 1, unit='Person')", "unit", "perhaps 'person' was meant"),
        ("dp_lm('y ~ x + person', df, 1, unit='person')", "formula", "leave unit out"),
        ("dp_lm('y ~ x', df, 1, unit='person', max_rows=2.5)", "max_rows must be a whole number",
         "write max_rows=2"),
        ("dp_lm('y ~ x', df, 1, unit='person', max_rows='3')", "max_rows", "write max_rows=3"),
        ("dp_lm('y ~ x', df, 1, unit='person', max_rows=0)", "max_rows must be", "max_rows=5"),
        # Methods and selection.
        ("dp_lm('y ~ x', df, 1, method='Tukey')", "method must be one of", "write method='tukey'"),
        ("dp_lm('y ~ x', df, 1, method=dpreg.TukeyEM)", "method", "write dpreg.TukeyEM()"),
        ("dp_lm('y ~ x', df, 1, method=dpreg.TukeyEM(models=1))", "models must be", "at least 2"),
        ("dpreg.AdaSSP(cov_type='HC3')", "cov_type must be", "write cov_type='robust'"),
        ("dpreg.TukeyEM(models='a')", "models must be a whole number", "leave models out"),
        ("dpreg.Quantile(90)", "q must be a number", "write q=0.9"),
        ("dp_lm('y ~ x', df, 1, k=1)", "k", "add select='kendall', or leave k out"),
        ("dp_lm('y ~ x', df, 1, select='kendall')", "k", "k=5 is a good first choice"),
        ("dp_select('y ~ x', df, 2, 1)", "k must be 1, the number of terms", "got 2"),
        # Budgets.
        ("dp_lm('y ~ x', df, 2, budget=budget)", "budget", "write eps=1.0"),
        ("dp_lm('y ~ x', df, 1, budget=2)", "budget must be a budget", "dpreg.Budget(eps=2.0"),
        ("dp_lm('y ~ x', df, 1, budget=kept)", "budget", "budget=dpreg.Budget.open(path)"),
        ("budget.spend('counts')", "eps must be given, or mu", "write eps=0.5"),
        ("Budget(2.0, ledger=kept)", "ledger", "was made for eps=1.0, delta=1e-05; use these"),
        ("Budget(1, accounting='GDP')", "accounting must be one of", "write accounting='gdp'"),
        # The shell.
        ("dpreg fit d.parquet 'y ~ x' --eps 1", "FORMULA", "write the formula first"),
        ("dpreg fit 'y ~ x' d.parquet --epsilon 1", "--epsilon", "write --eps"),
        ("dpreg fit y ~ x d.parquet --eps 1", "FORMULA", "write it in quotes: 'y ~ x'"),
        ("dpreg fit 'y ~ x' d.parquet", "--eps", "write --eps 1, a common choice"),
        ("dpreg fit 'y ~ x' --eps 1", "DATA", "a Parquet file after the formula"),
        ("dpreg fit 'y ~ x' d.parquet --eps 1 --family poisson", "--family", "write dpreg glm"),
        ("dpreg glm 'y ~ x' d.parquet --eps 1 --quantile 0.9", "--quantile",
         "write --family quantile --option q=0.9"),
        ("dpreg lm 'y ~ x' d.parquet --eps 1", "--eps", "for a table write dpreg fit"),
        ("dpreg curve 'Surv(x, y) ~ 1' d.parquet --eps 1", "--cuts", "write --cuts 90,180,365"),
        ("dpreg plan --n 1000 --eps 1", "--d", "write --d 10"),
        ("dpreg fit 'y ~ x' d.parquet --eps 1 --out f.json", "--out", "write --json"),
        ("dpreg fit 'y ~ x' d.parquet --eps 1 --seed 1", "--seed", "write --rng"),
        ("dpreg fit 'y ~ city' d.parquet --eps 1", "--levels", "--levels city=first,second"),
        ("dpreg fit 'y ~ x' d.csv --eps 1", "DATA", "pyarrow.csv.read_csv('d.csv', "),
        ("dpreg fit 'y ~ x' d.parquet --eps 1 --bounds x=1,0", "--bounds", "--bounds x=LOW"),
        ("dpreg fit 'y ~ x' d.parquet --eps 1 --method Tukey", "--method", "--method tukey"),
        ("dpreg fit 'y ~ x' d.parquet --eps 2 --budget kept", "--budget", "write --eps 1.0"),
        ("dpreg fit 'y ~ x' d.parquet --eps 1 --ledger kept", "--ledger", "write --budget"),
        ("dpreg predict d.parquet fit.json", "FIT", "write dpreg predict fit.json d.parquet"),
        ("dpreg predict fit.json d.parquet", "FIT", "written by dpreg fit --json"),
        ("dpreg budget new kept --eps 1", "FILE", "try dpreg budget show kept"),
    ]
]  # fmt: skip


def literally(text: str) -> str:
    """Return `text` so that Markdown shows it as it is."""
    return re.sub(r"[*`<\\]|_(?=_)|(?<=_)_", r"\\\g<0>", text)


def table(folder: Path) -> str:
    """Return all mistakes and their messages, in Markdown."""
    data = Data(folder)
    rows = [(f"`{m.typed}`", literally(message_of(m, data))) for m in MISTAKES]
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    head = "# Typical mistakes and their messages\n\nMade by tests/mistakes.py.\n"
    return "\n".join([head, "| typed | message |", "|---|---|", *lines, ""])


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        print(table(Path(folder)), end="")
