"""Sphinx's configuration; build.py makes the folder of pages that it reads."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from dpreg import __version__  # noqa: E402

project = "dpreg"
author = "The dpreg authors"
copyright = author
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx.ext.napoleon",
    "docstrings",
    "sphinx_design",
    "sphinx_copybutton",
    "links",
    "sidebars",
]
# The first is that of the pages that autosummary writes.
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
root_doc = "index"
exclude_patterns = ["_build"]
templates_path = [str(HERE / "templates")]

# build.py has executed them, so that what is shown was printed by this version.
nb_execution_mode = "off"
nb_merge_streams = True
nb_output_stderr = "error"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Blocks without a language are what something printed.
highlight_language = "text"
# Quotes in messages and formulas are to be copied.
smartquotes = False
default_role = "py:obj"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
napoleon_google_docstring = False
napoleon_custom_sections = ["Privacy"]
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"dpreg {version}"
html_static_path = [str(HERE / "static")]
html_favicon = str(HERE / "static/icon.svg")
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
# The colours of the pictures in the pages, on white and on black.
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#00588a",
        "color-brand-content": "#00588a",
        "color-brand-visited": "#6b3f87",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6fc1ef",
        "color-brand-content": "#6fc1ef",
        "color-brand-visited": "#c79be0",
    },
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = "div:not(.output) > div.highlight > pre"
