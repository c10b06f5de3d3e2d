"""The site in a headless browser: at three widths, light and dark, with its search and its tabs."""

from __future__ import annotations

import itertools
import math
import re
from urllib.parse import urlsplit

import pytest

import dpreg

# Beyond 1 there is something that cannot be seen without scrolling sideways.
OVERFLOW = "document.documentElement.scrollWidth / document.documentElement.clientWidth"
BROKEN = "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
# A page is loaded on the first; the others are the same page, turned.
SCREENS = [(390, "light"), (820, "dark"), (1400, "light")]
# Of the text of each kind against what is behind it, as WCAG 2.1 defines it; the least.
CONTRAST = """(selector) => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const found = channels(getComputedStyle(node).backgroundColor);
      if (found.length < 4 || found[3] === 1) return luminance(found);
    }
    return 1;
  };
  return Math.min(...[...document.querySelectorAll(selector)].slice(0, 200).map((node) => {
    const pair = [luminance(channels(getComputedStyle(node).color)), behind(node)];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  }));
}"""


@pytest.fixture(scope="module")
def documents(site):
    """Return the pages that people read: not code, not the lists of names."""
    pages = (str(page.relative_to(site)) for page in sorted(site.rglob("*.html")))
    apart = ("_modules/", "genindex", "py-modindex", "search")
    endings = (".py.html", ".cpp.html", ".hpp.html", ".R.html", ".csv.html")
    return [p for p in pages if not p.startswith(apart) and not p.endswith(endings)]


@pytest.fixture
def page(chromium, address):
    context = chromium.new_context(base_url=address, viewport={"width": 1400, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def seen(layout, address, documents):
    """Load each page once; return what is wrong with it on each screen, and its pictures' words."""
    context = layout.new_context(base_url=address)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("response", lambda r: said.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    home = urlsplit(address).netloc
    page.on(
        "request",
        lambda r: said.append(r.url) if urlsplit(r.url).netloc not in (home, "") else None,
    )
    wrong: list[str] = []
    words_of: dict[str, str] = {}
    for name in documents:
        said.clear()
        for number, (width, scheme) in enumerate(SCREENS):
            page.set_viewport_size({"width": width, "height": 850})
            page.emulate_media(color_scheme=scheme)
            if number == 0:
                page.goto(f"/{name}", wait_until="load")
            if page.evaluate(OVERFLOW) > 1:
                wrong.append(f"{name} is wider than {width} pixels")
            wrong += [f"{name}, {width} pixels: {picture}" for picture in page.evaluate(BROKEN)]
        wrong += [f"{name}: {line}" for line in said]
        words_of |= page.evaluate("[...document.images].map((i) => [i.src, i.alt])")
    context.close()
    return wrong, words_of


def test_every_page_loads_and_fits(seen, documents):
    wrong, _ = seen
    assert len(documents) > 120
    assert wrong == []


def test_every_picture_is_put_into_words(seen):
    _, words_of = seen
    assert len(words_of) > 20
    for picture, words in words_of.items():
        assert len(re.findall(r"[^\W\d_]{2,}", words)) >= 3, f"{picture}: {words!r}"
        # What matplotlib, knitr and Sphinx write where they are told nothing.
        default = re.match(r"<Figure|plot of chunk|.*\.png$|\.\./", words)
        assert default is None, f"{picture}: {words!r}"
    # What is said of one is said of no other.
    assert len(set(words_of.values())) == len(words_of)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name",
    [
        "index",
        "guide/start",
        "guide/survival",
        "planner",
        "privacy/proofs",
        "vignettes/gallery",
        "rwrapper/vignettes/custodian",
        "cpp/src/mechanisms/peel",
        "reference/r/dp_lm",
    ],
)
def test_text_can_be_read(chromium, address, scheme, name):
    context = chromium.new_context(base_url=address, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"/{name}.html")
    for selector in ("article p", "article a", "article code", "article td", "pre span"):
        if page.locator(selector).count():
            assert page.evaluate(CONTRAST, selector) >= 4.5, selector
    white = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert white == (scheme == "light")
    context.close()


@pytest.mark.parametrize("name", ["index", "guide/papers", "vignettes/gallery", "planner"])
def test_a_page_weighs_less_than_a_megabyte(page, name):
    page.goto(f"/{name}.html", wait_until="load")
    sizes = page.evaluate("""performance.getEntriesByType("resource")
      .concat(performance.getEntriesByType("navigation")).map((entry) => entry.decodedBodySize)""")
    assert len(sizes) > 5
    assert 20_000 < sum(sizes) < 1_000_000


def test_the_reader_chooses_light_or_dark(page):
    page.goto("/index.html")
    before = page.evaluate("document.body.dataset.theme")
    page.locator("button.theme-toggle:visible").first.click()
    assert page.evaluate("document.body.dataset.theme") != before


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("dp_plan", "reference/python/dpreg.dp_plan.html"),
        ("moments_r2", "reference/r/dp_moments.html"),
        ("peeling", "cpp/src/mechanisms/peel.html"),
        ("ledger", "guide/budgets.html"),
    ],
)
def test_search_finds(page, words, wanted):
    page.goto("/guide/start.html")
    page.locator("input.sidebar-search").fill(words)
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    page.wait_for_function(
        "/found|matching/.test(document.querySelector('.search-summary').innerText)"
    )
    found = page.locator("#search-results li > a").evaluate_all("(all) => all.map((a) => a.href)")
    assert any(urlsplit(href).path == f"/{wanted}" for href in found), found
    page.locator(f"#search-results li > a[href*='{wanted}']").first.click()
    page.wait_for_url(f"**/{wanted}*")


def test_tabs_switch_together_and_stay(page):
    page.goto("/guide/start.html")
    python, r = page.get_by_text("import dpreg").first, page.get_by_text("library(dpreg)").first
    assert python.is_visible()
    assert not r.is_visible()
    page.locator("label.sd-tab-label", has_text="R").first.click()
    assert r.is_visible()
    assert not python.is_visible()
    chosen = (
        "(all) => all.filter((i) => i.checked).map((i) => i.nextElementSibling.innerText.trim())"
    )
    everywhere = page.locator(".sd-tab-set > input").evaluate_all(chosen)
    assert len(everywhere) > 3
    assert set(everywhere) == {"R"}
    page.goto("/guide/budgets.html")
    assert set(page.locator(".sd-tab-set > input").evaluate_all(chosen)) == {"R"}


def test_the_planner_answers(page):
    page.goto("/planner.html")
    answer = page.locator("#planner-answer")
    assert "This is enough." in answer.inner_text()
    page.locator("[name=n]").fill("2,000")
    page.locator("[name=eps]").fill("0.1")
    plan = dpreg.dp_plan(2000, 10, 0.1, 1e-6)
    assert not plan.works
    assert "This is not enough." in answer.inner_text()
    assert f"{plan.least_n:,}" in answer.inner_text()
    assert answer.inner_text().startswith("This is too small for inference")
    assert "dpreg.dp_plan(n=2_000, d=10, eps=0.1, delta=1e-6)" in page.inner_text(
        ".planner-python pre"
    )
    page.locator("[name=n]").fill("50000")
    page.locator("[name=eps]").fill("2")
    assert page.locator("#planner-curve polyline").count() >= 2
    plan = dpreg.dp_plan(50_000, 10, 2.0, 1e-6)
    assert f"Slopes of {plan.effect:.3g} or more are detected with power 0.8" in answer.inner_text()
    page.locator("[name=effect]").fill("0.013")
    page.locator("[name=power]").fill("0.9")
    plan = dpreg.dp_plan(50_000, 10, 2.0, 1e-6, effect=0.013)
    assert f"is detected with power {plan.power:.3g}" in answer.inner_text()
    enough = dpreg.dp_plan(d=10, eps=2.0, delta=1e-6, effect=0.013, power=0.9)
    assert f"{enough.n:,}" in answer.inner_text()
    assert "eps=2, delta=1e-6, effect=0.013)" in page.inner_text(".planner-python pre")
    page.locator("[name=family]").select_option("quantile")
    page.locator("[name=level]").fill("0.9")
    plan = dpreg.dp_plan(50_000, 10, 2.0, 1e-6, family=dpreg.Quantile(0.9))
    assert f"{plan.width:.3g} times" in answer.inner_text()
    assert "width against quantile regression" in answer.inner_text()
    assert "family=dpreg.Quantile(0.9))" in page.inner_text(".planner-python pre")
    page.locator("[name=family]").select_option("survival")
    page.locator("[name=rate]").fill("0.1")
    page.locator("[name=effect]").fill("0.9")
    of_hazards = {"event_rate": 0.1, "family": "survival"}
    plan = dpreg.dp_plan(50_000, 10, 2.0, 1e-6, effect=0.9, **of_hazards)
    said = f"A hazard ratio of {plan.effect:.3g} (or 0.9) is detected with power {plan.power:.3g}"
    assert said in answer.inner_text()
    assert 'effect=0.9, family="survival", event_rate=0.1)' in page.inner_text(
        ".planner-python pre"
    )
    assert page.locator("[name=level]").is_hidden()
    page.locator("[name=delta]").fill("2")
    assert "delta must be between 0 and 1" in page.locator("#planner-error").inner_text()
    assert answer.inner_text() == ""


# Plans of the page, of what is asked.
PLANNED = """(asked) => {
  const tables = JSON.parse(document.getElementById("planner-tables").textContent);
  const planner = makePlanner(tables);
  return asked.map((question) => planner.plan(question));
}"""


def test_the_planner_has_the_numbers_of_python(page):
    page.goto("/planner.html")
    grid = itertools.product(
        (300, 5_000, 123_456, 10**7), (1, 7, 60), (0.05, 0.9, 4.0), (1e-9, 1e-3),
        (("auto", "gaussian"), ("boosted_adassp", "gaussian"), ("adassp", "gaussian"),
         ("tukey", "gaussian"), ("moments", "gaussian"), ("auto", "binomial"), ("auto", "poisson"),
         ("auto", 0.5), ("auto", 0.9)),
    )  # fmt: skip
    # Every tenth: the grid has all neighbours of each.
    asked = [
        {"n": n, "d": d, "eps": eps, "delta": delta, "method": method,
         "family": {"name": "quantile", "level": family} if isinstance(family, float)
         else {"name": family, "level": None}}
        for n, d, eps, delta, (method, family) in itertools.islice(grid, 0, None, 10)
    ]  # fmt: skip
    answers = page.evaluate(PLANNED, asked)
    assert len(asked) == len(answers) == 65
    for question, answer in zip(asked, answers, strict=True):
        name, level = question["family"].values()
        family = name if level is None else dpreg.Quantile(level)
        plan = dpreg.dp_plan(**{**question, "family": family})
        expected = {"method": plan.method, "works": plan.works, "leastUnits": plan.least_n,
                    "leastEpsilon": plan.least_eps}  # fmt: skip
        assert {name: answer[name] for name in expected} == expected, question
        for name in ("released", "declined", "width", "loss"):
            value = math.inf if answer[name] is None else answer[name]
            assert value == pytest.approx(getattr(plan, name), rel=1e-9, abs=1e-12), question
        assert (answer["power"], answer["effect"] is None) == (plan.power, plan.effect is None)
        if plan.effect is not None:
            assert answer["effect"] == pytest.approx(plan.effect, rel=1e-9)


def test_the_planner_solves_for_power_as_python_does(page):
    page.goto("/planner.html")
    asked = [
        {"n": n, "d": 7, "eps": 0.9, "delta": 1e-6, "effect": 0.08, "power": 0.9, "method": method,
         "family": {"name": "gaussian", "level": None}}
        for n, method in itertools.product((300, 5_000, 10**6), ("auto", "tukey", "moments"))
    ]  # fmt: skip
    for question, answer in zip(asked, page.evaluate(PLANNED, asked), strict=True):
        given = {key: question[key] for key in ("d", "delta", "effect", "method")}
        plan = dpreg.dp_plan(question["n"], eps=0.9, **given)
        assert answer["power"] == pytest.approx(plan.power, rel=1e-9)
        assert answer["exactPower"] == pytest.approx(plan.exact_power, rel=1e-9)
        assert answer["unitsForPower"] == dpreg.dp_plan(eps=0.9, power=0.9, **given).n
        if answer["epsilonForPower"] is None:
            with pytest.raises(dpreg.ArgumentError, match="at any eps"):
                dpreg.dp_plan(question["n"], power=0.9, **given)
        else:
            solved = dpreg.dp_plan(question["n"], power=0.9, **given)
            assert answer["epsilonForPower"] == solved.eps


OF_MODELS = [
    ("survival", "rate", "event_rate", 0.3), ("survival", "rate", "event_rate", 0.05),
    ("ordinal", "classes", "classes", 4), ("multinomial", "classes", "classes", 3),
    ("effect", "treated", "treated", 0.97),
]  # fmt: skip


@pytest.mark.parametrize(("name", "field", "argument", "value"), OF_MODELS)
def test_the_planner_has_the_numbers_of_python_for_models(page, name, field, argument, value):
    page.goto("/planner.html")
    family, given = {"name": name, field: value}, {"family": name, argument: value}
    asked = [
        {"n": n, "d": d, "eps": eps, "delta": 1e-6, "effect": effect, "power": 0.9,
         "method": "auto", "family": family}
        for n, d, eps, effect in itertools.product((300, 123_457), (1, 7), (0.05, 0.9), (None, 0.9))
    ]  # fmt: skip
    for question, answer in zip(asked, page.evaluate(PLANNED, asked), strict=True):
        of = {"d": question["d"], "eps": question["eps"], "delta": 1e-6, **given}
        effect = question["effect"]
        size = {"power": 0.9} if effect is None else {"effect": effect}
        plan = dpreg.dp_plan(question["n"], **of, **size)
        expected = {"works": plan.works, "leastUnits": plan.least_n, "leastEpsilon": plan.least_eps}
        assert {name: answer[name] for name in expected} == expected, question
        numbers = {"width": plan.width, "released": plan.released, "power": plan.power,
                   "effect": plan.effect}  # fmt: skip
        if effect is None:
            numbers["exactEffect"] = plan.exact_effect
        else:
            assert answer["unitsForPower"] == dpreg.dp_plan(**of, effect=effect, power=0.9).n
        for name, number in numbers.items():
            assert (answer[name] is None) == (number is None), question
            assert number is None or answer[name] == pytest.approx(number, rel=1e-9), question


def test_letters_of_the_first_plot_are_legible_on_a_phone(page):
    """Letters of 10 points, drawn at 160 dots per inch, have 9 pixels or more."""
    page.set_viewport_size({"width": 375, "height": 850})
    page.goto("/index.html")
    shown, drawn = page.locator("article img").first.evaluate("(i) => [i.width, i.naturalWidth]")
    assert 10 / 72 * 160 * shown / drawn >= 9


@pytest.mark.parametrize("name", ["index", "guide/effects", "rwrapper/vignettes/custodian"])
def test_a_dark_page_has_no_white_box(chromium, address, name):
    """White is 20 of 255 after the filter, as near to the page's own background as can be seen."""
    context = chromium.new_context(base_url=address, color_scheme="dark")
    page = context.new_page()
    page.goto(f"/{name}.html")
    filters = "(all) => all.map((image) => getComputedStyle(image).filter)"
    assert set(page.locator("article img").evaluate_all(filters)) == {
        "invert(0.92) hue-rotate(180deg)"
    }
    page.emulate_media(color_scheme="light")
    assert set(page.locator("article img").evaluate_all(filters)) == {"none"}
    context.close()
