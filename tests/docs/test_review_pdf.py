"""The PDF for a reviewer has every page and proof, and links within it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROOFS = sorted(p for top in ("cpp/src", "python/dpreg") for p in (ROOT / top).rglob("*.md"))


def plain(text):
    """Letters and digits: fonts have signs for pairs of letters, and lines end anywhere."""
    return re.sub(r"[^a-z0-9]", "", text.replace("ﬁ", "fi").replace("ﬀ", "ff").lower())


@pytest.fixture(scope="module")
def pdf(site):
    from pypdf import PdfReader

    (path,) = site.rglob("dpreg-review.pdf")
    return PdfReader(path)


def test_every_page_and_proof_is_in_it(pdf):
    text = plain("".join(page.extract_text() for page in pdf.pages))
    assert len(pdf.pages) >= len(PROOFS)
    for proof in PROOFS:
        title = proof.read_text().partition("\n")[0].removeprefix("# ")
        assert text.count(plain(title)) >= 2, title  # in the contents, and where it is
    for heading in ("For a reviewer", "Threat model", "Time and memory", "Known limits"):
        assert plain(heading) in text
    assert "scoreofroundk" in text  # of the tables that are filled in


def test_its_links_lead_to_places_in_it_or_to_the_web(pdf):
    links = [
        link.get_object()
        for page in pdf.pages
        for link in page.get("/Annots", [])
        if link.get_object()["/Subtype"] == "/Link"
    ]
    assert len(links) > 100
    for link in links:
        action = link.get("/A", {})
        assert "/Dest" in link or "/D" in action or str(action["/URI"]).startswith("https:")


def test_no_formula_of_a_proof_is_read_as_emphasis(site):
    """Two marks of an index in a line, and what is between would be in italics."""
    sys.path.insert(0, str(ROOT / "vignettes/site"))
    import review_pdf

    def emphasised(node):
        if isinstance(node, list):
            return [found for entry in node for found in emphasised(entry)]
        if not isinstance(node, dict):
            return []
        here = [str(node["c"])] if node.get("t") in ("Emph", "Strong", "RawInline") else []
        return here + [found for value in node.values() for found in emphasised(value)]

    text = "\n\n".join(proof.read_text() for proof in PROOFS)
    made = review_pdf.blocks(text, 1, lambda _: None, "")
    assert not [each for each in emphasised(made) if "{" in re.sub(r"\{'[tc]'", "", each)]
