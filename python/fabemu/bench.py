"""Rate limiters and reaction points in Python, over the line protocol (docs/guide/limiters.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import IO, Optional, Union

from .errors import CallError, RunError
from .program import Flag, Program, flags, plain


class Limiter:
    """A rate limiter. Instants are picoseconds of model time and never decrease; rates are bits per second."""

    name = "limiter in Python"  #: for the report
    burst: Optional[int] = None  #: how many bytes it may send at once beyond its rate; None: unknown

    def __init__(self, rate: int, packet: int) -> None:
        """Begin with a rate, for packets of a length in bytes."""
        self.rate = rate

    def next(self, now: int, size: int) -> Optional[int]:
        """Return the earliest instant at which so many bytes may start: now or later; None: never at this rate."""
        raise NotImplementedError

    def sent(self, now: int, size: int) -> None:
        """So many bytes start now, as the last answer of :meth:`next` allows."""

    def set_rate(self, now: int, rate: int) -> None:
        """Take a new rate; 0 is no rate."""
        self.rate = rate


class ReactionPoint:
    """An algorithm: it changes :attr:`rate` by feedback, and asks for :meth:`advance` by :attr:`deadline`."""

    name = "algorithm in Python"  #: for the report

    def __init__(self, line: int, packet: int) -> None:
        """Begin on a line with a rate in bits per second, for packets of a length in bytes."""
        self.rate = line  #: the present rate of the flow, bits per second
        self.deadline: Optional[int] = None  #: when advance is wanted, in ps, later than now; None: never
        self.window: Optional[int] = None  #: bytes that may await their ACK, where ACKs are measured; None: any number

    def sent(self, now: int, size: int) -> None:
        """So many bytes have begun to leave."""

    def feedback(self, now: int, kind: str, values: Mapping[str, int]) -> None:
        """A frame has come back to the source, of a kind such as ``"ack"``; values that are zero are left out.

        With ``feedback: delays`` or ``telemetry`` an ACK is ``"delay"`` with what was measured, and ``"lost"`` says
        that packets were lost and are sent again; with UET ``"trimmed"`` and ``"expired"`` say which.
        """

    def advance(self, now: int) -> None:
        """The deadline has come."""


def serve(
    make: Union[Callable[[int, int], Limiter], Callable[[int, int], ReactionPoint]],
    questions: Optional[IO[str]] = None, answers: Optional[IO[str]] = None,
) -> None:  # fmt: skip
    """Answer the questions of ``fabemu bench limiter --exec``, or of ``algorithm: exec`` in a scenario, until they end.

    It is the main program of a limiter or an algorithm. With ``process: shared`` each flow has an object of its own.

    :param make: the class, or a function of the rate and the length of packets
    :param questions: by default standard input
    :param answers: by default standard output
    """
    flows: dict[str, Union[Limiter, ReactionPoint]] = {}
    for line in questions or sys.stdin:
        word, *rest = line.split()
        flow = ""  # the only one of a process
        if word == "flow":
            flow, word, *rest = rest
        it = flows.get(flow)
        if word == "hello":
            version, rate, packet = map(int, rest)
            if version != 1:
                raise CallError(f"the protocol of limiters has version {version}, and this package answers version 1")
            it = flows[flow] = make(rate, packet)
            head = f"algorithm {_state(it)}" if isinstance(it, ReactionPoint) else f"limiter {_or(it.burst, '-')}"
            answer = f"{head} {it.name}"
        elif it is None:
            raise CallError(f"the first line of the protocol of limiters is hello, and {line.strip()!r} came")
        elif word == "end":
            del flows[flow]
            answer = "ok"
        elif isinstance(it, ReactionPoint):
            answer = _react(it, word, rest)
        else:
            answer = _limit(it, word, *map(int, rest))
        print(answer, file=answers, flush=True)


def _limit(it: Limiter, word: str, now: int, figure: int) -> str:
    if word == "next":
        return _or(it.next(now, figure), "never")
    (it.sent if word == "sent" else it.set_rate)(now, figure)
    return "ok"


def _react(it: ReactionPoint, word: str, rest: list[str]) -> str:
    now = int(rest[0])
    if word == "sent":
        it.sent(now, int(rest[1]))
    elif word == "feedback":
        pairs = (pair.partition("=") for pair in rest[2:])
        it.feedback(now, rest[1], {key: int(value) for key, _, value in pairs})
    else:
        it.advance(now)
    return _state(it)


def _state(it: ReactionPoint) -> str:
    window = "" if it.window is None else f"/{it.window}"
    return f"{it.rate}{window} {_or(it.deadline, 'never')}"


def _or(value: Optional[int], word: str) -> str:
    return word if value is None else str(value)


def bench(
    *names: str, script: Union[str, os.PathLike[str], None] = None,
    program: Union[Program, str, os.PathLike[str], None] = None, **given: Flag,
) -> str:  # fmt: skip
    """Put limiters and algorithms into situations that they get wrong, and return the tables of the report.

    :param names: limiters and algorithms of the program
    :param script: a limiter of your own in Python, which calls :func:`serve`
    :param given: other flags of ``fabemu bench limiter``: ``case="step"``, ``clock="virtual"``, ``out="report"``
    :raises CallError: the call has a mistake
    :raises RunError: the bench was ended early
    """
    if script is not None and not os.path.isfile(script):
        raise CallError(f"there is no file {os.fspath(script)}: script is a limiter in Python")
    own = ["--exec", sys.executable] if script is not None else []
    args = [*flags(given), *own, "--", *([os.fspath(script)] if script is not None else names)]
    done = Program.find(program).call("bench", "limiter", *args)
    if done.returncode not in (0, 1):
        raise (CallError if done.returncode == 2 else RunError)(plain(done.stderr))
    return done.stdout
