"""The program that the package calls: where it is, and whether it fits."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Optional, Union

from .errors import CallError, ProgramError
from .version import __version__

#: The value of a flag: True is ``--flag``, None leaves it out, several values have commas between them.
Flag = Union[bool, int, float, str, "os.PathLike[str]", Sequence[str], None]

_NAME = "fabemu.exe" if os.name == "nt" else "fabemu"

#: The most seconds that a program may take to state its version.
_ANSWER = 20.0

#: In a checkout, the version of the programs that are built from it.
_CHECKOUT = Path(__file__).absolute().parents[2] / "cmd" / "fabemu" / "version.txt"


@dataclass(frozen=True)
class Program:
    """A fabemu program of the version of this package."""

    path: Path
    version: str

    @staticmethod
    def find(program: Union[Program, str, os.PathLike[str], None] = None) -> Program:
        """Return the program at a path, else at ``$FABEMU``, else of the wheel, else in ``$PATH``.

        :raises ProgramError: it is not there, does not start, or has another version.
        """
        if isinstance(program, Program):
            return program
        if program:
            where, path = "the argument program", os.fspath(program)
        elif path := os.environ.get("FABEMU", ""):
            where = "the environment variable FABEMU"
        else:
            where, path = "PATH", next(_of_wheel(), "") or shutil.which(_NAME) or ""
        remedy = (
            "install the wheel of this system, which has it inside, or build it (go build ./cmd/fabemu) and name its "
            "path by FABEMU or by the argument program"
        )
        if not path:
            raise ProgramError(f"there is no program fabemu in the wheel or in PATH: {remedy}")
        try:
            done = subprocess.run(
                [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                timeout=_ANSWER,
            )  # fmt: skip
        except subprocess.TimeoutExpired as e:
            raise ProgramError(
                f"{path}, which {where} names, has not stated its version (--version) within {_ANSWER:g} s: {remedy}"
            ) from e
        except (OSError, subprocess.SubprocessError) as e:
            reason = getattr(e, "strerror", None) or str(e)
            raise ProgramError(f"{path}, which {where} names, cannot be started ({reason}): {remedy}") from e
        name, _, version = done.stdout.strip().partition(" version ")
        if done.returncode != 0 or name != "fabemu":
            raise ProgramError(f"{path}, which {where} names, is not fabemu: fabemu --version was expected to answer")
        own = _version()
        if own not in ("devel", version, version.partition("+")[0]):  # after a "+" comes a commit
            raise ProgramError(
                f"the Python package fabemu is version {own}, and {path} is version {version}: install both "
                f"from one release, or name the other program by FABEMU or by the argument program"
            )
        # As a Path, ./fabemu would lose its folder, and would be looked for in PATH.
        return Program(Path(shutil.which(path) or path).absolute(), version)

    def call(self, *args: str, text: Optional[str] = None) -> subprocess.CompletedProcess[str]:
        """Call the program and return its status and output. The text is its standard input."""
        done = subprocess.run(
            [str(self.path), *args], input=(text or "").encode("utf-8", "surrogatepass"), capture_output=True,
        )  # fmt: skip
        out, words = (b.decode("utf-8", "replace").replace("\r\n", "\n") for b in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(done.args, done.returncode, out, words)

    def output(self, *args: str, text: Optional[str] = None) -> str:
        """Call the program and return its output.

        :raises CallError: it has refused the call.
        """
        done = self.call(*args, text=text)
        if done.returncode != 0:
            raise CallError(plain(done.stderr))
        return done.stdout


def _version() -> str:
    """Return the version of this package. Only a copy that is neither of a wheel nor of a checkout has none."""
    if __version__ == "devel" and _CHECKOUT.is_file():
        return _CHECKOUT.read_text(encoding="utf-8").strip()
    return __version__


def _of_wheel() -> Iterator[str]:
    """Yield the program that a wheel has installed with this package."""
    try:
        files = metadata.distribution("fabemu").files or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == _NAME and os.access(file.locate(), os.X_OK):
            yield os.path.normpath(str(file.locate()))


def plain(stderr: str) -> str:
    """Return the words of standard error without the name of the program before them."""
    return stderr.strip().removeprefix("fabemu: ")


def flags(given: Mapping[str, Flag]) -> list[str]:
    """Return keyword arguments as flags: ``pcap_snap=64`` is ``--pcap-snap=64``, and ``pcap=False`` none."""
    out = []
    for name, value in given.items():
        if value is not None and value is not False:
            out.append(f"--{name.rstrip('_').replace('_', '-')}" + ("" if value is True else f"={word(value)}"))
    return out


def sets(given: Optional[Mapping[str, Any]]) -> list[str]:
    """Return fields of a scenario and their values as ``--set`` flags."""
    return [f"--set={path}={json.dumps(v) if isinstance(v, (dict, list, tuple)) else word(v)}"
            for path, v in (given or {}).items()]  # fmt: skip


def word(value: Any) -> str:
    """Return a value as the command line has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(word, value))
    return str(value)
