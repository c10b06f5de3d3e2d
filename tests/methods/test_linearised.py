"""Where scores of a family begin, as slopes of least squares have it."""

import pytest

from dpreg.base.families import BINOMIAL, CLOGLOG, POISSON, PROBIT
from dpreg.estimation.newton.linearised import _start


@pytest.mark.parametrize("family", [BINOMIAL, PROBIT, CLOGLOG, POISSON])
@pytest.mark.parametrize("mean", [None, 0.02, 0.5])
def test_without_slopes_the_start_is_where_the_least_slope_has_it(family, mean):
    # No spread is halved so often that 5e-324 is more than its slope.
    assert _start(family, mean, 0.0) == _start(family, mean, 5e-324)
    assert _start(family, mean, 0.0)[1] < _start(family, mean, 1e-9)[1]
