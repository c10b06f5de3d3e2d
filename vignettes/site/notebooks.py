"""The scripts of vignettes/, executed, as notebooks with their tables and pictures.

A script that was executed with the same package is not executed again: what is kept goes by a hash
of both.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import kernels
import nbformat
from chunks import wrapped
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import dpreg

PACKAGE = Path(dpreg.__file__).parent
HERE = Path(__file__).resolve().parent
# A figure prints as its words; printers that are registered for it, pyplot takes out again.
SETTINGS = f"""
import sys
from matplotlib.figure import Figure
sys.path.insert(0, {str(HERE)!r})
from pictures import in_words
sys.path.pop(0)
Figure.__repr__ = in_words
c.InlineBackend.figure_formats = {{"retina"}}
c.InlineBackend.rc = {{"font.size": 12}}
"""
# What is said to ruff and to nobody else.
ASIDE = re.compile(r"  # (fmt: skip|noqa.*)$", re.MULTILINE)
# A page that is a script in the repository.
SCRIPT = re.compile(r"\]\((\w+)\.py\)")
# Seconds that a cell may take.
PATIENCE = 600


def stamp(*sources: Path) -> str:
    """Return a name for what these sources print with this package, up to its noise."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    files = (p for p in PACKAGE.rglob("*") if p.suffix in {".py", ".csv", ".so", ".parquet"})
    for path in (*sources, *sorted(files)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def tables_beside(script: Path) -> list[Path]:
    return sorted(p for p in script.parent.iterdir() if p.suffix in {".csv", ".parquet"})


def tidied(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Leave out what is said about an object that is drawn; fold lines; put pictures into words."""
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        if any(output.output_type == "display_data" for output in outputs):
            cell.outputs = [o for o in outputs if o.output_type != "execute_result"]
        for output in outputs:
            if output.output_type == "stream":
                output.text = wrapped(output.text)
        pictures = [o.data["text/plain"] for o in outputs if "image/png" in o.get("data", {})]
        if pictures:
            cell.metadata["mystnb"] = {"image": {"alt": ". ".join(pictures)}}
        cell.source = SCRIPT.sub(r"](\1.ipynb)", ASIDE.sub("", cell.source))
        # Times of execution: nobody needs them, and they differ each time.
        cell.metadata.pop("execution", None)
    return notebook


def run(script: Path, folder: str) -> nbformat.NotebookNode:
    """Return the notebook of a script, run in a folder."""
    notebook = jupytext.read(script, fmt="py:percent")
    resources = {"metadata": {"path": folder}}
    client = NotebookClient(notebook, timeout=PATIENCE, resources=resources)
    client.km = kernels.manager(folder)
    client.execute()
    return notebook


def execute(script: Path, kept: Path) -> None:
    """Write the notebook of a script; if it fails, run it once more, with other noise.

    One of a thousand fits has no standard error of a coefficient that a page goes on to test.
    """
    with tempfile.TemporaryDirectory() as folder:
        for table in tables_beside(script):
            shutil.copy(table, folder)
        try:
            notebook = run(script, folder)
        except CellExecutionError as failure:
            print(f"{script.name} is run again:", failure, file=sys.stderr)
            notebook = run(script, folder)
    nbformat.write(tidied(notebook), kept)


def stage(scripts: list[Path], out: Path, cache: Path) -> None:
    """Write a notebook of each script into `out`."""
    profile = cache / "ipython/profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(SETTINGS)
    tables = tables_beside(scripts[0])
    pictures = HERE / "pictures.py"
    kept = {s: cache / f"{s.stem}-{stamp(s, pictures, *tables)}.ipynb" for s in scripts}
    for old in set(cache.glob("*.ipynb")) - set(kept.values()):
        old.unlink()
    os.environ |= {
        "IPYTHONDIR": str(cache / "ipython"),
        "OMP_NUM_THREADS": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
        # matplotlib is imported before the kernel says where it draws.
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    kernels.start_server()
    # Two at a time on two cores.
    with ThreadPoolExecutor(2) as workers:
        running = [
            workers.submit(execute, script, path)
            for script, path in kept.items()
            if not path.exists()
        ]
        for run in running:
            run.result()
    for script, path in kept.items():
        shutil.copy(path, out / f"{script.stem}.ipynb")
