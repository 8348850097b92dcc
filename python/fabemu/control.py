"""A fabric while it runs: its state, and changes of it by hand."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Optional, Union

from .errors import CallError, RunError

_SOCKET = "fabemu.sock"


class Control:
    """The interface of a run that goes on, by the socket in the folder of its results."""

    def __init__(self, directory: Union[str, os.PathLike[str]]) -> None:
        self.directory = Path(directory)  #: of the results

    def status(self) -> dict[str, Any]:
        """Return the state of the run: ``state``, ``model_ps``, ``end_ps``, ``active`` faults, and where the clock is
        the wall's ``verdict``, ``checks`` and ``dropped``.

        :raises RunError: the run has ended
        """
        with self._ask("GET", "status") as answer:
            status: dict[str, Any] = json.load(answer)
            return status

    def set(self, **event: Any) -> str:
        """Change the fabric now, by an event of the language without its time: ``set(link="trunk", rate="1Gb/s")``.

        :return: the line for ``events`` of a scenario that does the same
        :raises CallError: the event cannot be, or the run takes no changes, as on the virtual clock
        :raises RunError: the run has ended
        """
        fields = {name.rstrip("_").replace("_", "-"): value for name, value in event.items()}
        with self._ask("POST", "events", fields) as answer:
            return str(json.load(answer)["event"])

    def changes(self, follow: bool = True) -> Iterator[dict[str, Any]]:
        """Yield the changes of the fabric, by model time: events, faults, storms and deadlocks, each with ``at_ps``,
        ``kind`` and ``text``.

        :param follow: wait for those to come; the last one, at the end of the run, has the kind ``over``
        """
        with self._ask("GET", "events?follow=1" if follow else "events") as answer:
            for line in answer:
                yield json.loads(line)

    @contextlib.contextmanager
    def _ask(self, method: str, route: str, body: Optional[Mapping[str, Any]] = None) -> Iterator[Any]:
        """Send a request and hand over the answer."""
        connection = _Connection(self.directory)
        try:
            text = None if body is None else json.dumps(body)
            try:
                connection.request(method, "/" + route, text, {"Content-Type": "application/json"} if text else {})
                answer = connection.getresponse()
            except (OSError, http.client.HTTPException) as e:
                raise RunError(f"no run goes on in {self.directory}: {getattr(e, 'strerror', None) or e}") from e
            if answer.status != 200:
                words = answer.read().decode("utf-8", "replace")
                with contextlib.suppress(ValueError, LookupError, TypeError):
                    words = json.loads(words)["error"]
                raise CallError(words.strip())
            yield answer
        finally:
            connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection to the socket of a run."""

    def __init__(self, directory: Path) -> None:
        super().__init__("localhost", timeout=None)
        self._directory = directory

    def connect(self) -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this system's Python has no Unix sockets; run with live=True and use the page")
        path, folder = str(self._directory / _SOCKET), -1
        try:
            if len(os.fsencode(path)) > 100 and os.path.isdir("/proc/self/fd"):  # a socket's name has 107 bytes
                folder = os.open(self._directory, os.O_RDONLY)
                path = f"/proc/self/fd/{folder}/{_SOCKET}"
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.connect(path)
        finally:
            if folder >= 0:
                os.close(folder)
