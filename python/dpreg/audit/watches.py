"""Records what a fit releases, and makes a second fit release the same.

Each function of the core that draws noise, and the one place of Python that does, is replaced
by one that notes what it was given.  In the second fit it returns what it returned in the
first.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import Mock, patch

import numpy as np

from dpreg import _core
from dpreg.audit.recordings import Call, Leak, Recording, Stage
from dpreg.base.arrays import Doubles, Integers
from dpreg.estimation.blocks import model_rows
from dpreg.estimation.methods import auto
from dpreg.estimation.releases import doors, exits
from dpreg.estimation.releases.accountant import GaussianReleases, Noisy
from dpreg.privacy.certificate import Part
from dpreg.privacy.sealed import Counts, ExactSums, opened

Watch = Callable[..., Any]
# The first fit, for the second one to follow.
Script = Recording | None


@contextmanager
def watching(here: Recording, script: Script) -> Iterator[None]:
    """Record every release in `here`; with a `script`, return what it says instead."""
    with ExitStack() as stack:
        release = _gaussian_watch(GaussianReleases.release, here, script)
        stack.enter_context(patch.object(GaussianReleases, "release", release))
        counts = _counts_watch(doors.noisy_counts, _core.discrete_laplace, here, script)
        for module in (auto, exits, model_rows):
            stack.enter_context(patch.object(module, "noisy_counts", counts))
        for name, watch in _WATCHES.items():
            function = watch(name, _core.__dict__[name], here, script)
            stack.enter_context(patch.object(_core, name, function))
        yield


def _gaussian_watch(real: Watch, here: Recording, script: Script) -> Watch:
    def release(self: GaussianReleases, label: str, exact: ExactSums, mu: float) -> Noisy:
        def probe(noise: int) -> tuple[Doubles, list[tuple[int, int]]]:
            """Release with a constant for noise: 0 shows the sums, 1 the unit of the noise."""
            drawn: list[tuple[int, int]] = []

            def constant(sigma: int, bits: Any, size: int) -> Integers:
                drawn.append((sigma, size))
                return np.full(size, noise * sigma, dtype=np.int64)

            trial = copy.copy(self)
            trial.parts = list(self.parts)
            with patch.object(_core, "discrete_gaussian", constant):
                noisy, _ = real(trial, label, exact, mu)
                return noisy.ravel(), drawn

        sums, drawn = probe(0)
        if sum(size for _, size in drawn) != sums.size:
            raise Leak(f"{label}: {sums.size} numbers, noise for {sum(s for _, s in drawn)}")
        # The noise of each entry was its own scale in the second probe.
        scales = np.abs(probe(1)[0] - sums)
        if (scales == 0).any():
            raise Leak(f"{label}: a number without noise")
        out, scale = real(self, label, exact, mu)
        number = len(here.stages)
        if script is not None:
            if number >= len(script.stages) or script.stages[number].out.shape != out.shape:
                raise Leak(f"{label}: the neighbours took different stages")
            out = script.stages[number].out.copy()
        else:
            out = here.luck.of(sums.reshape(out.shape), out)
        here.stages.append(Stage(label, sums, scales, out.copy(), self.parts[-1].mu or 0.0))
        return Noisy(out, scale)

    return release


def _scripted(here: Recording, script: Script, name: str) -> Call | None:
    """Return the call of the first fit that corresponds to the next one of this fit."""
    if script is None:
        return None
    number = len(here.calls)
    if number >= len(script.calls) or script.calls[number].name != name:
        raise Leak(f"{name} was called on one side only")
    return script.calls[number]


def _counts_watch(real: Watch, laplace: Watch, here: Recording, script: Script) -> Watch:
    """Watch counts, of which a unit adds 1 to one, or to a few."""

    def noisy(
        label: str, counts: Counts, epsilon: float, bits: Any, rows: int = 1
    ) -> tuple[Integers, Part]:
        said, exact = _scripted(here, script, "noisy_counts"), opened(counts)
        with patch.object(_core, "discrete_laplace", Mock(side_effect=laplace)) as drawing:
            drawn, part = real(label, counts, epsilon, bits, rows)
        if drawing.call_args is None:
            raise Leak(f"{label}: counts without noise")
        out = np.array(said.result if said is not None else here.luck.of(exact, drawn))
        most = 1 if counts.of_units else rows
        asked = drawing.call_args.args[0] * most
        public = {"label": label, "epsilon": asked, "most": most, "shape": exact.shape}
        here.calls.append(Call("noisy_counts", public, exact, out))
        return out.copy(), part

    return noisy


def _assignment_watch(name: str, real: Watch, here: Recording, script: Script) -> Watch:
    """Couple the assignments: the unit that came enters one model, all others stay."""

    def assign(n: int, *public: Any) -> Any:
        said = _scripted(here, script, name)
        if said is None or abs(n - said.private) > 1:
            assignment = real(n, *public)
        else:
            assignment = _with_units(said.result, said.private, n)
        if len(set(assignment.members.tolist())) < len(assignment.members):
            raise Leak(f"{name}: a unit is in several models")
        here.calls.append(Call(name, {"layout": public[:-1]}, n, assignment))
        return assignment

    return assign


def _with_units(assignment: _core.Assignment, units: int, n: int) -> _core.Assignment:
    """Return the assignment of `n` of the same units, of which there were `units`."""
    members, offsets = (
        np.asarray(of).astype(np.int64) for of in (assignment.members, assignment.offsets)
    )
    if n > units:  # the new one, which is the last, enters the smallest model
        smallest = int(np.argmin(np.diff(offsets)))
        members = np.insert(members, offsets[smallest], n - 1)
        offsets[smallest + 1 :] += 1
    elif n < units:
        offsets = np.concatenate([[0], np.cumsum(members < n)])[offsets]
        members = members[members < n]
    return _core.fixed_assignment(members.tolist(), offsets.tolist())


def _beside_watch(name: str, real: Watch, here: Recording, script: Script) -> Watch:
    def noise(*_: Any) -> Any:
        raise Leak(f"{name}: noise that no door has asked for")

    return noise


def _models_watch(name: str, real: Watch, here: Recording, script: Script) -> Watch:
    def fit(*private: Any, **public: Any) -> Doubles:
        models: Doubles = real(*private, **public)
        here.models.append(np.array(models))
        return models

    return fit


def _keys_watch(name: str, real: Watch, here: Recording, script: Script) -> Watch:
    """Couple the keys by which rows of a unit are drawn: those of the same rows agree."""
    return lambda bits, size: real(_core.TestBits(7), size)


def _votes(x: Doubles, y: Doubles, assignment: Any, options: dict[str, Any]) -> Doubles:
    named = {key: options[key] for key in ("unit_offsets", "unit_rows", "penalty")}
    sizes = np.abs(_core.fit_lasso_batches(x, y, assignment, **named))
    groups = options.get("groups")
    if groups is not None:
        sizes = np.maximum.reduceat(sizes, groups, axis=1)
    return _core.count_votes(sizes, options["k"])


def _correlations(x: Doubles, y: Doubles, options: dict[str, Any]) -> Doubles:
    """|tau| of all columns; the last row and column are those of the response."""
    columns = [*np.asarray(x, dtype=np.float64).T, np.asarray(y, dtype=np.float64)]
    return np.array(
        [[abs(_core.kendall_tau(a.copy(), b.copy())) for a in columns] for b in columns]
    )


# Of each mechanism: what of its arguments is kept, and what of their shape has to be public.
_MECHANISMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "tukey_em": (lambda r, options: r, lambda r: (r.points, r.dimension)),
    "dpsgd": (lambda like, blocks, options: blocks.rows, lambda like, blocks: like.width),
    # A run changes its gradient: `_gradient_watch` keeps what can make another.
    "dp_frank_wolfe": (lambda g, options: None, lambda g: len(g.values())),
    "dp_kendall": (_correlations, lambda x, y: x.shape[1]),
    "peel": (lambda s, options: np.array(s), len),
    "canonical_lipschitz": (lambda s, options: np.array(s), len),
    "sub_lasso": (_votes, lambda x, y, a: (x.shape[1], len(a.offsets))),
}
_PRIVATE = ("unit_offsets", "unit_rows")


def _mechanism_watch(name: str, real: Watch, here: Recording, script: Script) -> Watch:
    keep, shape = _MECHANISMS[name]

    def call(*private: Any, bits: Any, **options: Any) -> Any:
        said = _scripted(here, script, name)
        public = _listed({key: value for key, value in options.items() if key not in _PRIVATE})
        public["shape of the data"] = shape(*private)
        kept = keep(*private, options)
        result = real(*private, bits=bits, **options) if said is None else said.result
        here.calls.append(Call(name, public, kept, result))
        return result

    return call


def _listed(options: dict[str, Any]) -> dict[str, Any]:
    """Return options that can be compared: lists for arrays."""
    arrays = {key: one.tolist() for key, one in options.items() if isinstance(one, np.ndarray)}
    return {**options, **arrays}


def _gradient_watch(name: str, real: Watch, here: Recording, script: Script) -> Watch:
    def make(design: Any, y: Doubles, *, l1: float, **start: Any) -> Any:
        _scripted(here, script, name)
        again = partial(real, design, y, l1=l1, **start)
        here.calls.append(Call(name, {"l1": l1, **_listed(start)}, again, None))
        return again()

    return make


_WATCHES: dict[str, Callable[..., Watch]] = {
    "discrete_laplace": _beside_watch,
    "assign_to_slots": _assignment_watch,
    "assign_independently": _assignment_watch,
    "fit_batches": _models_watch,
    "uniform_open": _keys_watch,
    "L1Gradient": _gradient_watch,
    **dict.fromkeys(_MECHANISMS, _mechanism_watch),
}
# Functions of the core that are replaced while a fit is watched; the last by `_gaussian_watch`.
WATCHED = frozenset(_WATCHES) | {"discrete_gaussian"}
