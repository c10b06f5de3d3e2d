"""The page for a reviewer: made of certificates, docstrings, proofs and the audit report."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpreg
from dpreg.estimation.methods import METHODS
from dpreg.estimation.selection import SELECTORS
from dpreg.privacy.certificate import Part

ROOT = Path(__file__).resolve().parents[2]
_REPORT = ROOT / "tests/audit/report.md"
_PACKAGE = ROOT / "python/dpreg"
_PROOF = re.compile(r"^\s*proof : ([\w/]+\.md)", re.MULTILINE)
_BOUNDS = {"y": (-5.0, 5.0), "a": (-3.0, 3.0), "b": (-3.0, 3.0)}
_ROWS = 20_000

Call = Callable[[pd.DataFrame], Any]


def simulated() -> pd.DataFrame:
    """Return the table of all calls: normal regressors, a response, an event, a time, a class."""
    rng = np.random.default_rng(1)
    a, b, noise = rng.standard_normal((3, _ROWS))
    event = (rng.random(_ROWS) < 0.3).astype(float)
    grade = pd.cut(a + noise, [-np.inf, -1.0, 1.0, np.inf], labels=["low", "mid", "high"])
    columns = {"y": a + noise, "a": a, "b": b, "event": event, "time": np.abs(noise)}
    return pd.DataFrame({**columns, "grade": grade})


def calls() -> dict[str, tuple[Call, Any]]:
    """Return every kind of call, and what documents its proof."""
    found: dict[str, tuple[Call, Any]] = {}
    for name, kind in METHODS.items():
        more = {"bounds": _BOUNDS} if kind().uses_bounds else {}

        def fit(data: pd.DataFrame, name: str = name, more: Any = more) -> Any:
            return dpreg.dp_lm("y ~ a + b", data, 1.0, 1e-6, method=name, rng=1, **more)

        found[f"dp_lm(method={name!r})"] = fit, kind
    for name, kind in SELECTORS.items():
        more = {"bounds": _BOUNDS} if kind().uses_bounds else {}

        def select(data: pd.DataFrame, name: str = name, more: Any = more) -> Any:
            return dpreg.dp_select("y ~ a + b", data, 1, 1.0, method=name, rng=1, **more)

        found[f"dp_select(method={name!r})"] = select, kind
    found["dp_glm(family='binomial')"] = (
        lambda data: dpreg.dp_glm("event ~ a", data, 1.0, 1e-6, rng=1),
        METHODS["boosted_adassp"],
    )
    found["dp_moments()"] = (
        lambda data: dpreg.dp_moments("~ y + a", data, 1.0, 1e-6, rng=1), dpreg.dp_moments
    )  # fmt: skip
    found["dp_curve()"] = (
        lambda data: dpreg.dp_curve("Surv(time, event) ~ 1", data, 1.0, cuts=[1.0, 2.0], rng=1),
        dpreg.dp_curve,
    )
    found["dp_survival()"] = (
        lambda data: dpreg.dp_survival(
            "Surv(time, event) ~ a", data, 1.0, 1e-6, cuts=[0.5, 1.0, 2.0], rng=1
        ),
        dpreg.dp_survival,
    )
    for kind in (dpreg.dp_ordinal, dpreg.dp_multinomial):
        found[f"{kind.__name__}()"] = (
            lambda data, kind=kind: kind("grade ~ a", data, 1.0, 1e-6, rng=1), kind
        )  # fmt: skip
    found["dp_effect()"] = (
        lambda data: dpreg.dp_effect("y ~ a", data, 20.0, 1e-6, treatment="event", rng=1),
        dpreg.dp_effect,
    )
    found["dp_test()"] = (
        lambda data: dpreg.dp_test(lambda block: float(block["y"].mean() > 0), data, 1.0, rng=1),
        dpreg.dp_test,
    )
    return found


def proof_of(documented: Any) -> str:
    """Return the path of the proof that a docstring names, from the top of the repository."""
    match = _PROOF.search(documented.__doc__)
    if match is None:
        raise LookupError(f"{documented.__name__} names no proof")
    name = match[1]
    if (_PACKAGE / name).exists():
        return f"python/dpreg/{name}"
    (path,) = [p for p in _PACKAGE.rglob(Path(name).name) if str(p).endswith(name)]
    return f"python/dpreg/{path.relative_to(_PACKAGE)}"


def releases() -> str:
    """Return a section for each call: its composition and each release, from its certificate."""
    data, sections = simulated(), []
    for name, (call, documented) in calls().items():
        privacy, path = call(data).privacy, proof_of(documented)
        rows = [_row(part) for part in privacy.parts]
        numbered = {row: rows.count(row) for row in dict.fromkeys(rows)}
        lines = [f"| {row} | {times} |" for row, times in numbered.items()]
        sections.append(
            f"### `{name}`\n\nComposition: {privacy.composition}. "
            f"Proof: [{Path(path).stem}](/{path}).\n\n"
            "| release | sensitivity | noise | times |\n|---|---|---|---|\n" + "\n".join(lines)
        )
    return "\n\n".join(sections)


def _row(part: Part) -> str:
    label = re.sub(r"(round|refinement|response,) \d+", r"\1 k", part.label)
    noise = re.sub(r"(?<=scale )[\d.e+]+", "s", part.noise)
    sensitivity = "" if part.sensitivity is None else f"{part.sensitivity:.6g}"
    return f"{label} | {sensitivity} | {noise}"


def audited() -> str:
    """Return when each part of the audit ran, and what it said."""
    sections = re.split(r"^## ", _REPORT.read_text(), flags=re.MULTILINE)[1:]
    rows = []
    for section in sections:
        title, _, text = section.partition("\n")
        said = text.strip().split("\n\n")[0].replace("\n", " ")
        rows.append(f"| {title} | {said} |")
    return "| part of `make audit` | last run |\n|---|---|\n" + "\n".join(rows)


def stage(page: Path) -> None:
    """Fill in the page."""
    text = page.read_text().replace("<!-- releases -->", releases())
    page.write_text(text.replace("<!-- audited -->", audited()))
