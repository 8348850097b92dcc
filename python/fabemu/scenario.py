"""Scenarios: from a file, a text or a dict, or built in Python."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

from .errors import CallError, Mistake, ScenarioError
from .files import DAMAGED
from .program import Flag, Program, flags, plain, sets
from .result import Result
from .running import Progress, Running
from .sweep import Sweep, run_sweep

#: A program, or its path; None: see :meth:`fabemu.Program.find`.
ProgramLike = Union[Program, str, "os.PathLike[str]", None]


@dataclass(frozen=True)
class Checked:
    """The size of a scenario without mistakes."""

    switches: int
    endpoints: int
    links: int
    flows: int
    checks: int
    duration_ps: int  #: model time of a run
    wall_seconds: float  #: how long a run on the wall clock takes
    warnings: tuple[Mistake, ...]  #: values that are probably not intended


class Scenario:
    """A scenario: the name of one that comes with the program, or the path of a YAML file."""

    def __init__(self, name: Union[str, os.PathLike[str]]) -> None:
        self._name = os.fspath(name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lstrip('_')} {self._name}>"

    @staticmethod
    def from_yaml(text: str) -> Scenario:
        """Return the scenario of a YAML text. Paths in it begin at the working directory."""
        return _Text(text)

    @staticmethod
    def generate(kind: str, *, program: ProgramLike = None, **given: Flag) -> Scenario:
        """Return a scenario of a kind and a size, such as ``generate("leaf-spine", endpoints=16, scheme="dcqcn")``.

        The keywords are the flags of ``fabemu generate``.
        """
        return _Text(Program.find(program).output("generate", kind, *flags(given)))

    @property
    def yaml(self) -> Optional[str]:
        """The text of the scenario; None: it has a name, and the program reads it."""
        return None

    def save(self, path: Union[str, os.PathLike[str]]) -> Path:
        """Write the text of the scenario into a file for the command line, and return its path."""
        if self.yaml is None:
            raise CallError(f"{self._name} is the name of a scenario, and no text that can be saved")
        Path(path).write_bytes(self.yaml.encode("utf-8", "surrogatepass"))
        return Path(path)

    def check(
        self, *, set: Optional[Mapping[str, Any]] = None, short: bool = False, program: ProgramLike = None
    ) -> Checked:
        """Return the size of the scenario and its warnings, and run nothing.

        :param set: fields that differ in this call, such as ``{"defaults.link.buffer": "8 packets"}``
        :param short: the short run of the scenario
        :raises ScenarioError: the scenario has mistakes
        """
        return self._checked(Program.find(program), [*sets(set), *flags({"short": short or None})])

    def _checked(self, found: Program, changes: Sequence[str]) -> Checked:
        done = found.call("check", "--json", *changes, "--", self._name, text=self.yaml)
        try:
            out = json.loads(done.stdout)[0]
            mistakes, warned = ([Mistake(**m) for m in out[key]] for key in ("mistakes", "warnings"))
            fields = {name: out.get(name) for name in Checked.__dataclass_fields__ if name != "warnings"}
        except DAMAGED:
            raise CallError(plain(done.stderr) or f"{found.path} check answers with no JSON of its kind") from None
        if mistakes:
            raise ScenarioError(mistakes)
        return Checked(**fields, warnings=tuple(warned))

    def start(
        self, *, clock: str = "virtual", seed: Optional[int] = None, set: Optional[Mapping[str, Any]] = None,
        out: Union[str, os.PathLike[str], None] = None, program: ProgramLike = None, **given: Flag,
    ) -> Running:  # fmt: skip
        """Start a run, and return it when its first event is near. It has the arguments of :meth:`run`.

        :raises ScenarioError: the scenario has mistakes
        :raises CallError: the call has a mistake
        :raises RunError: the run could not begin
        """
        if wrong := given.keys() & {"seeds", "quiet", "dry_run"}:
            raise CallError(f"{', '.join(sorted(wrong))}: a run has one result; sweep(seeds=5) repeats it with seeds")
        found = Program.find(program)
        given = {"clock": clock, "seed": seed, "out": out, **given}
        args = ["run", "--progress=json", *flags(given), *sets(set), "--", self._name]
        running = Running([str(found.path), *args], self.yaml)
        if running.began:
            return running
        with running:
            error = running.error()
        if isinstance(error, CallError):
            self._checked(found, [*sets(set), *flags({"short": given.get("short")})])  # raises mistakes with places
        raise error

    def run(
        self, *, clock: str = "virtual", seed: Optional[int] = None, set: Optional[Mapping[str, Any]] = None,
        out: Union[str, os.PathLike[str], None] = None, progress: Optional[Callable[[Progress], object]] = None,
        program: ProgramLike = None, **given: Flag,
    ) -> Result:  # fmt: skip
        """Run the scenario and return its result. A KeyboardInterrupt ends the run, which writes the files so far,
        and says where they are; before the first event there are none.

        :param clock: ``"virtual"``, as fast as it goes, or ``"wall"``, over real sockets
        :param seed: of the random numbers; by default the scenario's
        :param set: fields that differ in this run, such as ``{"model.duration": "20ms"}``
        :param out: the folder for the results; by default a new one in ``results``
        :param progress: is called with a :class:`Progress` at the beginning, and five times a second
        :param given: other flags of ``fabemu run``: ``events=True``, ``pcap=True``, ``dilation=100``, ``short=True``
        :raises ScenarioError: the scenario has mistakes
        :raises CallError: the call has a mistake
        :raises RunError: the run failed and left no result
        """
        running = None
        try:
            with self.start(clock=clock, seed=seed, set=set, out=out, program=program, **given) as running:
                if progress is not None:
                    for p in running.progress():
                        progress(p)
                return running.wait()
        except KeyboardInterrupt as e:  # the end of the block has waited for the files
            e.args = e.args or (running.left if running else "the run was interrupted before it began",)
            raise

    def sweep(
        self, set: Optional[Mapping[str, Sequence[Any]]] = None, *, metrics: Sequence[str] = (), seeds: int = 0,
        out: Union[str, os.PathLike[str], None] = None, progress: Optional[Callable[[int, int], object]] = None,
        program: ProgramLike = None, **given: Flag,
    ) -> Sweep:  # fmt: skip
        """Run the scenario once for each combination of values, and return the table.

        :param set: fields and their values, such as ``{"defaults.link.buffer": ["2packets", "4packets"]}``
        :param metrics: figures to measure, such as ``"bystander.utilisation"``; by default the scenario's checks
        :param seeds: repeat each run with the seeds 1 to this number; 0: once, with the scenario's seed
        :param out: the folder for the results; an interrupted sweep continues there. A scenario without a file is
            saved next to it, with ``.yaml`` behind its name
        :param progress: is called with the number of runs that are done, and of all runs
        :param given: other flags of ``fabemu sweep``: ``jobs=2``, ``clock="wall"``, ``during="2ms,8ms"``
        :raises ScenarioError: the scenario has mistakes
        """
        found = Program.find(program)
        self._checked(found, flags({"short": given.get("short")}))
        return run_sweep(found, self._name, self.yaml, set or {}, metrics, seeds, out, progress, given)

    def graph(self, format: str = "svg", *, program: ProgramLike = None) -> str:
        """Return a drawing of the fabric: ``svg``, ``dot`` or ``mermaid``."""
        found = Program.find(program)
        self._checked(found, [])
        return found.output("graph", "--format", format, "--", self._name, text=self.yaml)

    def _repr_svg_(self) -> Optional[str]:  # of notebooks
        return self.graph()


class _Text(Scenario):
    """A scenario of a YAML text."""

    def __init__(self, text: str) -> None:
        super().__init__("-")
        self._text = text

    @property
    def yaml(self) -> str:
        return self._text


class Fabric(Scenario):
    """A scenario that is built in Python. Each method adds a part and returns the fabric.

    The keywords are the fields of the language (docs/reference), with ``_`` for ``-``: ``flow_control="pfc"``
    is ``flow-control: pfc``. Values are numbers or texts with a unit: ``rate="10Gb/s"``.
    """

    def __init__(self, name: str = "fabric", *, duration: str = "10ms", seed: int = 1) -> None:
        super().__init__("-")
        self._at = ""  # the switch of the next endpoints
        self.fields: dict[str, Any] = {"name": name, "model": {"duration": duration, "seed": seed}}  #: the scenario

    def __repr__(self) -> str:
        return f"<Fabric {self.fields.get('name')}>"

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> Fabric:
        """Return a fabric of the fields of a scenario, as a YAML file has them."""
        fabric = Fabric()
        fabric.fields = copy.deepcopy(dict(fields))
        return fabric

    def copy(self) -> Fabric:
        """Return a copy of the fabric."""
        return copy.deepcopy(self)

    @property
    def yaml(self) -> str:
        """The scenario as text: JSON, which is YAML, with a line for each part."""
        lines = []
        for key, value in self.fields.items():
            if isinstance(value, list) and value:
                text = "[\n    " + ",\n    ".join(map(_json, value)) + "]"
            elif isinstance(value, dict) and value:
                text = "{\n    " + ",\n    ".join(f"{_json(k)}: {_json(v)}" for k, v in value.items()) + "}"
            else:
                text = _json(value)
            lines.append(f"  {_json(key)}: {text}")
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def model(self, **fields: Any) -> Fabric:
        """Set fields of the model, such as ``duration="20ms"``."""
        return self._update("model", fields)

    def wall(self, **fields: Any) -> Fabric:
        """Set how model time follows the wall clock, such as ``dilation=200``."""
        return self._update("wall", fields)

    def measure(self, **fields: Any) -> Fabric:
        """Set how results are taken, such as ``window="1ms"``."""
        return self._update("measure", fields)

    def defaults(self, part: str, **fields: Any) -> Fabric:
        """Set fields of all parts of a kind: ``defaults("link", rate="10Gb/s", buffer="4 packets")``."""
        defaults = self.fields.setdefault("defaults", {})
        defaults[part] = {**(defaults.get(part) or {}), **_keys(fields)}
        return self

    def switch(self, name: str, **fields: Any) -> Fabric:
        """Add a switch, or with a name such as ``"leaf[1-4]"`` several. The next endpoints are linked to it."""
        self._at = name
        return self._update("switches", {name: fields and _keys(fields)}, keys=False)

    def endpoint(
        self, name: str, *, at: Optional[str] = None, link: Optional[Mapping[str, Any]] = None, **fields: Any
    ) -> Fabric:
        """Add an endpoint, or with a name such as ``"h[1-8]"`` several, and link it to a switch.

        :param at: the switch; by default the one that was added last; ``""``: no link
        :param link: fields of the link, such as ``{"rate": "5Gb/s"}``
        """
        self._add("endpoints", {"name": name, **_keys(fields)} if fields else name)
        at = self._at if at is None else at
        return self.link(name, at, **dict(link or {})) if at else self

    def endpoints(
        self, prefix: str, count: int, *, at: Optional[str] = None, link: Optional[Mapping[str, Any]] = None,
        **fields: Any,
    ) -> Fabric:  # fmt: skip
        """Add endpoints with numbers from 1 on, each as by :meth:`endpoint`: ``endpoints("h", 8)`` adds h1 to h8."""
        return self.endpoint(f"{prefix}[1-{count}]", at=at, link=link, **fields)

    def link(self, one: str, other: str, *, mesh: bool = False, **fields: Any) -> Fabric:
        """Link two nodes, or ranges of them. With ``mesh`` each of the one is linked to each of the other."""
        between = f"{one} {'x' if mesh else '-'} {other}"
        return self._add("links", {**_keys(fields), "between": between} if fields else between)

    def flow(self, source: str, to: str, *, name: Optional[str] = None, **fields: Any) -> Fabric:
        """Add a flow between two endpoints, or one for each member of a range. Its name is by default the source's."""
        name = source.partition("[")[0].rstrip("-_") if name is None else name
        return self._add("flows", {"name": name, "from": source, "to": to, **_keys(fields)})

    def workload(self, name: str, over: str, **fields: Any) -> Fabric:
        """Add transfers among a range of endpoints: ``workload("web", "h[1-8]", size="web-search", load=0.5)``."""
        return self._add("workload", {"name": name, "over": over, **_keys(fields)})

    def event(self, at: str, **fields: Any) -> Fabric:
        """Change the fabric at an instant: ``event("6ms", link="trunk", rate="10Gb/s")``."""
        return self._add("events", {"at": at, **_keys(fields)})

    def fault(self, **fields: Any) -> Fabric:
        """Add a fault: ``fault(link="trunk", loss=0.001)``."""
        return self._add("faults", _keys(fields))

    def program(self, on: str, run: str, **fields: Any) -> Fabric:
        """Run a command in a guest, or in each of a range of guests."""
        return self._add("programs", {"on": on, "run": run, **_keys(fields)})

    def expect(
        self, id: str, metric: str, during: Sequence[str], low: float, high: float, claim: str = "", **fields: Any
    ) -> Fabric:
        """Add a check: the metric, over the time from ``during[0]`` to ``during[1]``, lies from low to high."""
        check = {"id": id, "claim": claim or f"{metric} is from {low} to {high}", "metric": metric,
                 "during": list(during), "low": low, "high": high, **_keys(fields)}  # fmt: skip
        return self._add("expect", check)

    def put(self, key: str, value: Any) -> Fabric:
        """Set another field of the scenario, such as ``put("description", "Two hosts.")``."""
        self.fields[key] = value
        return self

    def _add(self, key: str, value: Any) -> Fabric:
        self.fields.setdefault(key, []).append(value)
        return self

    def _update(self, key: str, fields: Mapping[str, Any], keys: bool = True) -> Fabric:
        self.fields[key] = {**(self.fields.get(key) or {}), **(_keys(fields) if keys else fields)}
        return self


def _keys(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords as fields of the language; a word of Python's own has a ``_`` behind it."""
    return {name.rstrip("_").replace("_", "-"): value for name, value in fields.items()}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return a path as text, and a number of numpy as a number."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} is not a value of a scenario: expected a string, a number, a list or a dict")
