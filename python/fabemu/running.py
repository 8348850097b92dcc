"""Runs that go on: progress, the end, and the fabric meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from .control import Control
from .errors import CallError, FabemuError, FabemuWarning, RunError
from .files import DAMAGED
from .program import plain
from .result import Result


#: The longest line of standard error, and the most of its lines that are kept.
_LINE, _LINES = 1 << 16, 1 << 10


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    directory: str  #: of the results
    now_ps: int  #: model time
    end_ps: int  #: model time at the end
    wall_seconds: float  #: since the beginning
    left_seconds: float  #: at the pace of the last seconds
    late_frames: int  #: on the wall clock: data frames that left later than 5 % of their duration
    silent: list[str]  #: parts in other processes that do not answer

    @property
    def done(self) -> float:
        """The share of the run that is over, from 0 to 1."""
        return self.now_ps / self.end_ps


class Running(Control):
    """An active run, from :meth:`fabemu.Scenario.start`. It is cancelled at the end of a ``with`` block."""

    def __init__(self, command: list[str], text: Optional[str]) -> None:
        self._report = tempfile.TemporaryFile()  # a pipe would want a reader
        # A separate group: an interrupt of Python does not reach it, and cancel does.
        group: dict[str, Any] = (
            {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
            if os.name == "nt" else {"start_new_session": True}
        )  # fmt: skip
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL if text is None else subprocess.PIPE, stdout=self._report,
            stderr=subprocess.PIPE, **group,
        )  # fmt: skip
        try:
            self._stages: queue.SimpleQueue[Optional[Progress]] = queue.SimpleQueue()
            self._messages: list[str] = []
            self._cancelled = False
            self._folder: Optional[Path] = None  # of the results, once it is known
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()
            if self._process.stdin and text is not None:
                with contextlib.suppress(OSError), self._process.stdin as to:  # it may have refused the call
                    to.write(text.encode("utf-8", "surrogatepass"))
            self._first = first = self._stages.get()
        except BaseException as e:
            self.__exit__()
            if isinstance(e, KeyboardInterrupt):
                e.args = (self.left,)
            raise
        self.began = first is not None  #: whether the run has begun; else error() has the reason
        if first is not None:
            for words in "".join(self._messages).split("fabemu: warning: ")[1:]:
                warnings.warn(words.strip(), FabemuWarning, stacklevel=4)
        super().__init__(Path(os.path.abspath(first.directory)) if first else Path())

    def _read(self) -> None:
        """Take in standard error: the progress, and messages between."""
        assert self._process.stderr
        while raw := self._process.stderr.readline(_LINE):
            line = raw.decode("utf-8", "replace")
            try:
                stage = Progress(**json.loads(line))
                self._folder = Path(os.path.abspath(stage.directory))
                self._stages.put(stage)
            except DAMAGED:
                self._messages = self._messages[-_LINES:] + [line]
        self._stages.put(None)

    def progress(self) -> Iterator[Progress]:
        """Yield the progress of the run at the beginning and five times a second, until it ends."""
        stage = self._first
        while stage is not None:
            yield stage
            stage = self._stages.get()
        self._stages.put(None)

    @property
    def alive(self) -> bool:
        """Whether the run is active."""
        return self._process.poll() is None

    def cancel(self) -> None:
        """End the run early. It writes the measurements so far, and :meth:`wait` returns a partial result."""
        if self.alive:
            self._cancelled = True
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT))

    def wait(self, timeout: Optional[float] = None) -> Result:
        """Wait for the end and return the result.

        :param timeout: most seconds to wait
        :raises TimeoutError: the run has not ended
        :raises RunError: it has failed and left no result
        """
        self._reader.join(timeout)
        if self._reader.is_alive():
            raise TimeoutError(f"the run in {self.directory} has not ended after {timeout} s")
        status = self._process.wait()
        if status in (0, 1, 3) and (self.directory / "result.json").exists():
            self._report.seek(0)
            return Result.open(self.directory, self._report.read().decode("utf-8", "replace"))
        raise self.error()

    def error(self) -> FabemuError:
        """Return the error of a run that has ended without a result."""
        status = self._process.wait()
        self._reader.join()
        words = plain("".join(self._messages))
        if status == 2:
            return CallError(words)
        if self._cancelled:
            return RunError("the run was cancelled before its first event, and left no result")
        return RunError(words or f"the program has ended with status {status} and without a result")

    @property
    def left(self) -> str:
        """What a run that was interrupted has left, in words."""
        if self._folder and (self._folder / "result.json").exists():
            return f"the measurements until the interrupt are in {self._folder}"
        return "the run was interrupted before its first event, and left no result"

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        self._process.wait()
        self._reader.join()
        self._report.close()
        if self._process.stderr:
            self._process.stderr.close()
