"""The list of pages beside each page: made once for each folder of pages, and marked for each page.

The theme asks for it anew for each page, and making it is most of what writing a page takes.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment.adapters.toctree import global_toctree_for_doc

# What the theme asks for; before it does, and after it has put boxes to fold lists into them.
ASKED = {"collapse": False, "titles_only": True, "maxdepth": -1, "includehidden": True}
EARLY, LATE = 100, 900
# No page is called so: links are relative to a folder, and none is to the page itself.
NOBODY = "-"
TAG = re.compile(r'<(/?)(ul|li)\b[^>]*>|<a class="reference internal" href="([^"]*)">')
BOX = re.compile(r'<input aria-label="[^"]*"')
LINK = '<a class="current reference internal" href="#">'


class Sidebars:
    """Lists by folder, all made with the first page: before there are processes for the others."""

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._made: dict[str, str] = {}

    def hand_over(
        self, app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
    ) -> None:
        """Have the theme take the list that there is."""
        if not self._made:
            self._named = {name for names in app.env.toctree_includes.values() for name in names}
            for other in sorted(app.env.all_docs):
                self._of(app, other)
        made, ask = self._of(app, page), context["toctree"]
        context["toctree"] = lambda **how: made if how == ASKED else ask(**how)

    def mark(
        self, app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
    ) -> None:
        """Mark the page that is open, as Sphinx and the theme do."""
        if page in self._named:
            link = app.builder.get_relative_uri(beside(page), page)
            context["furo_navigation_tree"] = marked(context["furo_navigation_tree"], link)

    def _of(self, app: Sphinx, page: str) -> str:
        nobody = beside(page)
        if nobody not in self._made:
            builder: Any = app.builder
            tree = global_toctree_for_doc(app.env, nobody, builder, tags=builder.tags, **ASKED)
            self._made[nobody] = builder.render_partial(tree)["fragment"]
        return self._made[nobody]


def beside(page: str) -> str:
    """Return the name of no page, in the folder of a page."""
    folder = page.rpartition("/")[0]
    return f"{folder}/{NOBODY}" if folder else NOBODY


def marked(tree: str, link: str) -> str:
    """Mark a link, the items and lists that it is in, and the boxes that show these."""
    opened: list[re.Match[str]] = []
    ways: list[list[re.Match[str]]] = []
    for tag in TAG.finditer(tree):
        if tag[1]:
            opened.pop()
        elif tag[2]:
            opened.append(tag)
        elif tag[3] == link:
            ways.append([*opened, tag])
    if not ways:
        raise ValueError(f"no entry of the list of pages leads to {link}")
    last = ways[-1][-2]
    edits = []
    for tag in {tag for way in ways for tag in way}:
        edits.append((tag.start(), tag.end(), _current(tag, last=tag is last)))
        if "has-children" in tag[0] and (box := BOX.search(tree, tag.end())):
            edits.append((box.end(), box.end(), ' checked=""'))
    for start, end, new in sorted(edits, reverse=True):
        tree = tree[:start] + new + tree[end:]
    return tree


def _current(tag: re.Match[str], *, last: bool) -> str:
    if tag[2] == "ul":
        return '<ul class="current">'
    if tag[2] == "li":
        found = re.sub(r"(toctree-l\d+)", r"\1 current", tag[0])
        return found.replace('">', ' current-page">') if last else found
    return LINK


def setup(app: Sphinx) -> dict[str, bool]:
    sidebars = Sidebars()
    app.connect("html-page-context", sidebars.hand_over, priority=EARLY)
    app.connect("html-page-context", sidebars.mark, priority=LATE)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
