"""The errors of the package, in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class FabemuError(Exception):
    """The base of all errors of this package."""


class ProgramError(FabemuError):
    """The program is missing, cannot be started, or has another version than this package."""


class CallError(FabemuError, ValueError):
    """The call has a mistake, such as a flag that does not exist or results that are no results."""


class RunError(FabemuError):
    """The run has failed and left no result."""


class FabemuWarning(UserWarning):
    """A warning of the program about a scenario or a flag."""


@dataclass(frozen=True)
class Mistake:
    """A mistake or a warning in a scenario, and its place."""

    message: str
    file: str = ""  #: "standard input" for text and for a :class:`~fabemu.Fabric`
    line: int = 0  #: from 1; 0: no line, as in a value of ``set``
    column: int = 0  #: in characters, from 1
    path: str = ""  #: the field, such as ``defaults.link.rate``
    excerpt: str = ""  #: the line with a caret under the place, or the ``--set``

    def __str__(self) -> str:
        at = self.excerpt or self.file
        if self.line:
            at = f"{self.file}:{self.line}:{self.column}" + (f": {self.path}" if self.path else "")
        text = f"{at}: {self.message}" if at else self.message
        return f"{text}\n{self.excerpt}" if self.line and self.excerpt else text


class ScenarioError(FabemuError, ValueError):
    """The scenario has mistakes. As text it is the output of ``fabemu check``."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)  #: all of them, by position, and then the mistakes in ``set``
        super().__init__("\n".join(map(str, self.mistakes)))

    @property
    def line(self) -> int:
        """The line of the first mistake, from 1; 0: it has none."""
        return self.mistakes[0].line

    @property
    def column(self) -> int:
        """The column of the first mistake, in characters, from 1; 0: it has none."""
        return self.mistakes[0].column
