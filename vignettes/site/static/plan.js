// What a private regression will give, from public numbers: dpreg.dp_plan in a browser.  Tables and
// constants are those of the package, so the numbers are, too; names follow dpreg/estimation/planning.
"use strict";

function makePlanner(tables) {
  const T = tables.tukey;

  // ---- the table of all methods: dpreg/estimation/planning/auto.py

  // Multilinear; beyond the grid, the value at its edge.  null: no value.
  function interpolate(axes, values, point) {
    if (axes.length === 0) return values === null ? NaN : values;
    const axis = axes[0];
    const x = Math.min(Math.max(point[0], axis[0]), axis[axis.length - 1]);
    let upper = axis.findIndex((value) => value >= x);
    upper = Math.min(Math.max(upper, 1), axis.length - 1);
    const place = (x - axis[upper - 1]) / (axis[upper] - axis[upper - 1]);
    const low = interpolate(axes.slice(1), values[upper - 1], point.slice(1));
    const high = interpolate(axes.slice(1), values[upper], point.slice(1));
    if (place <= 0 || Number.isNaN(high)) return place < 1 ? low : high;
    return place < 1 ? low + place * (high - low) : high;
  }

  // Another delta counts as the epsilon that asks for the same noise.
  const known = new Map();
  function equivalentEpsilon(method, epsilon, delta) {
    if (method === "tukey") return (epsilon * Math.log(tables.tableDelta)) / Math.log(delta);
    const key = `${epsilon} ${delta}`;
    if (!known.has(key)) {
      const mu = Gaussian.muOf(epsilon, delta);
      known.set(key, Gaussian.epsilonOf(mu, tables.tableDelta) || 1e-9);
    }
    return known.get(key);
  }

  function within(axes, units, d, epsilon) {
    let n = Math.log(Math.max(units, 1));
    const p = Math.log(Math.max(d, 1));
    let e = Math.log(epsilon);
    let off = 0;
    const [rows, columns, epsilons] = axes;
    const last = (axis) => axis[axis.length - 1];
    if (p > last(columns)) {
      n -= p - last(columns);
      off += p - last(columns);
    }
    if (e < epsilons[0]) {
      n -= epsilons[0] - e;
      off += epsilons[0] - e;
    }
    if (n < rows[0]) {
      e = Math.max(e, epsilons[0]) - (rows[0] - n);
      off -= rows[0] - n;
    }
    if (n > last(rows)) off -= n - last(rows);
    return { point: [n, p, e], off };
  }

  function expected(method, units, d, epsilon, delta) {
    const grids = tables.grids[method];
    const axes = grids.gaussian.axes;
    const { point, off } = within(axes, units, d, equivalentEpsilon(method, epsilon, delta));
    const losses = Object.values(grids).map((g) => Math.exp(interpolate(g.axes, g.loss, point)));
    const excess = interpolate(axes, grids.gaussian.excess, point) + off;
    return {
      loss: losses.reduce((a, b) => a + b) / losses.length,
      width: Number.isNaN(excess) ? Infinity : Math.sqrt(1 + Math.exp(excess)),
      released: interpolate(axes, grids.gaussian.released, point),
      declined: interpolate(axes, grids.gaussian.declined, point),
    };
  }

  // The first method whose loss is about the least.
  function bestMethod(units, d, epsilon, delta) {
    const losses = tables.tabulated.map((method) => expected(method, units, d, epsilon, delta).loss);
    const least = Math.min(...losses);
    return tables.tabulated[losses.findIndex((loss) => loss <= least + tables.same)];
  }

  // ---- the table of default fits with inference: dpreg/estimation/planning/auto.py

  const muOf = new Map();
  function mu(epsilon, delta) {
    const key = `${epsilon} ${delta}`;
    if (!muOf.has(key)) muOf.set(key, Gaussian.muOf(epsilon, delta));
    return muOf.get(key);
  }

  function infer(n, d, epsilon, delta) {
    if (n <= d + 2) return { width: Infinity, released: 0, declined: 1 };
    const { axes, ...values } = tables.inference;
    const [rows, columns] = [Math.log(n), Math.log(d)];
    let resolution = Math.log(mu(epsilon, delta)) + (rows - columns) / 2;
    resolution -= Math.max(0, axes[0][0] - rows) / 2;
    const point = [rows, columns, resolution];
    let released = interpolate(axes, values.released, point);
    let declined = interpolate(axes, values.declined, point);
    const [least, most] = [axes[2][0], axes[2][axes[2].length - 1]];
    if (resolution < least) {
      const lost = Math.exp(2 * (resolution - least));
      [released, declined] = [released * lost, 1 - (1 - declined) * lost];
    }
    if (released === 0) return { width: Infinity, released, declined };
    const beyond = resolution - Math.min(Math.max(resolution, least), most);
    const excess = interpolate(axes, values.excess, point) - 2 * beyond;
    return { width: Math.sqrt(1 + Math.exp(Math.min(excess, 700))), released, declined };
  }

  // ---- hazards, classes and treatment effects: dpreg/estimation/planning/tabulated.py

  // Of each: how many coefficients there are, the place on the other axes of the table, and the
  // standard error without privacy over that of a linear model.
  const MODELS = {
    survival: {
      coefficients: (d) => d + tables.intervals,
      place: (d, { rate }) => [rate],
      factor: () => 1,
    },
    ordinal: {
      coefficients: (d, { classes }) => d + classes - 1,
      place: (d, { classes }) => [classes],
      factor: ({ classes }) => Math.sqrt(3 / (1 - classes ** -2)),
    },
    multinomial: {
      coefficients: (d, { classes }) => (classes - 1) * (d + 1),
      place: (d, { classes }) => [classes],
      factor: ({ classes }) => Math.sqrt(2 * classes),
    },
    effect: {
      coefficients: (d, { treated }) => (d + 1) / Math.min(treated, 1 - treated),
      place: (d, { treated }) => [d, Math.min(treated, 1 - treated)],
      factor: ({ treated }) => 1 / Math.sqrt(treated * (1 - treated)),
    },
  };

  function modelled(family, n, d, epsilon, delta) {
    if (n <= d + 2) return { width: Infinity, released: 0, declined: 1 };
    const { axes, excess, released: shares } = tables.models[family.name];
    const { coefficients, place } = MODELS[family.name];
    const resolution = Math.log(mu(epsilon, delta)) + Math.log(n / coefficients(d, family)) / 2;
    const [least, most] = [axes[0][0], axes[0][axes[0].length - 1]];
    const point = [resolution, ...place(d, family).map(Math.log)];
    let released = interpolate(axes, shares, point);
    if (resolution < least) released *= Math.exp(2 * (resolution - least));
    const beyond = resolution - Math.min(Math.max(resolution, least), most);
    const more = interpolate(axes, excess, point) - 2 * beyond;
    const width = Math.sqrt(1 + Math.exp(Math.min(more, 700)));
    return { width, released, declined: 1 - released };
  }

  // ---- how many models, and how epsilon is split: dpreg/estimation/planning/tukey.py

  function bracket(grid, value) {
    let upper = grid.findIndex((x) => x >= value);
    if (upper < 0) upper = grid.length;
    upper = Math.min(Math.max(upper, 1), grid.length - 1);
    const [low, high] = [grid[upper - 1], grid[upper]];
    const place = (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low));
    return [upper - 1, upper, place];
  }

  function tabulated(dimension, delta, multiple, column) {
    const [p0, p1, p] = bracket(T.dimensions, dimension);
    const [d0, d1, d] = bracket(T.deltas, delta);
    const at = (a, b) => Math.log(T.entries[a][b][multiple][column]);
    return Math.exp(
      (1 - p) * ((1 - d) * at(p0, d0) + d * at(p0, d1)) +
        p * ((1 - d) * at(p1, d0) + d * at(p1, d1)),
    );
  }

  function shares(dimension, delta, multiple) {
    let p = T.dimensions.findIndex((x) => x >= dimension);
    if (p < 0) p = T.dimensions.length - 1;
    const d = Math.max(T.deltas.findLastIndex((x) => x <= delta), 0);
    const below = T.multiples.findLastIndex((x) => x <= multiple + 1e-9);
    return T.entries[p][d][below];
  }

  function modelError(dimension, delta, multiple) {
    const [low, high, place] = bracket(T.multiples, multiple);
    const a = Math.log(tabulated(dimension, delta, low, "error"));
    const b = Math.log(tabulated(dimension, delta, high, "error"));
    return Math.exp(a + place * (b - a));
  }

  function inflation(batch, d) {
    const spare = batch - d - 2;
    return spare < T.leastSpare ? Infinity : (batch / spare) * (1 + 8 / batch);
  }

  // To the even neighbour where both are as near, as Python rounds.
  function rounded(x) {
    const low = Math.floor(x);
    if (x - low !== 0.5) return Math.round(x);
    return low % 2 === 0 ? low : low + 1;
  }

  function planTukey(units, d, dimension, epsilon, delta) {
    const least = (tabulated(dimension, delta, 0, "models") / epsilon) * T.safety;
    let best = { error: Infinity, multiple: T.tried[0] };
    for (const multiple of T.tried) {
      const lost = Math.sqrt(inflation(units / (least * multiple), d));
      const error = modelError(dimension, delta, multiple) * lost;
      if (error < best.error) best = { error, multiple };
    }
    const models = Math.max(8, Math.ceil(least * best.multiple));
    const share = shares(dimension, delta, best.multiple);
    return {
      models,
      depth: Math.max(2, rounded(share.depth_share * models)),
      test: share.test_share * epsilon,
      sample: (1 - share.test_share) * epsilon,
      error: best.error,
    };
  }

  // ---- the law of TukeyEM for normal models: dpreg/estimation/planning/tukey.py

  function logVolumes(models, dimension) {
    const volumes = new Float64Array(Math.floor((models + 1) / 2));
    for (let i = 0; i < volumes.length; i++) {
      const p = (i + 1 - 0.375) / (models + 0.25);
      const side = p < 0.5 ? Math.max(-2 * Normal.lowerQuantile(p), 1e-9) : 1e-9;
      volumes[i] = dimension * Math.log(side);
    }
    return volumes;
  }

  function logAdd(a, b) {
    const most = Math.max(a, b);
    return most === -Infinity ? most : most + Math.log1p(Math.exp(Math.min(a, b) - most));
  }

  function distance(volumes, epsilon, depth, delta) {
    const deepest = volumes.length;
    const here = volumes.map((v, i) => v + (epsilon * (i + 1)) / 2);
    const shift = Math.log(-Math.expm1(-epsilon / 2));
    const weight = new Float64Array(deepest);
    weight[deepest - 1] = here[deepest - 1];
    let beyond = here[deepest - 1] + shift;
    for (let i = deepest - 2; i >= 0; i--) {
      weight[i] = logAdd(here[i], beyond);
      beyond = logAdd(beyond, here[i] + shift);
    }
    const most = Math.log(delta) - Math.log1p(-delta);
    const steps = Math.max(0, Math.min(depth - 1, deepest - depth));
    for (let k = 0; k < steps; k++) {
      const [outer, inner] = [depth - 2 - k, depth + k];
      const shell = volumes[outer] + Math.log(-Math.expm1(volumes[inner] - volumes[outer]));
      if ((epsilon * (depth + k)) / 2 + shell - weight[inner] > most) return k - 1;
    }
    return steps - 1;
  }

  function scale(volumes, models, epsilon, depth) {
    const shift = Math.log(-Math.expm1(-epsilon / 2));
    const logits = volumes
      .slice(depth - 1)
      .map((v, step) => v + (step === 0 ? 0 : shift + (epsilon * step) / 2));
    const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    let [total, variance] = [0, 0];
    logits.forEach((logit, step) => {
      const lower = Math.min((depth + step - 0.375) / (models + 0.25), 0.5);
      const half = -Normal.lowerQuantile(lower);
      const density = Math.exp(Normal.logDensity(half));
      const weight = Math.exp(logit - most);
      total += weight;
      variance += weight * (lower / (2 * density ** 2) / models + (2 * half) ** 2 / 12);
    });
    return Math.sqrt(variance / total);
  }

  function tail(x, epsilon) {
    return Math.exp(-epsilon * x) / (1 + Math.exp(-epsilon));
  }

  function releaseThreshold(epsilon, delta) {
    const guess = -(Math.log(delta) + Math.log1p(Math.exp(-epsilon))) / epsilon;
    let starts = Math.max(1, Math.ceil(guess) - 1);
    while (tail(starts, epsilon) * (1 + 1e-9) > delta) starts++;
    return starts - 2;
  }

  function tukey(n, d, epsilon, delta) {
    const size = 3 * d + 2;
    const plan = planTukey(n, d, size, (1 - T.asideShare) * epsilon, delta);
    const [most, mostOfNoise, noisy] = T.mostUnits;
    const countable = T.countShare * epsilon >= noisy ? most : mostOfNoise;
    if (plan.error === Infinity || plan.models * (d + 2) > countable) {
      return { released: 0, width: Infinity };
    }
    const volumes = logVolumes(plan.models, size);
    const margin =
      distance(volumes, plan.sample, plan.depth, delta) - releaseThreshold(plan.test, delta);
    const beyond = tail(Math.abs(margin) + 1, plan.test);
    const lost = 1 / (1 - Math.min(((d + 1) * plan.models) / n, T.mostOverlap));
    return {
      released: margin > 0 ? 1 - beyond : beyond,
      width: scale(volumes, plan.models, plan.sample, plan.depth) * Math.sqrt(plan.models * lost),
    };
  }

  // ---- what is expected: dpreg/estimation/planning/forecast.py

  // The deviation of scores over the largest, beside that of the median.
  function loudness({ level }) {
    if (level === null) return 1;
    return Math.sqrt(level * (1 - level)) / Math.max(level, 1 - level);
  }

  // What is planned: a method, and a family with its name and what is of it alone: the level of a
  // quantile, the rate of events, the number of classes, the share that is treated.
  function forecast({ method, family }, n, d, epsilon, delta) {
    if (family.name in MODELS) {
      return { method: tables.withInference, ...modelled(family, n, d, epsilon, delta) };
    }
    if (family.name !== "gaussian") {
      const found = expected(family.name, n, d, epsilon * loudness(family), delta);
      return { method: tables.withInference, ...found };
    }
    const count = 1 - tables.countAuto;
    const predicts = method === "auto" ? bestMethod(n, d, count * epsilon, delta) : method;
    const used = method === "auto" ? tables.withInference : method;
    const found = { method: used, ...expected(predicts, n, d, epsilon, delta) };
    if (used === "tukey") {
      const { released, width } = tukey(n, d, epsilon, delta);
      return { ...found, released, declined: 1 - released, width };
    }
    return used === tables.withInference ? { ...found, ...infer(n, d, epsilon, delta) } : found;
  }

  const works = (found) => found.released >= tables.likely && found.width <= tables.widest;

  // The largest integer whose square is at most a * b, which may be beyond 2^53.
  function rootOfProduct(a, b) {
    const product = BigInt(a) * BigInt(b);
    let root = BigInt(Math.floor(Math.sqrt(a) * Math.sqrt(b)));
    while (root * root > product) root--;
    while ((root + 1n) * (root + 1n) <= product) root++;
    return Number(root);
  }

  function leastUnits(of, d, epsilon, delta) {
    let [low, high] = [1, tables.mostUnits];
    if (!works(forecast(of, high, d, epsilon, delta))) return null;
    while (high > low * 1.01 + 1) {
      const middle = Math.max(low + 1, rootOfProduct(low, high));
      if (works(forecast(of, middle, d, epsilon, delta))) high = middle;
      else low = middle;
    }
    const unit = 10 ** Math.max(0, String(high).length - 2);
    return Math.ceil(high / unit) * unit;
  }

  function leastEpsilon(of, n, d, delta) {
    let [low, high] = [1e-6, 500];
    if (!works(forecast(of, n, d, high, delta))) return null;
    while (high > low * 1.01) {
      const middle = Math.sqrt(low * high);
      if (works(forecast(of, n, d, middle, delta))) high = middle;
      else low = middle;
    }
    const short = Number(high.toPrecision(2));
    return short >= high ? short : Number((high * 1.05).toPrecision(2));
  }

  // ---- which slopes are detected: dpreg/estimation/planning/power.py and question.py

  const CRITICAL = 1.959963984540054;
  const STEPS = 60;
  const cdf = (x) => Math.exp(Normal.logCdf(x));
  function exactError({ family }, n, d) {
    const factor = family.name in MODELS ? MODELS[family.name].factor(family) : 1;
    return n > d + 2 ? factor / Math.sqrt(n - d - 1) : Infinity;
  }

  // Effects as they are tested, of hazards logarithms of ratios, and as users give them.
  const ratios = ({ family }) => family.name === "survival";
  const tested = (of, effect) => (ratios(of) ? Math.abs(Math.log(effect)) : effect);
  const shown = (of, effect) => (ratios(of) && effect !== null ? Math.exp(effect) : effect);

  function powerOf(effect, standardError, released = 1) {
    const shift = effect / standardError;
    return released * (cdf(shift - CRITICAL) + cdf(-shift - CRITICAL));
  }

  function detected(holds, low, high) {
    if (!holds(high)) return null;
    if (holds(low)) return low;
    for (let step = 0; step < STEPS; step++) {
      const middle = Math.sqrt(low * high);
      if (holds(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  function leastEffect(power, standardError, released = 1) {
    if (!Number.isFinite(standardError) || released <= power) return null;
    const high = detected((shift) => powerOf(shift, 1, released) >= power, 1e-6, 50);
    return high === null ? null : high * standardError;
  }

  function powerAt(of, n, d, epsilon, delta, effect) {
    const found = forecast(of, n, d, epsilon, delta);
    return powerOf(effect, found.width * exactError(of, n, d), found.released);
  }

  function unitsFor(of, d, epsilon, delta, effect, power) {
    const holds = (n) => powerAt(of, n, d, epsilon, delta, effect) >= power;
    let [low, high] = [1, tables.mostUnits];
    if (!holds(high)) return null;
    while (high > low + 1) {
      const middle = Math.min(Math.max(rootOfProduct(low, high), low + 1), high - 1);
      if (holds(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  function epsilonFor(of, n, d, delta, effect, power) {
    const holds = (epsilon) => powerAt(of, n, d, epsilon, delta, effect) >= power;
    const found = detected(holds, 1e-6, 500);
    if (found === null) return null;
    const step = 10 ** (Math.floor(Math.log10(found)) - 2);
    return Math.min(Number((Math.ceil(found / step) * step).toPrecision(3)), 500);
  }

  // The power for an effect or, without one, the least effect of a power.
  function detection(of, n, d, eps, delta, found, given, power) {
    if (of.family.name !== "gaussian" && !(of.family.name in MODELS)) {
      return { effect: null, power: null };
    }
    const error = exactError(of, n, d);
    if (given === null) {
      const least = leastEffect(power, found.width * error, found.released);
      const exactEffect = shown(of, leastEffect(power, error));
      return { effect: shown(of, least), power, exactEffect };
    }
    const effect = tested(of, given);
    return {
      effect: shown(of, effect),
      power: powerOf(effect, found.width * error, found.released),
      exactPower: powerOf(effect, error),
      unitsForPower: unitsFor(of, d, eps, delta, effect, power),
      epsilonForPower: epsilonFor(of, n, d, delta, effect, power),
    };
  }

  // ---- the plan: dpreg/estimation/planning/plan.py and model_plan.py

  // Of hazards n is the number of persons, and events decide.
  function plan({ n, d, eps, delta, effect = null, power = 0.8, ...of }) {
    const rate = ratios(of) ? of.family.rate : 1;
    const units = Math.max(1, rounded(n * rate));
    const persons = (number) => (number ? Math.ceil(number / rate) : number);
    const found = forecast(of, units, d, eps, delta);
    const detected = detection(of, units, d, eps, delta, found, effect, power);
    return {
      ...found,
      ...detected,
      unitsForPower: persons(detected.unitsForPower),
      events: ratios(of) ? units : undefined,
      works: works(found),
      leastUnits: persons(leastUnits(of, d, eps, delta)),
      leastEpsilon: leastEpsilon(of, units, d, delta),
    };
  }

  return { plan, forecast, methods: tables.methods, likely: tables.likely, widest: tables.widest };
}
