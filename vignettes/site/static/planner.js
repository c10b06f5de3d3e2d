// The page of the planner: its form, its answer in words, and its curve.
"use strict";

(() => {
  const planner = makePlanner(JSON.parse(document.getElementById("planner-tables").textContent));
  const form = document.getElementById("planner-form");
  const answer = document.getElementById("planner-answer");
  const refusal = document.getElementById("planner-error");
  const LINEAR = "gaussian";
  const USUAL_POWER = 0.8;
  // Models with a field of their own: its name, in the form and as an argument, and what an effect
  // is called.
  const MODELS = {
    survival: { own: "rate", argument: "event_rate", noun: "hazard ratio" },
    ordinal: { own: "classes", argument: "classes", noun: "slope" },
    multinomial: { own: "classes", argument: "classes", noun: "slope" },
    effect: { own: "treated", argument: "treated", noun: "treatment effect" },
  };
  // What is asked for in the field of an effect.
  const EFFECTS = {
    survival: ["Hazard ratio", "Of one standard deviation of a column. Leave blank for the smallest that is detected."],
    ordinal: ["Slope", "For one sd of its column, in log odds of a higher class. Leave blank for the smallest that is detected."],
    multinomial: ["Slope", "For one sd of its column, in log odds against the baseline. Leave blank for the smallest that is detected."],
    effect: ["Treatment effect", "Divided by the residual sd of the outcome. Leave blank for the smallest that is detected."],
    other: ["Slope", "Times the sd of its column, divided by the residual sd. Leave blank for the smallest that is detected."],
  };
  const powered = (name) => name === LINEAR || name in MODELS;
  // What the fit without privacy is called, and what regressors explain.
  const EXACT = { gaussian: "least squares", quantile: "quantile regression", effect: "least squares" };
  const EXPLAINED = { gaussian: "variance", quantile: "variance" };
  const SVG = "http://www.w3.org/2000/svg";

  const count = (n) => n.toLocaleString("en");
  const short = (x) => String(Number(x.toPrecision(3)));
  const percent = (share) => `${(100 * share).toFixed(share > 0.99 && share < 1 ? 1 : 0)}%`;

  function ownOf(family, number) {
    const name = MODELS[family]?.own;
    if (name === undefined) return {};
    const value = number(name);
    if (name === "classes") {
      if (!Number.isInteger(value) || value < 2) throw "classes must be an integer of at least 2";
    } else if (!(value > 0 && value < 1)) {
      throw name === "rate"
        ? "the share of persons with an event must be between 0 and 1"
        : "the share that is treated must be between 0 and 1";
    }
    return { [name]: value };
  }

  function asked() {
    const given = Object.fromEntries(new FormData(form));
    // A field that is switched off is not in the data of the form.
    const number = (name) => {
      const text = given[name].replace(/[,_\s]/g, "");
      return text === "" ? NaN : Number(text);
    };
    const [n, d, eps, delta] = ["n", "d", "eps", "delta"].map(number);
    // As dp_plan, and no more than this page can compute while one waits.
    if (!Number.isInteger(n) || n < 1 || n > 1e9) throw "n must be an integer from 1 to 10^9";
    if (!Number.isInteger(d) || d < 1 || d > 1e6) throw "d must be an integer of at least 1";
    if (!(eps > 0 && eps <= 500)) throw "eps must be greater than 0 and at most 500; 1 is usual";
    if (!(delta > 0 && delta < 1)) throw "delta must be between 0 and 1; 1e-6 is usual";
    const level = given.family === "quantile" ? number("level") : null;
    if (level !== null && !(level > 0 && level < 1)) throw "the quantile must be between 0 and 1";
    const family = { name: given.family, level, ...ownOf(given.family, number) };
    const method = family.name === LINEAR ? given.method : "auto";
    const wanted = (name) => (powered(family.name) && given[name].trim() !== "" ? number(name) : null);
    const [effect, power] = [wanted("effect"), wanted("power")];
    const noun = MODELS[family.name]?.noun ?? "slope";
    if (effect !== null && !(effect > 0)) throw `the ${noun} must be greater than 0`;
    if (effect === 1 && family.name === "survival") throw "the hazard ratio must not be 1";
    if (power !== null && !(power > 0.05 && power < 1)) throw "power must be between 0.05 and 1";
    return { n, d, eps, delta, method, family, effect, power: power ?? USUAL_POWER, typed: given };
  }

  function row(title, cells) {
    const line = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = title;
    line.append(head, ...cells.map((text) => {
      const cell = document.createElement("td");
      cell.textContent = text;
      return cell;
    }));
    return line;
  }

  // What the plan says about inference, in a sentence.
  function finding(plan, { family, power }) {
    const { name } = family;
    const noun = MODELS[name]?.noun ?? "slope";
    const missing = `has no standard error with probability ${short(1 - plan.released)}`;
    if (plan.released < 0.5) return `This is too small for inference: a ${noun} ${missing}.`;
    if (!powered(name)) {
      const exact = EXACT[name] ?? "maximum likelihood";
      return `Standard errors are about ${short(plan.width)} times those of ${exact}.`;
    }
    const level = "(5% two-sided test)";
    if (plan.effect === null) return `No ${noun} is detected with power ${short(power)}: it ${missing}.`;
    const inverse = name === "survival" ? ` (or ${short(1 / plan.effect)})` : "";
    const effect = short(plan.effect) + inverse;
    const Noun = noun[0].toUpperCase() + noun.slice(1);
    return plan.exactPower === undefined
      ? `${Noun}s of ${effect} ${inverse ? "and beyond" : "or more"} are detected with power ${short(power)} ${level}.`
      : `A ${noun} of ${effect} is detected with power ${short(plan.power)} ${level}.`;
  }

  // What least squares would detect, and what would be enough for the power that is wanted.
  function detection(plan, { power, family }) {
    if (plan.effect === null || plan.released < 0.5) return {};
    if (plan.exactPower === undefined) {
      const noun = MODELS[family.name]?.noun ?? "slope";
      const beyond = family.name === "survival" ? "and beyond" : "or more";
      return { "without privacy": `${noun}s of ${short(plan.exactEffect)} ${beyond}` };
    }
    const { unitsForPower: units, epsilonForPower: eps } = plan;
    return {
      "without privacy": `power ${short(plan.exactPower)}`,
      [`n for power ${short(power)}`]: units ? count(units) : "more than 10^9",
      [`eps for power ${short(power)}`]: eps ? short(eps) : "none: more units are needed",
    };
  }

  function describe(plan, question) {
    const { name } = question.family;
    const some = plan.method !== "tukey";
    const modelled = name in MODELS;
    const declined = plan.declined < 0.01 ? "below 1%" : percent(plan.declined);
    const loss = name === LINEAR ? "loss in prediction, without inference" : "loss in prediction";
    const lost = `${short(100 * plan.loss)}% of the explained ${EXPLAINED[name] ?? "deviance"}`;
    const width = Number.isFinite(plan.width) ? `${short(plan.width)} times` : "none";
    const lines = {
      ...(modelled ? {} : { method: plan.method }),
      ...(plan.events === undefined ? {} : { events: count(plan.events) }),
      [`width against ${EXACT[name] ?? "maximum likelihood"}`]: width,
      [some ? "coefficients with an interval" : "probability of a release"]: percent(plan.released),
      ...(modelled ? {} : { "probability of no release": declined }),
      ...detection(plan, question),
      ...(modelled ? {} : { [loss]: lost }),
      "smallest n at this eps": plan.leastUnits ? count(plan.leastUnits) : "more than 10^9",
      "smallest eps at this n": plan.leastEpsilon ? short(plan.leastEpsilon) : "above 500",
    };
    const verdict = document.createElement("p");
    verdict.className = plan.works ? "planner-enough" : "planner-short";
    const found = document.createElement("strong");
    found.textContent = finding(plan, question);
    verdict.append(found, plan.works ? " This is enough." : " This is not enough.");
    const table = document.createElement("table");
    table.className = "docutils";
    const body = document.createElement("tbody");
    body.append(...Object.entries(lines).map(([name, text]) => row(name, [text])));
    table.append(body);
    answer.replaceChildren(verdict, table);
  }

  function element(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function draw({ n, d, eps, delta, family }) {
    const units = family.name === "survival" ? Math.max(1, Math.round(n * family.rate)) : n;
    const room = document.getElementById("planner-curve").clientWidth;
    const width = Math.max(300, Math.min(640, room));
    const [height, left, right, top, bottom] = [340, 28, 134, 14, 40];
    const [lowest, highest] = [Math.min(0.05, eps / 2), Math.max(10, eps * 2)];
    const [narrow, wide] = [1, 20];
    const x = (e) =>
      left + ((width - left - right) * Math.log(e / lowest)) / Math.log(highest / lowest);
    const y = (w) =>
      height - bottom - ((height - top - bottom) * Math.log(w / narrow)) / Math.log(wide / narrow);
    const picture = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    picture.append(element("title", {}, "Width of intervals against eps, for each method"));
    for (const w of [1, 2, 3, 5, 10, 20]) {
      const line = w === planner.widest ? "limit" : "grid";
      picture.append(
        element("line", { x1: left, x2: width - right, y1: y(w), y2: y(w), class: line }),
        element("text", { x: left - 8, y: y(w) + 4, "text-anchor": "end" }, w),
      );
    }
    for (const e of [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300]) {
      if (e < lowest || e > highest) continue;
      picture.append(
        element("text", { x: x(e), y: height - bottom + 18, "text-anchor": "middle" }, e),
      );
    }
    picture.append(
      element("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "eps"),
    );
    const labels = [];
    const methods = family.name === LINEAR ? planner.methods : ["auto"];
    methods.forEach((method, number) => {
      const of = { method, family };
      const points = [];
      for (let i = 0; i <= 40; i++) {
        const e = lowest * (highest / lowest) ** (i / 40);
        const found = planner.forecast(of, units, d, e, delta);
        if (found.released >= planner.likely && found.width <= wide) points.push([e, found.width]);
      }
      if (points.length === 0) return;
      const path = points.map(([e, w]) => `${x(e).toFixed(1)},${y(w).toFixed(1)}`).join(" ");
      picture.append(element("polyline", { points: path, class: `line method-${number}` }));
      const here = planner.forecast(of, units, d, eps, delta);
      const name = family.name in MODELS ? `dp_${family.name}` : here.method;
      labels.push({ name, number, y: y(points[points.length - 1][1]) });
      if (here.released >= planner.likely && here.width <= wide) {
        const place = { cx: x(eps), cy: y(here.width), r: 5, class: `dot method-${number}` };
        picture.append(element("circle", place));
      }
    });
    // From the bottom up, none on another.
    labels.sort((a, b) => b.y - a.y);
    let free = Infinity;
    for (const label of labels) {
      const at = Math.min(label.y + 4, free);
      free = at - 17;
      const place = { x: width - right + 8, y: at, class: `label method-${label.number}` };
      picture.append(element("text", place, label.name));
    }
    document.getElementById("planner-curve").replaceChildren(picture);
  }

  // As an argument of Python and of R, after a comma; nothing where it is the default.
  function familyArguments({ name, level, ...own }) {
    if (name === LINEAR) return ["", ""];
    if (name in MODELS) {
      const { argument, own: field } = MODELS[name];
      const value = own[field];
      return [
        `, family="${name}", ${argument}=${value}`,
        `, family = "${name}", ${argument} = ${value}`,
      ];
    }
    if (name === "quantile") return [`, family=dpreg.Quantile(${level})`, `, family = Quantile(${level})`];
    return [`, family="${name}"`, `, family = ${name}()`];
  }

  function showCall({ n, d, method, family, effect, power, typed }) {
    const [eps, delta] = [typed.eps.trim(), typed.delta.trim()];
    const chosen = method === "auto" ? "" : method;
    const grouped = String(n).replace(/\B(?=(\d{3})+$)/g, "_");
    const python = `dpreg.dp_plan(n=${grouped}, d=${d}, eps=${eps}, delta=${delta}`;
    const r = `dp_plan(n = ${n}, d = ${d}, eps = ${eps}, delta = ${delta}`;
    const [familyPython, familyR] = familyArguments(family);
    // The power is computed where the slope is given.
    const [name, value] = effect === null ? ["power", power] : ["effect", effect];
    const usual = !powered(family.name) || (effect === null && power === USUAL_POWER);
    const [testPython, testR] = usual ? ["", ""] : [`, ${name}=${value}`, `, ${name} = ${value}`];
    const calls = {
      python: `${python}${chosen && `, method="${chosen}"`}${testPython}${familyPython})`,
      r: `${r}${chosen && `, method = "${chosen}"`}${testR}${familyR})`,
    };
    for (const [language, call] of Object.entries(calls)) {
      document.querySelector(`.planner-${language} pre`).textContent = call;
    }
  }

  function update() {
    const { family } = form.elements;
    form.elements.method.disabled = family.value !== LINEAR;
    for (const name of ["effect", "power"]) form.elements[name].disabled = !powered(family.value);
    const own = family.value === "quantile" ? "level" : MODELS[family.value]?.own;
    for (const name of ["level", "rate", "classes", "treated"]) {
      document.getElementById(`planner-${name}`).hidden = name !== own;
    }
    const [title, help] = EFFECTS[family.value] ?? EFFECTS.other;
    document.getElementById("planner-effect").textContent = title;
    document.getElementById("help-effect").textContent = help;
    try {
      const question = asked();
      describe(planner.plan(question), question);
      showCall(question);
      draw(question);
      refusal.hidden = true;
    } catch (problem) {
      if (typeof problem !== "string") throw problem;
      refusal.textContent = `${problem}.`;
      refusal.hidden = false;
      answer.replaceChildren();
    }
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", update);
  window.addEventListener("resize", update);
  // The browser may have kept what was typed before.
  update();
})();
