"""Sweeps: one scenario over many values."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from .errors import CallError, RunError
from .files import lines, reading, text
from .program import Flag, Program, flags, plain, word
from .result import data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

Row = dict[str, Union[str, float, None]]


@dataclass(frozen=True, repr=False)
class Sweep:
    """The table of a sweep, in the folder of its files. A notebook shows the figure of its first metric."""

    directory: Path
    rows: list[Row]  #: a row for each run: its cell, the values, the verdict's level, the figures
    means: list[Row]  #: with seeds: a row for each combination, with means and 95 % intervals

    def __repr__(self) -> str:
        return f"<Sweep of {len(self.rows)} runs>"

    @staticmethod
    def open(directory: Union[str, os.PathLike[str]]) -> Sweep:
        """Return the sweep in a folder.

        :raises CallError: there is none
        """
        path = Path(directory)
        if not (path / "sweep.csv").exists():
            raise CallError(f"{path} has no table of a sweep: sweep.csv")
        return Sweep(path, _table(path / "sweep.csv"), _table(path / "means.csv"))

    def frame(self, means: bool = False) -> DataFrame:
        """Return the table of the runs, or of the means, as a DataFrame of pandas."""
        return data_frame(self.means if means else self.rows)

    def _repr_svg_(self) -> Optional[str]:  # of notebooks
        columns = list(self.rows[0]) if self.rows else []
        metric = next(iter(columns[columns.index("level") + 1 :]), "") if "level" in columns else ""
        path = self.directory / (re.sub(r"[^\w.-]|_", "-", metric)[:100].strip("-.") + ".svg")
        with reading(path, "a figure of a sweep"):
            return text(path) if path.exists() else None


def run_sweep(
    program: Program, name: str, text: Optional[str], sets: Mapping[str, Sequence[Any]], metrics: Sequence[str],
    seeds: int, out: Union[str, os.PathLike[str], None], progress: Optional[Callable[[int, int], object]],
    given: Mapping[str, Flag],
) -> Sweep:  # fmt: skip
    """Call ``fabemu sweep`` and return its table."""
    if text is not None:  # a sweep reads its scenario more than once, and continues only if it is the same file
        out = Path(out) if out is not None else _new()
        name = f"{out}.yaml"
        out.parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(text.encode("utf-8", "surrogatepass"))
    args = [f"--set={path}={word(list(values))}" for path, values in sets.items()]
    args += [f"--metric={m}" for m in metrics] + flags({"seeds": seeds or None, "out": out, **given})
    process = subprocess.Popen(
        [str(program.path), "sweep", *args, "--", name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
    )  # fmt: skip
    words = []
    with process:
        assert process.stderr
        try:
            for line in process.stderr:
                if found := re.match(r"sweep: (\d+) of (\d+) runs are done", line):
                    if progress is not None:
                        progress(int(found[1]), int(found[2]))
                elif found := re.match(r"sweep: the table and the figures are in (.*)$", line):
                    out = found[1]
                else:
                    words.append(line)
        except BaseException:
            process.terminate()
            raise
    message = plain("".join(words))
    if process.returncode == 2:
        raise CallError(message)
    if process.returncode not in (0, 1) or out is None:
        raise RunError(message or f"the sweep has ended with status {process.returncode}")
    return Sweep.open(out)


def _new() -> Path:
    """Return a name for a new folder under results."""
    return next(p for n in range(1, 1 << 30) if not (p := Path("results", f"sweep-{n}")).exists())


def _table(path: Path) -> list[Row]:
    """Return a table of values separated by commas, with numbers as numbers; empty where there is no file."""
    if not path.exists():
        return []
    with reading(path, "a table of a sweep"):
        return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(lines(path))]


def _value(text: str) -> Union[str, float, None]:
    """Return a cell of a table: a number, None where it is empty, or its text."""
    try:
        return float(text) if "." in text or not text.lstrip("-").isdigit() else int(text)
    except ValueError:
        return text or None
