"""A Sphinx extension: where a page names a file of the repository, it links to the page of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from repository import NAMED, Names
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

# A name inside these stays as it is.
WITHIN = (nodes.reference, nodes.title, nodes.literal_block, nodes.raw, nodes.literal)


class FileNames(SphinxPostTransform):
    """Turn names of files into references."""

    default_priority = 900

    def run(self, **_: Any) -> None:
        pages: dict[str, str] = self.config.repository_pages
        names = Names(list(pages))
        folder = str(Path(self.env.docname).parent)

        def page(name: str) -> str | None:
            path = names.meant(name, "" if folder == "." else folder)
            found = pages[path] if path else None
            return None if found == self.env.docname else found

        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext()
            target = page(name) if NAMED.fullmatch(name) and not self._within(literal) else None
            if target:
                literal.replace_self(self._reference(target, literal.deepcopy()))
        for text in list(self.document.findall(nodes.Text)):
            if not self._within(text) and NAMED.search(text):
                self._link_words(text, page)

    def _link_words(self, text: nodes.Text, page: Any) -> None:
        pieces: list[nodes.Node] = []
        end = 0
        for match in NAMED.finditer(text):
            target = page(match[0])
            if target:
                pieces.append(nodes.Text(text[end : match.start()]))
                pieces.append(self._reference(target, nodes.Text(match[0])))
                end = match.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[end:])])

    def _reference(self, target: str, shown: nodes.Node) -> nodes.reference:
        uri = self.app.builder.get_relative_uri(self.env.docname, target)
        return nodes.reference("", "", shown, internal=True, refuri=uri)

    @staticmethod
    def _within(node: nodes.Node) -> bool:
        parent = node.parent
        while parent is not None:
            if isinstance(parent, WITHIN):
                return True
            parent = parent.parent
        return False


def read_pages(app: Sphinx, config: Any) -> None:
    config.repository_pages = json.loads((Path(app.srcdir) / "pages.json").read_text())


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("repository_pages", {}, "env")
    app.connect("config-inited", read_pages)
    app.add_post_transform(FileNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
