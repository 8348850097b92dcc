"""A fabric while it runs: its state, and changes of it by hand."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import struct
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Optional, Union

from .errors import CallError, RunError

_SOCKET = "fabemu.sock"

#: The most bytes of an answer, and of a line of one; the seconds that an answer may take.
_MOST, _LONGEST, _PATIENCE = 1 << 26, 1 << 20, 15


class Control:
    """The interface of an active run, by the socket in the folder of its results."""

    def __init__(self, directory: Union[str, os.PathLike[str]]) -> None:
        self.directory = Path(directory)  #: of the results

    def status(self) -> dict[str, Any]:
        """Return the state of the run: ``state``, ``model_ps``, ``end_ps``, ``active`` faults, and where the clock is
        the wall's ``verdict``, ``checks`` and ``dropped``.

        :raises RunError: the run has ended
        """
        with self._ask("GET", "status") as answer:
            return self._object(answer.read(_MOST + 1), "state")

    def set(self, **event: Any) -> str:
        """Change the fabric now, by an event of the language without its time: ``set(link="trunk", rate="1Gb/s")``.

        :return: the line for ``events`` of a scenario that does the same
        :raises CallError: the event cannot be, or the run takes no changes, as on the virtual clock
        :raises RunError: the run has ended
        """
        fields = {name.rstrip("_").replace("_", "-"): value for name, value in event.items()}
        with self._ask("POST", "events", fields) as answer:
            return str(self._object(answer.read(_MOST + 1), "event")["event"])

    def changes(self, follow: bool = True) -> Iterator[dict[str, Any]]:
        """Yield the changes of the fabric, by model time: events, faults, storms, deadlocks and queue pairs that
        fail, each with ``at_ps``, ``kind`` and ``text``.

        :param follow: wait for those to come; the last one, at the end of the run, has the kind ``over``
        """
        with self._ask("GET", "events?follow=1" if follow else "events", endless=follow) as answer:
            while line := answer.readline(_LONGEST + 1):
                yield self._object(line, "kind", _LONGEST)

    def _object(self, text: bytes, key: str, most: int = _MOST) -> dict[str, Any]:
        """Return the object of an answer, which has a key."""
        if len(text) > most:
            raise RunError(f"what answers in {self.directory} is not a run: its answer has more than {most >> 20} MiB")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as e:
            raise RunError(f"what answers in {self.directory} is not a run: {e}") from e
        if not isinstance(value, dict) or key not in value:
            raise RunError(f"what answers in {self.directory} is not a run: its answer has no {key}")
        return value

    @contextlib.contextmanager
    def _ask(
        self, method: str, route: str, body: Optional[Mapping[str, Any]] = None, endless: bool = False
    ) -> Iterator[Any]:
        """Send a request and hand over the answer; an endless one may last until the run is over."""
        connection = _Connection(self.directory)
        limit = threading.Timer(_PATIENCE, connection.give_up)
        limit.daemon = True
        limit.start()
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, "/" + route, text, {"Content-Type": "application/json"} if text else {})
            answer = connection.getresponse()
            if answer.status != 200:
                raise CallError(_refusal(answer.read(_LONGEST)))
            if endless:
                limit.cancel()
                connection.made.settimeout(None)
            yield answer
        except (OSError, http.client.HTTPException, RunError) as e:
            if isinstance(e, RunError) and not connection.late:
                raise
            raise RunError(connection.explain(e)) from e
        finally:
            limit.cancel()
            connection.close()


def _refusal(text: bytes) -> str:
    """Return the words of a refusal, without commands to a terminal."""
    words = text.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
        words = str(json.loads(words)["error"])
    return "".join(c if c in "\n\t" or unicodedata.category(c) != "Cc" else f"\\x{ord(c):02x}" for c in words.strip())


class _Connection(http.client.HTTPConnection):
    """A connection to the socket of a run."""

    def __init__(self, directory: Path) -> None:
        super().__init__("localhost", timeout=None)
        self._directory = directory
        self.made: Any = None  #: the socket, even after http.client has passed it on
        self.late = False  #: the run has not answered in time
        self._pid = 0  #: of the run; 0: unknown

    def give_up(self) -> None:
        """End the request: it has lasted for too long."""
        self.late = True
        with contextlib.suppress(OSError, AttributeError):
            self.made.shutdown(socket.SHUT_RDWR)

    def explain(self, error: Exception) -> str:
        """Return the reason for which there is no answer."""
        if self._stopped():
            return (f"the run in {self._directory} is stopped (process {self._pid} received SIGSTOP or Ctrl-Z): "
                    f"kill -CONT {self._pid} continues it")  # fmt: skip
        if self.late or isinstance(error, socket.timeout):
            return f"the run in {self._directory} does not answer within {_PATIENCE} s"
        return f"no run is active in {self._directory}: {getattr(error, 'strerror', None) or error}"

    def _stopped(self) -> bool:
        """Return whether the run is stopped by a signal (state T of proc(5))."""
        try:
            stat = Path(f"/proc/{self._pid}/stat").read_bytes()
        except OSError:
            return False
        return stat.rpartition(b") ")[2][:1] in (b"T", b"t")

    def connect(self) -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this system's Python has no Unix sockets; run with live=True and use the page")
        path, folder = str(self._directory / _SOCKET), -1
        try:
            if len(os.fsencode(path)) > 100 and os.path.isdir("/proc/self/fd"):  # a socket's name has 107 bytes
                folder = os.open(self._directory, os.O_RDONLY)
                path = f"/proc/self/fd/{folder}/{_SOCKET}"
            self.made = self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(_PATIENCE)
            self.sock.connect(path)
        finally:
            if folder >= 0:
                os.close(folder)
        if hasattr(socket, "SO_PEERCRED"):
            peer = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            self._pid = struct.unpack("3i", peer)[0]
        if self._stopped():
            raise OSError("the run is stopped")
