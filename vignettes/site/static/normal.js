// The normal distribution in double precision, and Gaussian differential privacy over it: what
// dpreg.privacy.gdp computes with scipy.
"use strict";

const Normal = (() => {
  const LOG_ROOT_2PI = 0.5 * Math.log(2 * Math.PI);
  // Below it the series is used, beyond it the continued fraction.
  const FAR = 2.3;

  const logDensity = (x) => -0.5 * x * x - LOG_ROOT_2PI;

  // Of the upper tail at t >= 0.
  function logUpper(t) {
    if (t < FAR) {
      let term = t;
      let sum = t;
      for (let k = 3; term > 1e-17 * sum; k += 2) {
        term *= (t * t) / k;
        sum += term;
      }
      return Math.log(0.5 - Math.exp(logDensity(t)) * sum);
    }
    // Mills' ratio, 1 / (t + 1 / (t + 2 / (t + ...))), from a place where it no longer matters.
    let fraction = t;
    for (let k = 30 + Math.ceil(700 / (t * t)); k > 0; k--) fraction = t + k / fraction;
    return logDensity(t) - Math.log(fraction);
  }

  function logCdf(x) {
    return x <= 0 ? logUpper(-x) : Math.log1p(-Math.exp(logUpper(x)));
  }

  // The quantile of p in (0, 1/2], by Newton's steps on the logarithm, from 26.2.22 of Abramowitz
  // and Stegun (1964).
  function lowerQuantile(p) {
    if (p === 0.5) return 0;
    const goal = Math.log(p);
    const s = Math.sqrt(-2 * goal);
    let t = Math.max(0, s - (2.30753 + 0.27061 * s) / (1 + s * (0.99229 + 0.04481 * s)));
    for (let step = 0; step < 4; step++) {
      const upper = logUpper(t);
      t += (upper - goal) * Math.exp(upper - logDensity(t));
    }
    return -t;
  }

  return { logDensity, logCdf, lowerQuantile };
})();

const Gaussian = (() => {
  // As in dpreg/privacy/gdp.py.
  const ROUNDING = 1e-9;
  const LOG_ROUNDING = 2 ** -50;

  function delta(mu, epsilon) {
    if (mu === 0) return 0;
    const upper = Normal.logCdf(-epsilon / mu + mu / 2);
    const tail = Normal.logCdf(-epsilon / mu - mu / 2);
    const lower = epsilon + tail;
    const rounding =
      Math.exp(upper) * LOG_ROUNDING * (1 + Math.abs(upper) + epsilon + Math.abs(tail));
    return -Math.exp(upper) * Math.expm1(Math.min(lower - upper, 0)) + rounding;
  }

  // The zero of a monotone function with a change of sign.
  function zero(f, low, high) {
    const rising = f(high) > 0;
    while (high - low > 1e-13 * high) {
      const middle = (low + high) / 2;
      if (middle === low || middle === high) break;
      if (f(middle) > 0 === rising) high = middle;
      else low = middle;
    }
    return (low + high) / 2;
  }

  function muOf(epsilon, goal) {
    let high = 1;
    while (delta(high, epsilon) < goal) high *= 2;
    while (delta(high / 2, epsilon) >= goal) high /= 2;
    let mu = zero((m) => delta(m, epsilon) - goal, high / 2, high);
    let step = ROUNDING;
    mu *= 1 - step;
    while (delta(mu, epsilon) > goal) {
      step *= 2;
      mu *= 1 - step;
    }
    return mu;
  }

  function epsilonOf(mu, goal) {
    if (mu === 0 || delta(mu, 0) <= goal) return 0;
    let high = 1;
    while (delta(mu, high) > goal) high *= 2;
    let step = ROUNDING;
    let epsilon = Math.max(zero((e) => delta(mu, e) - goal, 0, high), 1e-14) * (1 + step);
    while (delta(mu, epsilon) > goal) {
      step *= 2;
      epsilon *= 1 + step;
    }
    return epsilon;
  }

  return { delta, muOf, epsilonOf };
})();
