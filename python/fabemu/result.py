"""The results of a run: checks, verdict, flows, series, transfers, events and captures."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from .errors import CallError
from .figures import PARTS, Buffer, Flow, Guest, Link, Workload, read
from .files import document, lines, reading, text
from .program import Program, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

#: The newest form of result.json that can be read.
_FORM = 2

#: The curves of a picture, unless others are named: rates of links, and of groups of flows.
_CURVES = ("link.rate", "group.rate")


class Verdict(NamedTuple):
    """How far the timing of a run can be trusted."""

    level: str  #: "virtual" on the virtual clock; on the wall clock "void" at the worst
    reason: str  #: the level in words
    figures: Mapping[str, Any]  #: of the order, the pace, losses and stalls

    @property
    def void(self) -> bool:
        """Whether the figures of the run mean nothing."""
        return self.level == "void"


class Check(NamedTuple):
    """A claim about a run, and its outcome."""

    id: str
    claim: str
    metric: str
    value: Optional[float]  #: None: undefined
    low: Optional[float]  #: None: no bound
    high: Optional[float]
    outcome: str  #: "pass", "fail", "differs" (as expected), "unexpected-pass" or "not-measured"
    basis: str  #: "quoted" or "derived" of a source, or "ours"
    source: str
    reason: str  #: why it differs, or has no value
    during_ps: list[int]  #: from and to

    @property
    def ok(self) -> bool:
        """Whether the check has not failed."""
        return self.outcome != "fail"


class Point(NamedTuple):
    """A value of a curve at an instant."""

    time_ps: int
    kind: str  #: such as "link.rate" or "group.rate", in bytes per second
    name: str  #: of the link, the flow or the group
    value: float  #: NaN: undefined


class Transfer(NamedTuple):
    """A transfer of a workload."""

    workload: str
    from_: str  #: ``from`` in the file and in tables, a word that Python keeps
    to: str
    bytes: int
    arrived_ps: int
    ended_ps: Optional[int]  #: None: it is open at the end of the run
    alone_ps: Optional[int]  #: its time in an empty fabric
    slowdown: Optional[float]  #: its time over that in an empty fabric
    packets_again: int
    packets_missing: int
    priority: int


class Event(NamedTuple):
    """An event of a node (docs/guide/events.md)."""

    time_ps: int
    node: str
    seq: int  #: number of the event in its node
    kind: str  #: such as "mark", "drop" or "transfer-end"
    fields: Mapping[str, Any]  #: the others, such as port, flow and bytes


class Frame(NamedTuple):
    """A frame of a capture."""

    number: int
    time: float  #: seconds
    at: str  #: the port that sends or receives it, such as "left:0"
    peer: str  #: the node at the other end of the link
    event: str  #: "start" or "arrive"
    kind: str  #: such as "data", "ack" or "pfc"
    fields: Mapping[str, str]  #: such as flow, psn, src, dst and bytes; a word alone has no value
    comment: str


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a run, in the folder of its files. A notebook shows the picture of its rates."""

    directory: Path
    data: Mapping[str, Any]  #: the content of result.json
    report: str = ""  #: the text that the run has printed; "" of a run that was opened

    def __repr__(self) -> str:
        held = sum(c.ok for c in self.checks)
        return f"<Result of {self.data['scenario']}: {self.verdict.level}, {held} of {len(self.checks)} checks hold>"

    @staticmethod
    def open(directory: Union[str, os.PathLike[str]], report: str = "") -> Result:
        """Return the result in a folder.

        :raises CallError: there is none
        """
        path = Path(directory)
        file = path / "result.json"
        with reading(file, "the result of a run"):
            data = document(file)
            if not isinstance(data, dict) or not {"checks", "flows", "verdict"} <= data.keys():
                raise ValueError("it has no checks, flows and verdict")
            if data.get("form", 1) > _FORM:
                raise CallError(
                    f"{file} was written by version {data['fabemu']} of fabemu in form {data['form']}, and "
                    f"this version reads forms up to {_FORM}: read it with version {data['fabemu']} or a newer one"
                )
            result = Result(path, data, report)
            repr(result), result.flows, result.ok  # what is missing is missed here
        return result

    @property
    def verdict(self) -> Verdict:
        """How far the timing can be trusted."""
        v = self.data["verdict"]
        return Verdict(v["level"], v["reason"], {k: x for k, x in v.items() if k not in ("level", "reason")})

    @property
    def partial(self) -> bool:
        """Whether the run ended before its time."""
        return bool(self.data["partial"])

    @property
    def _stuck(self) -> bool:
        """Whether the run has ended in a deadlock that no check expects."""
        return bool(self.data.get("deadlocked") or self.data.get("ended_ps") and self.data.get("deadlocks")) and not self._expects("deadlocks")

    def _expects(self, quantity: str) -> bool:
        """Whether a check has found some of a quantity, as it should."""
        return any(c.outcome == "pass" and c.metric.endswith("." + quantity) and c.value for c in self.checks)

    @property
    def _broken(self) -> bool:
        """Whether queue pairs have failed, which no check expects."""
        return bool(self.data.get("failures")) and not self._expects("failures")

    @property
    def ok(self) -> bool:
        """Whether no check has failed, and the run is whole, not void, not stuck, and without queue pairs that have
        failed: exit status 0 of the command.
        """
        whole = not self.partial and not self.verdict.void and not self.data.get("unwritten")
        whole = whole and not self._stuck and not self._broken
        return whole and all(c.ok for c in self.checks)

    @property
    def checks(self) -> list[Check]:
        """The checks of the scenario and their outcomes."""
        return [Check(**{f: c.get(f, "") for f in Check._fields}) for c in self.data["checks"]]

    @property
    def flows(self) -> list[Flow]:
        """The totals of all flows."""
        return [read(Flow, f) for f in self.data["flows"]]

    @property
    def links(self) -> list[Link]:
        """The totals of both directions of all links."""
        return [read(Link, x) for x in self.data["links"]]

    @property
    def workloads(self) -> list[Workload]:
        """The figures of all workloads."""
        return [read(Workload, x) for x in self.data.get("workloads", [])]

    @property
    def buffers(self) -> list[Buffer]:
        """The figures of the receive buffers of switches."""
        return [read(Buffer, x) for x in self.data["buffers"]]

    @property
    def guests(self) -> list[Guest]:
        """What the guests and their adapters have counted."""
        return [read(Guest, x) for x in self.data.get("guests", [])]

    def link(self, name: str) -> Link:
        """Return the totals of a direction of a link, such as ``trunk.A-B``.

        :raises KeyError: there is no such link
        """
        found = {x.name: x for x in self.links}
        if name not in found:
            raise KeyError(f"there is no link {name!r}: there are {', '.join(found)}")
        return found[name]

    def flow(self, name: str) -> Flow:
        """Return the totals of a flow.

        :raises KeyError: there is no such flow
        """
        found = {f.name: f for f in self.flows}
        if name not in found:
            raise KeyError(f"there is no flow {name!r}: there are {', '.join(found)}")
        return found[name]

    def series(self, kind: Optional[str] = None, name: Optional[str] = None) -> Iterator[Point]:
        """Yield the points of the curves, by curve and time; with a kind or a name, of these alone."""
        path = self._file("series.csv", "the run has not written it")
        with reading(path, "a table of curves"):
            for row in csv.DictReader(lines(path)):
                if row["kind"] != "verdict" and kind in (None, row["kind"]) and name in (None, row["name"]):
                    yield Point(int(row["time_ps"]), row["kind"], row["name"], float(row["value"] or math.nan))

    def transfers(self) -> Iterator[Transfer]:
        """Yield the transfers of the workloads, in the order of the file; none without a workload."""
        name = next((n for n in ("transfers.csv", "transfers.csv.gz") if (self.directory / n).exists()), None)
        if name is None:
            return
        path = self.directory / name
        with reading(path, "a table of transfers"):
            for r in csv.DictReader(lines(path)):
                yield Transfer(
                    r["workload"], r["from"], r["to"], int(r["bytes"]), int(r["arrived_ps"]),
                    _number(r["ended_ps"], int), _number(r["alone_ps"], int), _number(r["slowdown"], float),
                    int(r["packets_again"]), int(r["packets_missing"]), int(r["priority"]),
                )  # fmt: skip

    def events(self, *kinds: str, program: Union[Program, str, os.PathLike[str], None] = None) -> Iterator[Event]:
        """Yield the events of the log, of these kinds alone if there are any; the run needs ``events=True``, or
        ``events="binary"``.

        :raises CallError: the run has no event log
        """
        binary = self.directory / "events.bin"
        path = binary if binary.is_file() else self._file("events.jsonl", "the run needs events=True")
        with reading(path, "an event log"):
            for line in _dumped(program, path) if path is binary else lines(path):
                e = json.loads(line)
                if not kinds or e["event"] in kinds:
                    head = e.pop("time_ps"), e.pop("node" if "node" in e else "machine"), e.pop("seq"), e.pop("event")
                    yield Event(*head, e)

    def frames(self, *, program: Union[Program, str, os.PathLike[str], None] = None) -> Iterator[Frame]:
        """Yield the frames of the capture; the run needs ``pcap=True``.

        :raises CallError: the run has no capture
        """
        with reading(self.directory, "a results folder"):
            found = sorted(p for p in self.directory.iterdir() if re.search(r"\.pcapng(\.gz)?$", p.name) and p.is_file())
        if not found:
            raise CallError(f"{self.directory} has no capture: the run needs pcap=True")
        return frames(*found, program=program)

    def frame(self, table: str) -> DataFrame:
        """Return a table as a DataFrame of pandas.

        :param table: ``checks``, ``series``, ``transfers``, ``events``, or a list of result.json, such as ``flows``,
            ``links``, ``buffers`` or ``workloads``; each figure and each part of one has a column, such as
            ``stalled.no-credit`` in picoseconds, or ``slowdown.p99``
        """
        if table == "checks":
            return data_frame(self.checks, Check._fields)
        if table in ("transfers", "series", "events"):
            fields = {"transfers": Transfer._fields, "series": Point._fields, "events": Event._fields}[table]
            columns = [f.rstrip("_") for f in fields]
            return data_frame(list(getattr(self, table)()), columns)
        rows = self.data.get(table)
        if not isinstance(rows, list):
            lists = ", ".join(sorted(k for k, v in self.data.items() if isinstance(v, list)))
            raise CallError(f"there is no table {table!r}: there are series, transfers, events, {lists}")
        return data_frame(_tidy(rows))

    def plot(self, kind: Union[str, Iterable[str]] = _CURVES, *names: str, ax: Optional[Axes] = None) -> Axes:
        """Draw curves over model time by matplotlib, and return the axes.

        :param kind: kinds of the curves, such as ``"flow.rate"``
        :param names: links, flows or groups; by default all that have such a curve
        """
        ax = ax or _axes()
        kinds = {kind} if isinstance(kind, str) else set(kind)
        curves: dict[str, tuple[list[float], list[float]]] = {}
        for p in self.series():
            if p.kind in kinds and (not names or p.name in names):
                x, y = curves.setdefault(p.name, ([], []))
                x.append(p.time_ps / 1e9)
                y.append(p.value)
        for name, (x, y) in curves.items():
            ax.plot(x, y, label=name)
        ax.set(title=self.data["scenario"], xlabel="model time (ms)", ylabel=", ".join(sorted(kinds)))
        if curves:
            ax.legend()
        return ax

    def _repr_svg_(self) -> Optional[str]:  # of notebooks
        path = self.directory / "rates.svg"
        with reading(path, "a picture"):
            return text(path) if path.exists() else None

    def _file(self, name: str, remedy: str) -> Path:
        path = self.directory / name
        if not path.exists():
            raise CallError(f"{self.directory} has no {name}: {remedy}")
        return path


#: A line of fabemu dump: the number, the instant, the port, the peer, the event, the kind, the fields and a comment.
_LINE = re.compile(r"\s*(\d+)\s+(\S+)\s+(\S+) <- (\S+)\s+(\S+)\s+(\S+)([^#]*)(?:# *(.*))?$")


def frames(
    *captures: Union[str, os.PathLike[str]], program: Union[Program, str, os.PathLike[str], None] = None
) -> Iterator[Frame]:
    """Yield the frames of captures, as ``fabemu dump`` prints them; of a capture in several files in their order.

    :raises CallError: a file is not a capture
    """
    for line in _dumped(program, *captures):
        if found := _LINE.match(line):
            number, time, at, peer, event, kind, words, comment = found.groups()
            pairs = (word.partition("=")[::2] for word in words.split())
            yield Frame(int(number), float(time), at, peer, event, kind, dict(pairs), comment or "")


def _dumped(
    program: Union[Program, str, os.PathLike[str], None], *files: Union[str, os.PathLike[str]]
) -> Iterator[str]:
    """Yield the lines that ``fabemu dump`` prints."""
    command = [str(Program.find(program).path), "dump", "--", *[os.fspath(file) for file in files]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace") as dump:
        assert dump.stdout and dump.stderr
        try:
            yield from dump.stdout
            wrong = dump.stderr.read()
        finally:
            dump.stdout.close()
            dump.terminate()
        if dump.wait() > 0:
            raise CallError(plain(wrong))


def data_frame(rows: list[Any], columns: Optional[Iterable[str]] = None) -> DataFrame:
    """Return rows as a DataFrame."""
    try:
        import pandas
    except ImportError as e:
        raise ImportError("DataFrames need pandas: install it, or use the objects and their fields") from e
    return pandas.DataFrame(rows, columns=None if columns is None else list(columns))


def _tidy(rows: list[Any]) -> list[Any]:
    """Return rows with a column for each part of a figure, such as ``stalled.no-credit``: 0 where it did not occur."""
    parts: dict[str, int] = {}

    def flat(row: Any, prefix: str) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for key, value in row.items():
            if key in PARTS:
                found = {f"{prefix}{key}.{label}": n for label, n in (x.values() for x in value or [])}
                columns.update(found)
                parts.update(dict.fromkeys(found, 0))
            elif isinstance(value, dict):
                columns.update(flat(value, f"{prefix}{key}."))
            else:
                columns[prefix + key] = value
        return columns

    tidy = [flat(row, "") if isinstance(row, dict) else row for row in rows]
    return [{**x, **{k: x.get(k, 0) for k in parts}} if isinstance(x, dict) else x for x in tidy]


def _axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as e:
        raise ImportError("pictures need matplotlib: install it, or open the files .svg of the results") from e
    return pyplot.subplots()[1]


def _number(text: str, kind: type[Any]) -> Any:
    return kind(text) if text else None
