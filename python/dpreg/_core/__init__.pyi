"""Typed face of the C++ extension; contracts are in cpp/include/dpreg."""

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dpreg._core import testing as testing

Floats = NDArray[np.float64]
Indices = NDArray[np.uint64]

DEPTH_SENSITIVITY: int

class EntropyError(RuntimeError): ...

class BitSource:
    seeded: bool
    def next(self) -> int: ...

class SystemBits(BitSource):
    def __init__(self) -> None: ...

class TestBits(BitSource):
    def __init__(self, seed: int) -> None: ...

def uniform_open(bits: BitSource, size: int) -> Floats: ...
def standard_exponential(bits: BitSource, size: int) -> Floats: ...
def standard_gumbel(bits: BitSource, size: int) -> Floats: ...
def discrete_laplace(epsilon: float, bits: BitSource, size: int) -> NDArray[np.int64]: ...
def discrete_gaussian(sigma: int, bits: BitSource, size: int) -> NDArray[np.int64]: ...
def discrete_laplace_tail(x: int, epsilon: float) -> float: ...

class Assignment:
    members: Indices
    offsets: Indices

def assign_to_slots(n: int, models: int, batch: int, bits: BitSource) -> Assignment: ...
def assign_independently(n: int, models: int, bits: BitSource) -> Assignment: ...
def fit_batches(
    x: Floats,
    y: Floats,
    assignment: Assignment,
    *,
    unit_offsets: NDArray[Any] | None = None,
    unit_rows: NDArray[Any] | None = None,
    ridge: float,
    refinements: int,
    intercept: bool,
    log_spreads: bool,
) -> Floats: ...

class DepthRegions:
    points: int
    dimension: int
    max_depth: int
    def __init__(self, points: Floats, grid_exponent: int) -> None: ...
    def log_volume(self, depth: int) -> float: ...
    def side(self, depth: int, j: int) -> tuple[float, float]: ...
    @staticmethod
    def rounding_error(m: int, p: int, epsilon: float) -> float: ...

def distance_to_unsafety(regions: DepthRegions, epsilon: float, t: int, delta: float) -> int: ...
def choose_index(log_weights: Floats, bits: BitSource) -> int: ...
def release_threshold(epsilon: float, delta: float) -> int: ...
def passes_release_test(distance: int, epsilon: float, delta: float, bits: BitSource) -> bool: ...
def rounding_is_paid(models: int, dimension: int, epsilon_sample: float) -> bool: ...
def tukey_em(
    regions: DepthRegions,
    *,
    depth: int,
    epsilon_test: float,
    epsilon_sample: float,
    delta: float,
    bits: BitSource,
) -> Floats | None: ...

LEAST_EXPONENT: int
MOMENT_BITS: int
ROW_STEPS: int
SQUARES_SENSITIVITY: float
SCORE_NORMS_SENSITIVITY: float
SCORE_STEPS: float
LEAST_SCORE_BIN: int
SCORE_BINS: int

def use_threads(threads: int) -> None: ...
def counts_sensitivity(weights: Sequence[float] | NDArray[np.float64]) -> float: ...
def moments_sensitivity(weights: Sequence[float] | NDArray[np.float64]) -> float: ...
def side_by_side(
    columns: Sequence[Floats], count: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]: ...
def magnitude_counts(x: Floats) -> NDArray[np.int64]: ...
def interval_counts(x: Floats, low: Floats, high: Floats, bins: int) -> NDArray[np.int64]: ...
def moment_sums(x: Floats, middle: Floats, half: Floats) -> NDArray[np.int64]: ...
def tail_votes_sensitivity(sets: int) -> float: ...
def tail_votes(
    x: Floats,
    y: Floats,
    slopes: Floats,
    intercept: float,
    *,
    low: Floats,
    high: Floats,
    unit: float,
) -> NDArray[np.int64]: ...
def gram_sensitivity(width: int) -> float: ...
def gradient_sensitivity(width: int) -> float: ...
def score_sensitivity(width: int) -> float: ...
def score_products_sensitivity(width: int) -> float: ...
def curvature_sensitivity(width: int) -> float: ...
def followed_curvature_sensitivity(width: int) -> float: ...

class LossKind:
    squared: LossKind
    logistic: LossKind
    probit: LossKind
    cloglog: LossKind
    poisson: LossKind
    counting: LossKind
    gamma: LossKind
    negative_binomial: LossKind
    quantile: LossKind

class Loss:
    kind: LossKind
    least_response: float
    most_response: float
    least_predictor: float
    most_predictor: float
    level: float
    bandwidth: float
    dispersion: float

class Standardisation:
    columns: Indices | Sequence[int]
    low: Floats | Sequence[float]
    high: Floats | Sequence[float]
    centre: Floats | Sequence[float]
    inverse_scale: Floats | Sequence[float]
    y_centre: float
    y_inverse_scale: float
    intercept: bool
    row_limit: float
    response_limit: float
    map: Floats
    aim: Floats | Sequence[float]
    loss: Loss
    given: Indices | Sequence[int]
    weight: int | None
    inverse_weight: float
    most_weight: float

class QuantisedRows:
    rows: int
    bytes: int
    width: int
    limit: float
    def __init__(
        self,
        x: Floats,
        y: Floats,
        how: Standardisation,
        offsets: Sequence[int] | NDArray[np.uint64] = ...,
        rows: Sequence[int] | NDArray[np.uint64] = ...,
    ) -> None: ...
    def gram(self) -> NDArray[np.int64]: ...
    def round(self, theta: Floats, clip: float) -> tuple[NDArray[np.int64], int]: ...
    def score(self, theta: Floats, limit: float) -> NDArray[np.int64]: ...
    def curvature(self, theta: Floats, limit: float) -> NDArray[np.int64]: ...
    def score_norms(self, theta: Floats) -> NDArray[np.int64]: ...
    def score_products(self, theta: Floats, limit: float) -> NDArray[np.int64]: ...
    def followed_curvature(
        self, theta: Floats, stop: float, limit: float, leading: int
    ) -> NDArray[np.int64]: ...

def mapped_gram(x: Floats, y: Floats, how: Standardisation) -> NDArray[np.int64]: ...
def poisson_rate(rate: float) -> float: ...
def dpsgd(
    like: QuantisedRows,
    blocks: Iterable[QuantisedRows],
    *,
    steps: int,
    rate: float,
    expected: float,
    clip: float,
    learning_rate: float,
    sigma: int,
    bits: BitSource,
) -> Floats: ...

KENDALL_SENSITIVITY: float
KENDALL_LARGEST_RISE: float
KENDALL_LABEL_RANGE: float
KENDALL_SCORE_RANGE: float
VOTE_SENSITIVITY: float
VOTE_RANGE: float

def count_inversions(values: Sequence[int], bound: int) -> int: ...
def kendall_tau(x: Floats, y: Floats) -> float: ...

class BatchScaling:
    UNIT_VARIANCE: BatchScaling
    NONE: BatchScaling

def fit_lasso_batches(
    x: Floats,
    y: Floats,
    assignment: Assignment,
    *,
    unit_offsets: NDArray[Any] | None = None,
    unit_rows: NDArray[Any] | None = None,
    penalty: float,
    scaling: BatchScaling = ...,
) -> Floats: ...
def fixed_assignment(members: Sequence[int], offsets: Sequence[int]) -> Assignment: ...
def count_votes(coefficients: Floats, k: int) -> Floats: ...
def sub_lasso(
    x: Floats,
    y: Floats,
    assignment: Assignment,
    *,
    unit_offsets: NDArray[Any] | None = None,
    unit_rows: NDArray[Any] | None = None,
    penalty: float,
    k: int,
    epsilon: float,
    bits: BitSource,
    groups: Sequence[int] | None = None,
) -> Indices: ...

class NoiseLaw:
    EXPONENTIAL: NoiseLaw
    GUMBEL: NoiseLaw

def random_subset(size: int, count: int, bits: BitSource) -> Indices: ...
def peel(scores: Floats, *, k: int, range: float, epsilon: float, bits: BitSource) -> Indices: ...
def canonical_lipschitz(
    scores: Floats,
    *,
    k: int,
    range: float,
    epsilon: float,
    gamma: float,
    noise: NoiseLaw,
    bits: BitSource,
) -> Indices: ...
def dp_kendall(
    x: Floats,
    y: Floats,
    *,
    k: int,
    epsilon_round: float,
    first_range: float,
    later_range: float,
    bits: BitSource,
    groups: Sequence[int] | None = None,
) -> Indices: ...

START_WEIGHT: int
SCREENING_RANGE: float
SCREENING_ROUNDING: float

class UnitDesign:
    rows: int
    cols: int

class DenseUnitDesign(UnitDesign):
    def __init__(self, x: Floats) -> None: ...

class SparseUnitDesign(UnitDesign):
    def __init__(
        self, row_start: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], cols: int
    ) -> None: ...

def vertex_score_range(l1: float) -> float: ...

class L1Gradient:
    denominator: float
    total: int
    tracked: NDArray[np.uint32]
    touched: NDArray[np.uint32]
    def __init__(
        self, design: UnitDesign, y: Floats, *, l1: float, start: Sequence[int] | NDArray[Any] = ...
    ) -> None: ...
    def step(self, j: int, positive: bool) -> None: ...
    def drop(self, j: int) -> None: ...
    def numerators(self) -> list[int]: ...
    def reach(self, j: int) -> int: ...
    def values(self) -> Floats: ...
    def weights(self) -> Floats: ...
    def wolfe_gap(self, active: NDArray[Any]) -> float: ...

class VertexBounds:
    fixed: int
    @overload
    def __init__(self, gradient: L1Gradient, epsilon: float) -> None: ...
    @overload
    def __init__(self, gradient: L1Gradient, *, active: NDArray[Any]) -> None: ...
    def bounds(self) -> list[int]: ...
    def numerators(self, g: int) -> dict[int, int]: ...
    def follow(self, total: int, touched: NDArray[Any]) -> None: ...
    def refresh(self, g: int) -> None: ...
    def remove(self, j: int) -> None: ...

class ScreenRule:
    NONE: ScreenRule
    ONE: ScreenRule
    EACH: ScreenRule

def screening_scores(gradient: L1Gradient, active: NDArray[Any]) -> Floats: ...
def random_start(d: int, bits: BitSource) -> NDArray[np.int32]: ...
def draw_vertex(
    gradient: L1Gradient, bounds: VertexBounds, epsilon: float, bits: BitSource
) -> int: ...
def dp_frank_wolfe(
    gradient: L1Gradient,
    *,
    steps: int,
    epsilon_step: float,
    rule: ScreenRule = ...,
    after: Sequence[int] = ...,
    epsilon_screen: float = 0.0,
    margin: float = 0.0,
    bits: BitSource,
) -> dict[str, NDArray[Any]]: ...
def frank_wolfe(gradient: L1Gradient, *, steps: int) -> dict[str, NDArray[Any]]: ...
