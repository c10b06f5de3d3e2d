"""Private Frank-Wolfe: steps and screening."""

from __future__ import annotations

from audit.patches import OPEN, Mutant, edited, swapped

from dpreg import _core
from dpreg.estimation.methods import frank_wolfe_run as _frank_wolfe
from dpreg.estimation.methods.frank_wolfe import FrankWolfe
from dpreg.estimation.planning import frank_wolfe as planned

FRANK_WOLFE = [
    Mutant(
        "screening with the product of the changes for a sensitivity",
        swapped(_core, "SCREENING_RANGE", lambda real: 4 * (1 + 1) / 60),
        ("screening scores",),
    ),
    Mutant(
        "steps at twice their epsilon",
        edited(_frank_wolfe, "run_plan", ("epsilon_step=plan.epsilon_step", "epsilon_step=2 * plan.epsilon_step")),
        ("frank_wolfe",),
    ),
    Mutant(
        "steps that do not compose",
        swapped(planned, "bounded_range_epsilon", lambda real: lambda rho, times: real(rho, 1)),
        ("frank_wolfe",),
    ),
    Mutant(
        "Gumbel noise of half the scale on the vertices",
        swapped(_core, "draw_vertex", lambda real: lambda g, a, e, b: real(g, a, 2 * e, b)),
        ("vertex runs",),
    ),
    Mutant(
        "number of steps from the true n",
        edited(FrankWolfe, "_scaling", ("max(0.0, float(noisy[0]))", f"float({OPEN}(count)[0])")),
        ("frank_wolfe",),
    ),
    Mutant(
        "sparsity of the exact solution in the notes",
        edited(FrankWolfe, "release", ('notes=_notes(', f'notes=("%.17g" % np.abs({OPEN}(rows).response).sum(),) + _notes(')),
        ("frank_wolfe",),
    ),
]  # fmt: skip
