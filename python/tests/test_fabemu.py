"""Tests of the package. $FABEMU is the program, or it is in $PATH; TestPython of cmd/fabemu runs them."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import re
import signal
import socketserver
import stat
import sys
import tempfile
import threading
import time
import unittest
import warnings
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from unittest import mock

import fabemu
from fabemu import result as result_module
from fabemu import CallError, Fabric, Limiter, Program, ProgramError, ReactionPoint, Result, RunError, Scenario
from fabemu import ScenarioError, Sweep, bench, frames, serve
from fabemu.control import Control
from fabemu.running import Running

ROOT = Path(__file__).resolve().parents[2]
INCAST = ROOT / "docs" / "examples" / "incast.yaml"
PROGRAM = Program.find()


class InFolder(unittest.TestCase):
    """A test in an empty working directory."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)


def two(**model: str) -> Fabric:
    """Two senders share a trunk."""
    return (
        Fabric("two", duration="2ms").model(**model).defaults("link", rate="1GB/s", buffer="4 packets")
        .switch("A").endpoints("h", 2).switch("B").endpoint("r").link("A", "B", name="trunk")
        .flow("h[1-2]", "r").expect("full", "trunk.A-B.utilisation", ("1ms", "2ms"), 0.9, 1)
    )  # fmt: skip


def command_line(*args: str, text: str = "") -> str:
    """Return the words of the command line about a mistake."""
    done = PROGRAM.call(*args, text=text)
    assert done.returncode == 2, done
    return done.stderr.strip().removeprefix("fabemu: ")


class Scenarios(InFolder):
    def test_sources(self) -> None:
        """A file, its text, the same in Python and a dict are one scenario."""
        built = two()
        saved = built.save("two.yaml")
        others = Scenario(saved), Scenario.from_yaml(built.yaml), Fabric.from_dict(built.fields), built.copy()
        for scenario in built, *others:
            checked = scenario.check()
            self.assertEqual((checked.switches, checked.endpoints, checked.links, checked.flows), (2, 3, 4, 2))
            self.assertEqual((checked.duration_ps, checked.checks, checked.warnings), (2_000_000_000, 1, ()))
        self.assertEqual(Scenario("hpl2002/fig2").check().endpoints, 23)
        self.assertEqual(Scenario.generate("incast", endpoints=5).check().flows, 4)

    def test_builder(self) -> None:
        """Each method adds its part, with - for _, and numbers and paths in JSON."""
        fabric = (
            Fabric("all").model(framing="wire").wall(dilation=50).measure(window="1ms")
            .switch("S", kind="output-queued").defaults("link", rate="1Gb/s").defaults("link", flow_control="pfc")
            .endpoint("x", at="", egress="1MB").endpoints("h", 2, link={"rate": "2Gb/s"})
            .link("a[1-2]", "b[1-2]", mesh=True).flow("h[1-2]", "x", size=1).workload("w", "h[1-2]", load=0.5)
            .event("1ms", endpoint="x", for_="1ms").fault(link="*", loss=0.1).program("h1", "true")
            .put("description", Path("words"))
        )  # fmt: skip
        want = {
            "name": "all",
            "model": {"duration": "10ms", "seed": 1, "framing": "wire"},
            "wall": {"dilation": 50},
            "measure": {"window": "1ms"},
            "switches": {"S": {"kind": "output-queued"}},
            "defaults": {"link": {"rate": "1Gb/s", "flow-control": "pfc"}},
            "endpoints": [{"name": "x", "egress": "1MB"}, "h[1-2]"],
            "links": [{"rate": "2Gb/s", "between": "h[1-2] - S"}, "a[1-2] x b[1-2]"],
            "flows": [{"name": "h", "from": "h[1-2]", "to": "x", "size": 1}],
            "workload": [{"name": "w", "over": "h[1-2]", "load": 0.5}],
            "events": [{"at": "1ms", "endpoint": "x", "for": "1ms"}],
            "faults": [{"link": "*", "loss": 0.1}],
            "programs": [{"on": "h1", "run": "true"}],
            "description": "words",
        }
        self.assertEqual(json.loads(fabric.yaml), want)
        with self.assertRaisesRegex(TypeError, "not a value of a scenario"):
            Fabric().put("description", {1, 2}).yaml

    def test_mistakes_have_the_words_of_the_command_line(self) -> None:
        text = "name: x\nswitches: {A: {}}\nendponts: [h1]\nlinks: [h1 - A]\nmodel: {duration: 1}\nflows: [{name: f, from: h1, to: h2}]\n"
        for call in "check", "run", "start", "sweep", "graph":
            with self.subTest(call), self.assertRaises(ScenarioError) as caught:
                getattr(Scenario.from_yaml(text), call)()
            error = caught.exception
            self.assertEqual(str(error), command_line("run", "-", text=text))
            self.assertEqual([(m.line, m.column, m.path) for m in error.mistakes],
                             [(3, 1, ""), (5, 19, "model.duration")])  # fmt: skip
            self.assertEqual((error.line, error.column), (3, 1))
        change = {"model.durtion": "1ms"}
        for call in "check", "run":
            with self.subTest(call), self.assertRaises(ScenarioError) as caught:
                getattr(two(), call)(set=change)
            want = command_line("run", "--set=model.durtion=1ms", "-", text=two().yaml)
            self.assertEqual(str(caught.exception), want)
            self.assertEqual((caught.exception.line, caught.exception.column), (0, 0))
        for text in "a: [\n", "", "\x00", "\ud800", "[" * 5000:
            with self.subTest(text[:5]), self.assertRaises(ScenarioError):
                Scenario.from_yaml(text).check()
        with self.assertRaisesRegex(ScenarioError, "there is no file nothing.yaml; fabemu list shows"):
            Scenario("nothing.yaml").run()
        self.assertFalse(Path("results").exists())

    def test_mistakes_in_the_call(self) -> None:
        for flags in {"bogus": 1}, {"clock": "moon"}, {"seed": "x"}, {"loops": "y"}, {"clock": "wall", "dilation": "z"}:
            with self.subTest(flags), self.assertRaises(CallError) as caught:
                two().run(**flags)
            words = [f"--{name}={value}" for name, value in {"clock": "virtual", **flags}.items()]
            self.assertEqual(str(caught.exception), command_line("run", *words, "-", text=two().yaml))
        Path("taken").mkdir()
        Path("taken/file").touch()
        with self.assertRaisesRegex(CallError, "taken is not empty"):
            two().run(out="taken")
        with self.assertRaisesRegex(CallError, "sweep.*repeats"):
            two().run(seeds=2)
        with self.assertRaises(CallError):
            Scenario("hpl2002/fig2").save("x.yaml")

    def test_graph(self) -> None:
        self.assertIn("</svg>", two()._repr_svg_())
        self.assertIn("graph", two().graph("dot"))


class Runs(InFolder):
    def test_run(self) -> None:
        """The numbers of the result agree with its files."""
        stages: list[fabemu.Progress] = []
        longer = {"model.duration": "3ms"}
        result = two().run(out="x", events=True, pcap=True, seed=3, set=longer, progress=stages.append)
        self.assertTrue(result.ok and not result.partial)
        self.assertEqual(result.directory, Path.cwd() / "x")
        self.assertEqual((result.data["seed"], result.data["duration_ps"]), (3, 3 * 10**9))
        self.assertEqual((stages[0].now_ps, stages[0].end_ps, stages[0].done), (0, 3 * 10**9, 0))
        self.assertEqual(result.verdict.level, "virtual")
        self.assertFalse(result.verdict.void)
        (check,) = result.checks
        self.assertEqual((check.id, check.outcome, check.low), ("full", "pass", 0.9))
        self.assertEqual(check.during_ps, [10**9, 2 * 10**9])
        delivered = [e for e in result.events("deliver") if e.fields["flow"] == "h.h1" and e.node == "r"]
        packed = two().run(out="y", events="binary", pcap=False, seed=3, set=longer)
        self.assertEqual(list(packed.events()), list(result.events()))
        flow = result.flow("h.h1")
        self.assertEqual((flow.frames, flow.bytes), (len(delivered), sum(e.fields["bytes"] for e in delivered)))
        last = [f for f in result.frames() if f.peer == "r" and (f.event, f.kind) == ("start", "data")]
        both = sum(f.frames for f in result.flows)
        self.assertTrue(both <= len(last) <= both + 1, "the last frame can be on its way")
        self.assertEqual(float(last[0].fields["bytes"]), 2074)
        rates = [p.value for p in result.series("link.rate", "trunk.A-B") if 1e9 <= p.time_ps <= 2e9]
        self.assertAlmostEqual(sum(rates) / len(rates) / 1e9, check.value or 0, 1)
        self.assertEqual(list(result.transfers()), [])
        self.assertIn("Results: x", result.report)
        self.assertIn("</svg>", result._repr_svg_() or "")
        self.assertEqual(Result.open("x").flows, result.flows)
        trunk = result.link("trunk.A-B")
        self.assertEqual((trunk.source, trunk.to, trunk.capacity), ("A", "B", 1e9))
        self.assertGreaterEqual(trunk.frames, both)
        used = trunk.bytes / (trunk.capacity or 0) / (result.data["duration_ps"] / 1e12)
        self.assertAlmostEqual(trunk.utilisation or 0, used, 2)
        rows = result_module._tidy(result.data["links"])
        self.assertEqual({r["name"]: r.get("stalled.line-busy", 0) for r in rows}, {x.name: x.stalled.get("line-busy", 0) for x in result.links})
        self.assertNotIn("marks", rows[0])
        self.assertEqual(set(trunk.stalled) | {"no-credit", "line-busy"}, {"no-credit", "line-busy"})
        with self.assertRaisesRegex(KeyError, "there are h.h1, h.h2"):
            result.flow("h3")

    def test_failed_check(self) -> None:
        result = two().run(set={"expect.full.low": 2, "expect.full.high": 3})
        self.assertFalse(result.ok)
        self.assertEqual(result.checks[0].outcome, "fail")
        self.assertEqual(result.directory, Path.cwd() / "results" / "two-virtual-1")

    def test_transfers(self) -> None:
        result = Scenario("workload/all-reduce").run(short=True)
        done = [t for t in result.transfers() if t.ended_ps is not None]
        self.assertEqual(len(done), 128)
        self.assertEqual((done[0].workload, done[0].bytes, done[0].priority), ("sum", 500_000, 0))
        self.assertTrue(all(t.slowdown and t.slowdown >= 1 and (t.ended_ps or 0) > t.arrived_ps for t in done))
        work = result.workloads[0]
        self.assertEqual((work.name, work.transfers, work.slowdown_at_least), ("sum", 128, None))
        assert work.collective is not None
        self.assertEqual(sum(work.collective.stragglers.values()), work.collective.rounds)
        longest = max((t.ended_ps or 0) - t.arrived_ps for t in done)
        self.assertAlmostEqual(work.completion_s.max or 0, longest / 1e12, 12)
        row = result_module._tidy(result.data["workloads"])[0]
        self.assertEqual((row["slowdown.p50"], row["collective.busbw"]), (work.slowdown.p50, work.collective.busbw))
        self.assertFalse([k for k, v in row.items() if isinstance(v, dict)])
        self.assertTrue(any(b.mean_blocks or b.mean_bytes for b in result.buffers))
        self.assertEqual(result.guests, [])
        with mock.patch.dict(sys.modules, {"pandas": mock.Mock(DataFrame=lambda rows, columns: columns)}):
            columns = result.frame("transfers")
        with open(result.directory / "transfers.csv") as file:
            self.assertEqual(",".join(map(str, columns)), file.readline().strip())

    def test_missing_files(self) -> None:
        result = two().run(out="x")
        for read in lambda: next(result.events()), lambda: next(result.frames()), lambda: result.frame("nothing"):
            with self.assertRaisesRegex(CallError, "events=True|pcap=True|there are series"):
                read()
        for text in None, "{", "[]", '{"checks": [], "flows": [], "verdict": {}, "form": 3, "fabemu": "9"}':
            Path("y").mkdir(exist_ok=True)
            if text is not None:
                Path("y/result.json").write_text(text)
            with self.subTest(text), self.assertRaisesRegex(CallError, "is not the result of a run|in form 3, and this"):
                Result.open("y")
        with self.assertRaisesRegex(CallError, "no table of a sweep"):
            Sweep.open("y")
        Path("no.pcapng").write_text("x")
        with self.assertRaisesRegex(CallError, "no.pcapng"):
            list(frames("no.pcapng"))

    def test_damaged_files(self) -> None:
        """A pipe, a device, a file of 1 TB with holes, and text that is not a result raise errors of the package, at once."""
        two().run(out="x", events=True)
        Path("x/sweep.csv").write_text("a\n1\n")
        good = Path("x/result.json").read_text()
        damages = {
            "result.json": ("null", "[" * 100_000, "{" + '"a":[' * 100_000, b"\xff\xfe\x00", good[: len(good) // 2],
                            '{"checks": null, "flows": [], "verdict": {}}', good.replace('"flows": [', '"flows": [null,')),
            "series.csv": (b"\xff", "a,b\n1,2\n", "kind,name,time_ps,value\nlink.rate,a,x,1\n", "x" * 200_000),
            "events.jsonl": ("null\n", "[" * 100_000, b"\xff", "{}\n", "1" * 10_000),
            "sweep.csv": (b"\xff", "a\n" + "x" * 200_000),
        }  # fmt: skip
        reads = {
            "result.json": lambda: Result.open("x"), "series.csv": lambda: list(result.series()),
            "events.jsonl": lambda: list(result.events()), "sweep.csv": lambda: Sweep.open("x"),
        }  # fmt: skip
        result = Result.open("x")
        for name, texts in damages.items():
            path = Path("x", name)
            for text in *texts, "pipe", "device", "holes", "folder":
                path.unlink()
                if text == "pipe":
                    os.mkfifo(path)
                elif text == "device":
                    path.symlink_to("/dev/zero")
                elif text == "holes":
                    path.touch()
                    os.truncate(path, 1 << 40)
                elif text == "folder":
                    path.mkdir()
                else:
                    path.write_bytes(text if isinstance(text, bytes) else text.encode())
                with self.subTest(name=name, text=text[:20]), self.assertRaisesRegex(CallError, f"{name} is not "):
                    reads[name]()
            path.rmdir()

    def test_a_warning_is_a_warning(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            two().run(dilation=5)
        found = [str(w.message) for w in caught if w.category is fabemu.FabemuWarning]
        self.assertEqual(found, ["--dilation is ignored with --clock virtual"])

    def test_cancel(self) -> None:
        """A cancelled run has a partial result; the end of its block cancels it; an interrupt does, too."""
        long = {"clock": "wall", "link": "pipe", "dilation": 40000}
        scenario = Scenario("hpl2002/fig2")
        with scenario.start(**long) as run:
            with self.assertRaises(TimeoutError):
                run.wait(0.1)
            for stage in run.progress():
                if stage.now_ps > 0:
                    break
            run.cancel()
            result = run.wait(60)
        self.assertTrue(result.partial and not result.ok and not run.alive)
        with scenario.start(**long) as run:
            self.assertTrue(run.alive)
        self.assertFalse(run.alive)
        with self.assertRaisesRegex(KeyboardInterrupt, "until the interrupt are in .*hpl2002-fig2-wall-40000-3"):
            scenario.run(**long, progress=lambda stage: stage.now_ps > 0 and signal.raise_signal(signal.SIGINT))
        self.assertTrue(Result.open("results/hpl2002-fig2-wall-40000-3").partial)

    def test_interrupt_at_the_start(self) -> None:
        """An interrupt at any instant of the start ends the run, and says whether there is a result."""
        read = Running._read
        for ms in 0, 10, 25, 50, 100, 300:

            def interrupt(run: Running, ms: int = ms) -> None:
                time.sleep(ms / 1000)  # since the program was started
                os.kill(os.getpid(), signal.SIGINT)
                read(run)

            out = Path(f"early-{ms}")
            with self.subTest(ms), mock.patch.object(Running, "_read", interrupt):
                with self.assertRaises(KeyboardInterrupt) as raised:
                    Scenario("hpl2002/fig2").run(clock="wall", link="pipe", dilation=40000, out=out)
                want = "until the interrupt are in" if (out / "result.json").exists() else "left no result"
                self.assertIn(want, str(raised.exception))
        with mock.patch.object(Program, "find", lambda _: signal.raise_signal(signal.SIGINT)):
            with self.assertRaisesRegex(KeyboardInterrupt, "before it began"):
                two().run()
        with Scenario("hpl2002/fig2").start(clock="wall", link="pipe", dilation=40000) as run:
            run.cancel()
            try:
                self.assertTrue(run.wait(60).partial)
            except RunError as e:
                self.assertIn("cancelled before its first event", str(e))

    def test_frames_of_pandas_and_pictures(self) -> None:
        result = two().run()
        for module, call in ("pandas", lambda: result.frame("flows")), ("matplotlib", result.plot):
            with mock.patch.dict(sys.modules, {module: None}), self.assertRaisesRegex(ImportError, f"need {module}"):
                call()
        if importlib.util.find_spec("pandas") is None or importlib.util.find_spec("matplotlib") is None:
            self.skipTest("pandas or matplotlib is not installed")
        self.assertEqual(list(result.frame("flows")["name"]), ["h.h1", "h.h2"])
        self.assertEqual(result.frame("checks")["outcome"].tolist(), ["pass"])
        series = result.frame("series")
        self.assertEqual(len(series), len(list(result.series())))
        self.assertEqual(series["time_ps"].dtype, "int64")
        import matplotlib

        matplotlib.use("agg")
        axes = result.plot("group.rate")
        self.assertEqual([line.get_label() for line in axes.lines], ["h"])


class Sweeps(InFolder):
    def test_sweep(self) -> None:
        seen: list[tuple[int, int]] = []
        buffers = {"defaults.link.buffer": ["2packets", "4packets"]}
        same = {"set": buffers, "metrics": ["h.h1.rate"], "seeds": 2, "out": "here/sweep"}
        sweep = two().sweep(**same, progress=lambda *n: seen.append(n))
        self.assertEqual(sorted(seen), [(n, 4) for n in (1, 2, 3, 4)])
        self.assertEqual([(r["defaults.link.buffer"], r["model.seed"]) for r in sweep.rows],
                         [("2packets", 1), ("2packets", 2), ("4packets", 1), ("4packets", 2)])  # fmt: skip
        self.assertEqual([m["seeds"] for m in sweep.means], [2, 2])
        self.assertGreater(float(sweep.rows[0]["h.h1.rate"] or 0), 1e8)
        self.assertEqual(Sweep.open("here/sweep"), sweep)
        again: list[tuple[int, int]] = []
        two().sweep(**same, progress=lambda *n: again.append(n))
        self.assertEqual(again, [(4, 4)], "nothing is run again")
        self.assertIn("</svg>", sweep._repr_svg_() or "")
        Path("other").mkdir()
        Path("other/x").write_text("")
        with self.assertRaisesRegex(CallError, "other is not empty"):
            two().sweep(buffers, out="other")
        for given in {"set": {"nothing.here": [1]}}, {"metrics": ["nothing.rate"], "seeds": 2}:
            with self.subTest(given), self.assertRaises(CallError):
                two().sweep(**given)


@mock.patch("fabemu.program._CHECKOUT", Path("/nowhere"))  # the programs here have versions of their own
class Programs(InFolder):
    def fake(self, text: str) -> str:
        path = Path("fake-fabemu").absolute()
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def test_order(self) -> None:
        """The argument is before the variable, the variable before PATH."""
        one = self.fake('echo "fabemu version 1"')
        with mock.patch.dict(os.environ, {"FABEMU": one}):
            self.assertEqual(Program.find().version, "1")
            self.assertEqual(Program.find(PROGRAM.path).version, PROGRAM.version)
        with mock.patch.dict(os.environ, {"FABEMU": "./" + os.path.basename(one)}):
            self.assertIn("version 1", Program.find().output("--version"))
        Path("bin").mkdir()
        os.symlink(one, "bin/fabemu")
        with mock.patch.dict(os.environ, {"FABEMU": "", "PATH": os.path.abspath("bin") + ":/bin"}):
            self.assertEqual(Program.find().version, "1")

    def test_missing_and_wrong(self) -> None:
        for path, want in (
            ("/nowhere/fabemu", "No such file.*install the wheel of this system"),
            (__file__, "Permission denied|Exec format error"),
            (self.fake("exit 0"), "is not fabemu"),
        ):
            with self.subTest(path), self.assertRaisesRegex(ProgramError, want):
                two().check(program=path)
        with mock.patch.dict(os.environ, {"FABEMU": "", "PATH": "/nowhere"}):
            with self.assertRaisesRegex(ProgramError, "no program fabemu in the wheel or in PATH: install"):
                two().run()

    def test_versions(self) -> None:
        path = self.fake('echo "fabemu version 0.2.0+abc"')
        for version in "devel", "0.2.0", "0.2.0+abc":
            with self.subTest(version), mock.patch("fabemu.program.__version__", version):
                self.assertEqual(Program.find(path).version, "0.2.0+abc")
        for version in "0.1.0", "0.2", "0.2.0+def":
            with self.subTest(version), mock.patch("fabemu.program.__version__", version):
                with self.assertRaisesRegex(ProgramError, f"is version {re.escape(version)}, and .* is version 0.2.0"):
                    Program.find(path)

    def test_version_of_a_checkout(self) -> None:
        """A package that is used from a checkout wants the program of its version, which answers in time."""
        Path("version.txt").write_text("0.2.0\n")
        with mock.patch("fabemu.program._CHECKOUT", Path("version.txt").absolute()):
            self.assertEqual(Program.find(self.fake('echo "fabemu version 0.2.0+abc"')).version, "0.2.0+abc")
            with self.assertRaisesRegex(ProgramError, "fabemu is version 0.2.0, and .* is version 0.1.0"):
                Program.find(self.fake('echo "fabemu version 0.1.0+abc"'))
        with mock.patch("fabemu.program._ANSWER", 0.2):
            with self.assertRaisesRegex(ProgramError, "has not stated its version .* within 0.2 s"):
                Program.find(self.fake("exec sleep 600"))

    def test_program_that_dies(self) -> None:
        path = self.fake('[ "$1" = --version ] && echo "fabemu version 1" || kill -9 $$')
        with self.assertRaisesRegex(RunError, "ended with status -9"):
            two().run(program=path)

    def test_program_that_answers_nonsense(self) -> None:
        """What is not an answer of the program raises errors of the package."""
        for words in r"\377\376", "null", "[null]", "[[[[", "{}", "[{}]", "[1]", '[{"mistakes": [3]}]', "'%0100000d'":
            path = self.fake(f'[ "$1" = --version ] && echo "fabemu version 1" || {{ printf {words!r}; printf {words!r} >&2; }}')
            for call in two().check, two().run, two().graph:
                with self.subTest(words=words, call=call.__name__), self.assertRaises(fabemu.FabemuError):
                    call(program=path)

    def test_old_interpreter(self) -> None:
        with mock.patch.object(sys, "version_info", (3, 8, 18)):
            with self.assertRaisesRegex(ImportError, "3.9 or later, and .* 3.8"):
                importlib.reload(fabemu)


class Bucket(Limiter):
    """The token bucket of docs/examples/limiter.py."""

    name, burst = "token bucket", 3000
    unit = 8 * 10**12

    def __init__(self, rate: int, packet: int) -> None:
        super().__init__(rate, packet)
        self.level, self.filled = self.burst * self.unit, 0

    def fill(self, now: int) -> None:
        self.level = min(self.burst * self.unit, self.level + self.rate * (now - self.filled))
        self.filled = now

    def next(self, now: int, size: int) -> int | None:
        self.fill(now)
        short = min(size, self.burst) * self.unit - self.level
        return now if short <= 0 else now - (-short // self.rate) if self.rate else None

    def sent(self, now: int, size: int) -> None:
        self.fill(now)
        self.level -= size * self.unit

    def set_rate(self, now: int, rate: int) -> None:
        self.fill(now)
        self.rate = rate


class Halving(ReactionPoint):
    def feedback(self, now: int, kind: str, values: object) -> None:
        assert kind == "ack" and values == {"marked": 1, "psn": 7}
        self.rate, self.deadline = self.rate // 2, now + 5

    def advance(self, now: int) -> None:
        self.rate, self.deadline = self.rate + 1, None


class Limiters(InFolder):
    def dialogue(self, make: object, questions: str) -> list[str]:
        answers = io.StringIO()
        serve(make, io.StringIO(questions), answers)
        return answers.getvalue().splitlines()

    def test_limiter(self) -> None:
        """The dialogue of the document of the protocol."""
        text = (ROOT / "docs" / "guide" / "limiters.md").read_text()
        lines = text[text.index("> hello 1 1000000000") :].split("```")[0].splitlines()
        questions = [line[2:] for line in lines if line.startswith("> ")]
        want = [line.replace(" in Python", "") for line in lines if not line.startswith("> ")]
        self.assertEqual(self.dialogue(Bucket, "\n".join(questions)), want)
        self.assertEqual(self.dialogue(Bucket, "hello 1 0 1500\nsent 0 3000\nnext 0 1500\n")[-1], "never")

    def test_law(self) -> None:
        questions = "hello 1 1000 1500\nsent 0 1500\nfeedback 10 ack marked=1 psn=7\nadvance 15\n"
        want = ["algorithm 1000 never algorithm in Python", "1000 never", "500 15", "501 never"]
        self.assertEqual(self.dialogue(Halving, questions), want)

    def test_window(self) -> None:
        """With measured ACKs an answer may have a window, also the first."""

        class Windowed(ReactionPoint):
            def __init__(self, line: int, packet: int) -> None:
                super().__init__(line, packet)
                self.window = 3 * packet

            def feedback(self, now: int, kind: str, values: Mapping[str, int]) -> None:
                self.window = None if kind == "lost" else values["bytes"]

        questions = "hello 1 1000 1500\nfeedback 10 delay rtt=5 bytes=700\nfeedback 11 lost\n"
        want = ["algorithm 1000/4500 never algorithm in Python", "1000/700 never", "1000 never"]
        self.assertEqual(self.dialogue(Windowed, questions), want)

    def test_flows(self) -> None:
        """A process for all flows has an algorithm for each, which ends with its flow."""
        questions = (
            "flow 2 hello 1 1000 1500\nflow 10 hello 1 800 1500\nflow 2 feedback 10 ack marked=1 psn=7\n"
            "flow 10 sent 11 1500\nflow 2 end 12\nflow 2 hello 1 500 1500\nflow 10 sent 13 1500\n"
        )
        want = [
            "algorithm 1000 never algorithm in Python", "algorithm 800 never algorithm in Python", "500 15", "800 never",
            "ok", "algorithm 500 never algorithm in Python", "800 never",
        ]  # fmt: skip
        self.assertEqual(self.dialogue(Halving, questions), want)

    def test_run(self) -> None:
        """A scenario with an algorithm in Python, which the helper serves."""
        Path("quarter.py").write_text(
            f"import sys\nsys.path[:0] = {[str(ROOT / 'python')]!r}\n"
            "from fabemu import ReactionPoint, serve\n\nclass Quarter(ReactionPoint):\n"
            "    def __init__(self, line, packet):\n        super().__init__(line // 4, packet)\n\nserve(Quarter)\n"
        )
        control = {"algorithm": "exec", "program": sys.executable, "arguments": "quarter.py", "process": "shared"}
        fabric = two().defaults("flow", control=control).defaults("switch", marking={"scheme": "input-output"})
        result = fabric.run()
        self.assertGreater(result.data["questions"]["count"], 100)
        for flow in result.flows:  # at a quarter of 1 GB/s
            self.assertAlmostEqual(flow.bytes / 500e3, 1, delta=0.1)

    def test_wrong_begin(self) -> None:
        for questions in "next 0 1\n", "hello 2 1 1\n", "flow 1 sent 0 1\n", "flow 1 hello 1 1 1\nflow 2 end 3\n":
            with self.subTest(questions), self.assertRaises(CallError):
                self.dialogue(Bucket, questions)

    def test_bench(self) -> None:
        Path("bucket.py").write_text(
            f"import sys\nsys.path[:0] = {[str(ROOT / 'python'), str(Path(__file__).parent)]!r}\n"
            "from fabemu import serve\nfrom test_fabemu import Bucket\nserve(Bucket)\n"
        )
        report = bench(script="bucket.py", case="step/up", clock="virtual", packets=100)
        self.assertRegex(report, r"step/up .* pass")
        with self.assertRaisesRegex(CallError, "nothing"):
            bench("nothing")
        with self.assertRaisesRegex(CallError, "there is no file none.py"):
            bench(script="none.py")


class Controls(InFolder):
    """The client of an active run, tested with a server that has the same routes."""

    def serve(self, folder: Path) -> None:
        class Handler(BaseHTTPRequestHandler):
            def answer(self, status: int, text: str) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def do_GET(self) -> None:
                begin, over = '{"at_ps": 1, "kind": "begin"}\n', '{"at_ps": 9, "kind": "over"}\n'
                status = '{"state": "running", "model_ps": 5}'
                self.answer(200, {"/status": status, "/events": begin, "/events?follow=1": begin + over}[self.path])

            def do_POST(self) -> None:
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.headers["Content-Type"] != "application/json" or event != {"link": "trunk", "for": "1ms"}:
                    self.answer(422, '{"error": "there is no such link: there are trunk"}')
                else:
                    self.answer(200, '{"at_ps": 7, "event": "{at: 7ps, link: trunk}"}')

            def log_message(self, *_: object) -> None:
                pass

        folder.mkdir(parents=True)
        os.chdir(folder)  # the name of a socket is short
        server = socketserver.ThreadingUnixStreamServer("fabemu.sock", Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def test_control(self) -> None:
        for folder in Path("x").absolute(), Path("y" * 120).absolute():  # longer than the name of a socket
            self.serve(folder)
            run = Control(folder)
            self.assertEqual(run.status(), {"state": "running", "model_ps": 5})
            self.assertEqual(run.set(link="trunk", for_="1ms"), "{at: 7ps, link: trunk}")
            with self.assertRaisesRegex(CallError, "^there is no such link: there are trunk$"):
                run.set(link="x")
            self.assertEqual([c["kind"] for c in run.changes()], ["begin", "over"])
            self.assertEqual([c["kind"] for c in run.changes(follow=False)], ["begin"])

    def hostile(self, head: bytes, body: bytes, times: int) -> None:
        """Listen where a run would, and answer so, whatever is asked; without a head nothing."""

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                asked = b""
                while not asked.endswith(b"}" if asked.startswith(b"POST") else b"\r\n\r\n"):
                    asked += self.request.recv(1 << 16)
                try:
                    self.wfile.write(head)
                    for _ in range(times):
                        self.wfile.write(body)
                    while not times and self.request.recv(1 << 16):
                        pass  # until the client gives up
                except OSError:
                    pass

        with contextlib.suppress(FileNotFoundError):
            os.unlink("fabemu.sock")
        server = socketserver.ThreadingUnixStreamServer("fabemu.sock", Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def test_hostile_run(self) -> None:
        """Answers have limits of size and time, and a form."""
        ok, run = b"HTTP/1.1 200 OK\r\n\r\n", Control(Path.cwd())
        asks = lambda: run.status(), lambda: run.set(link="x"), lambda: list(run.changes()), lambda: list(run.changes(False))
        for body, times in (
            (b"a" * (1 << 20), 1000), (b"null\n", 1), (b"[" * 100_000, 1), (b"\xff", 1), (b"[]\n", 1), (b"{}\n", 1),
        ):  # fmt: skip
            self.hostile(ok, body, times)
            for number, ask in enumerate(asks):
                with self.subTest(body=body[:9], ask=number), self.assertRaisesRegex(RunError, "is not a run"):
                    ask()
        self.hostile(b"HTTP/1.1 422 No\r\n\r\n", b'{"error": "\\u001b[2J\\u009b"}', 1)
        with self.assertRaisesRegex(CallError, r"^\\x1b\[2J\\x9b$"):
            run.set(link="x")
        for head in b"", ok, ok[:-2] + b"Content-Length: 9\r\n\r\n":
            self.hostile(head, b"", 0)
            with mock.patch("fabemu.control._PATIENCE", 0.05):
                for number, ask in enumerate(asks[:2]):
                    with self.subTest(head=head, ask=number), self.assertRaisesRegex(RunError, "does not answer within"):
                        ask()

    @unittest.skipUnless(sys.platform == "linux", "the state of processes is in /proc")
    def test_stopped_run(self) -> None:
        """A run that is stopped by a signal is named so."""
        with Scenario("hpl2002/fig2").start(clock="wall", link="pipe", dilation=40000) as run:
            run._process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, run._process.pid, os.WSTOPPED)
            for ask in run.status, lambda: run.set(link="*", loss=0.1), lambda: next(run.changes()):
                with self.assertRaisesRegex(RunError, f"is stopped .*kill -CONT {run._process.pid} continues it"):
                    ask()
            run._process.send_signal(signal.SIGCONT)
            self.assertEqual(run.status()["state"], "running")

    def test_no_run(self) -> None:
        with self.assertRaisesRegex(RunError, "no run is active in .*: No such file"):
            Control(Path.cwd()).status()


if __name__ == "__main__":
    unittest.main()
