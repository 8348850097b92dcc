"""Files of results, read with limits: what is not a result raises an error of this package and blocks nothing."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from .errors import CallError

#: The most bytes of a file that is read as a whole, and of a line.
MOST, LONGEST = 1 << 28, 1 << 24

#: What reading, decoding and taking apart what another program has written can raise.
DAMAGED = (EOFError, LookupError, OSError, RecursionError, TypeError, ValueError, AttributeError, csv.Error, zlib.error)


@contextlib.contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Raise a CallError where the file at a path is not a result of a kind."""
    try:
        yield
    except DAMAGED as e:
        if isinstance(e, CallError):
            raise
        reason = getattr(e, "strerror", None) or str(e) or type(e).__name__
        raise CallError(f"{path} is not {what}: {reason}") from e


def whole(path: Path) -> bytes:
    """Return the content of a file."""
    with _regular(path) as file:
        if os.fstat(file.fileno()).st_size > MOST:
            raise ValueError(f"it has more than {MOST >> 20} MiB")
        return file.read(MOST)


def text(path: Path) -> str:
    """Return a file as text."""
    return whole(path).decode("utf-8")


def document(path: Path) -> Any:
    """Return the value of a file in JSON."""
    return json.loads(whole(path))


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, which may be packed by gzip."""
    with _regular(path) as file:
        raw = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file
        reader = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        while line := reader.readline(LONGEST):
            if len(line) == LONGEST:
                raise ValueError(f"it has a line of more than {LONGEST >> 20} MiB")
            yield line


def _regular(path: Path) -> BinaryIO:
    """Open a file that is one: not a pipe, a device or a folder."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ValueError("it is not a regular file")
    return file
