"""Tests of the wheels: python/wheel.py. $FABEMU is the program, as in test_fabemu.py."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fabemu import Program

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Program.find()


class Wheels(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_wheel(self) -> None:
        """The same arguments make the same bytes; pip installs the wheel without an index, and it has its program."""
        if sys.version_info < (3, 11) or importlib.util.find_spec("pip") is None:
            self.skipTest("a wheel needs Python 3.11 and pip")
        Path("program").write_text(f'#!/bin/sh\nexec {PROGRAM.path} "$@"\n')
        made = []
        for name in "one", "two":
            command = [sys.executable, str(ROOT / "python/wheel.py"), PROGRAM.version, "linux/amd64", "program", name]
            environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
            made.append(Path(subprocess.check_output(command, text=True, env=environment).strip()))
        self.assertEqual(made[0].read_bytes(), made[1].read_bytes())
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--ignore-installed",
             "--no-warn-script-location", "--disable-pip-version-check", "--root-user-action=ignore", "--prefix",
             "root", made[0]], check=True,
        )  # fmt: skip
        (package,) = Path("root").rglob("fabemu/__init__.py")
        code = "import fabemu; print(fabemu.__version__); print(fabemu.Program.find().path)"
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(package.parents[1].absolute())}
        out = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
        version, path = out.splitlines()
        self.assertEqual(version, PROGRAM.version)
        self.assertTrue(os.path.samefile(path, next(Path("root").rglob("bin/fabemu"))), path)
        self.assertTrue((package.parent / "py.typed").exists())

    def test_numbers(self) -> None:
        sys.path.insert(0, str(ROOT / "python"))
        self.addCleanup(sys.path.pop, 0)
        number = importlib.import_module("wheel").number
        for version, want in ("0.1.0", "0.1.0"), ("v0.1.0", "0.1.0"), ("0.1.0+ab1.changed", "0.1.0+ab1.changed"), (
            "abc-dirty", "0+abc.dirty"), ("", "0+devel"):  # fmt: skip
            self.assertEqual(number(version), want)
