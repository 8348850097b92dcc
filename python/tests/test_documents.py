"""Tests of the documents: the code in docs/guide/python.md, and the notebook."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

import fabemu
import notebook

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
LIVE = fabemu.Program.find().call("help", "status").returncode == 0  # runs have an interface
PLOTS = all(importlib.util.find_spec(name) for name in ("pandas", "matplotlib"))


class Documents(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_guide(self) -> None:
        """The blocks run one after another, as a reader types them."""
        names: dict[str, Any] = {"__name__": "guide"}
        printed = io.StringIO()
        text = (GUIDE / "python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"([^\n]*)\n\n```python\n(.*?)```", text, re.DOTALL)
        self.assertGreater(len(blocks), 5)
        for before, block in blocks:
            if saved := re.search(r"[Ss]ave this as `([^`]+)`", before):
                Path(saved[1]).write_text(block)
            if (PLOTS or "# with pandas" not in block) and (LIVE or ".set(" not in block):
                with self.subTest(block), contextlib.redirect_stdout(printed):
                    exec(compile(block, "python.md", "exec"), names)
        self.assertRegex(printed.getvalue(), r"virtual True\nno-spreading 0\.\d+ pass\n")
        self.assertRegex(printed.getvalue(), r"(?s)\nTrue\n.*2packets 0\.\d+ 0\.\d+\n")
        self.assertRegex(printed.getvalue(), r"step/up .* pass")

    def test_first_words(self) -> None:
        """The example at the head of the package runs."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(re.sub("(?m)^    ", "", re.findall(r"(?m)(?:^    .*\n|^\n)+", fabemu.__doc__ or "")[0]), {})
        self.assertRegex(printed.getvalue(), r"^virtual \d+\n$")

    def test_notebook(self) -> None:
        """It runs from top to bottom, and prints its stored outputs; notebook.py --update stores them."""
        book = notebook.read(GUIDE / "notebook.ipynb")
        for cell, outputs in zip(notebook.code(book), notebook.run(book)):
            stored = cell["outputs"]
            for outs in stored, outputs:  # a picture may have another look
                for out in outs:
                    out.get("data", {}).update({key: "" for key in out.get("data", {}) if key.startswith("image/")})
            self.assertEqual(stored, outputs, "".join(cell["source"]))
        pictures = [out for c in notebook.code(book) for out in c["outputs"] if "image/svg+xml" in out.get("data", {})]
        self.assertEqual(len(pictures), 3)
