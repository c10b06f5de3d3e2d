"""The list of pages beside each page: made once for each folder of pages that it does not name.

The theme asks for it anew for each page, and making it is most of what writing a page takes.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.environment.adapters.toctree import global_toctree_for_doc

# What the theme asks for; and before it does.
ASKED = {"collapse": False, "titles_only": True, "maxdepth": -1, "includehidden": True}
EARLY = 100


class Sidebars:
    """Lists by folder: links in them are relative, and no page is marked as the one that is open.

    All are made with the first page, before there are processes for the others.
    """

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._made: dict[str, str] = {}

    def hand_over(
        self, app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
    ) -> None:
        """Have the theme take the list that there is."""
        if not self._made:
            self._named = {name for names in app.env.toctree_includes.values() for name in names}
            for other in sorted(app.env.all_docs.keys() - self._named):
                self._of(app, other)
        if page not in self._named:
            made, ask = self._of(app, page), context["toctree"]
            context["toctree"] = lambda **how: made if how == ASKED else ask(**how)

    def _of(self, app: Sphinx, page: str) -> str:
        folder = page.rpartition("/")[0]
        if folder not in self._made:
            builder: Any = app.builder
            tree = global_toctree_for_doc(app.env, page, builder, tags=builder.tags, **ASKED)
            self._made[folder] = builder.render_partial(tree)["fragment"]
        return self._made[folder]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", Sidebars().hand_over, priority=EARLY)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
