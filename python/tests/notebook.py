"""Runs the code cells of a notebook as Jupyter does, without it: python3 notebook.py [--update] NOTEBOOK."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def read(path: Path) -> dict[str, Any]:
    """Return a notebook of format 4."""
    book: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if book["nbformat"] != 4 or book["nbformat_minor"] < 5:
        raise ValueError(f"{path} is not a notebook of format 4.5")
    return book


def run(book: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Run the code cells of a notebook in their order, and return the outputs of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_cell("".join(c["source"]), names, n) for n, c in enumerate(code(book), 1)]


def code(book: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the code cells of a notebook."""
    return [c for c in book["cells"] if c["cell_type"] == "code"]


def _cell(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell, and return its printed text and the value of an expression at its end."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if svg := getattr(value, "_repr_svg_", lambda: None)():
            data["image/svg+xml"] = _lines(svg)
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    path = Path(sys.argv[-1]).absolute()
    book = read(path)
    for cell, outputs in zip(code(book), run(book)):
        cell["outputs"] = outputs
    for number, cell in enumerate(code(book), 1):
        cell["execution_count"] = number
    if "--update" in sys.argv:
        path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
