#!/usr/bin/env python3
"""The timing of runs on the wall clock: gaps that are off, late data frames and the floor of the machine, the pace
(requested / achieved dilation), and the processor time of a frame. This program and an older one take turns. It wants a
computer with nothing else to do. The subjects:

  wall       fig3b and an incast in one process, over UDP and veth pairs
  processes  fig3b in 24 processes and in two
  repeats    how often a run is how good: README's first command, the example of a limiter with actual timing, a
             limiter's test in real time, a run that is stopped for 200 ms ten times; and the progress of two busy
             shells next to a run
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
INCAST = """name: incast-64
description: 63 senders meet at one receiver, and PFC stops them.
model: {duration: 5ms, seed: 1}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 100KB per port}
  flow: {packet: 1500B}
switches: {S: {}}
endpoints: ["s[1-63]", sink]
links: ["s[1-63] - S", S - sink]
flows:
  - {name: incast, from: "s[1-63]", to: sink}
"""
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextlib.contextmanager
def control_group(cpus):
    """Make a control group whose processes have the time of some processors, such as 0.5, as in a container with that
    limit. Version 2, or 1, with the controller cpu."""
    if not cpus:
        yield None
        return
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    enabled = None
    at = next((pathlib.Path(m[1]) for m in mounts if m[2] == "cgroup2"), None)
    if at and "cpu" in (at / "cgroup.controllers").read_text().split():
        control = at / "cgroup.subtree_control"
        if "cpu" not in control.read_text().split():
            try:
                control.write_text("+cpu")
            except OSError as e:
                sys.exit(f"wall: the controller cpu cannot be given to groups in {at}: {e}: give this container its own (docker run --cpus {cpus:g})")
            enabled = control
        limits = {"cpu.max": f"{cpus * 100000:.0f} 100000"}
    else:
        at = next((pathlib.Path(m[1]) for m in mounts if m[2] == "cgroup" and "cpu" in m[3].split(",")), None)
        if not at:
            sys.exit("wall: there is no control group with the controller cpu in /proc/mounts")
        limits = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": f"{cpus * 100000:.0f}"}
    group = at / f"fabemu-bench-{os.getpid()}"
    try:
        group.mkdir()
        try:
            for name, value in limits.items():
                (group / name).write_text(value)
            yield group
        finally:
            group.rmdir()
    finally:
        if enabled:
            enabled.write_text("-cpu")


@contextlib.contextmanager
def busy(n):
    """Run busy shells at normal priority."""
    shells = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(n)]
    try:
        yield shells
    finally:
        for shell in shells:
            shell.kill()
            shell.wait()


class Lab:
    def __init__(self, tmp, group, old):
        self.tmp, self.group, self.out = tmp, group, tmp / "out"
        self.incast = tmp / "incast.yaml"
        self.incast.write_text(INCAST)
        self.programs = {"new": tmp / "new"}
        subprocess.run(["go", "build", "-o", tmp / "new", "./cmd/fabemu"], check=True)
        if old:
            self.programs = {"old": tmp / "old", "new": tmp / "new"}
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tmp / "tree", old], check=True)
            try:
                subprocess.run(["go", "build", "-C", tmp / "tree", "-o", tmp / "old", "./cmd/fabemu"], check=True)
            finally:
                subprocess.run(["git", "worktree", "remove", "--force", tmp / "tree"], check=True)

    def start(self, *command, **how):
        """Start a command in the control group, if there is one."""
        if self.group:
            command = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', self.group / "cgroup.procs", *command]
        return subprocess.Popen(command, **how)

    def result(self):
        return json.loads((self.out / "result.json").read_text())

    def run(self, name, *args):
        """Run a scenario, and return the result and the processor seconds of the call. Without a result the lab ends."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        call = self.start(self.programs[name], "run", *args, "--verify", "off", "--quiet", "--force", "--out", self.out,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = call.communicate()[1]
        if call.returncode not in (0, 3):  # 3: the figures are not valid, which the table says
            sys.exit(said)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return self.result(), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # repeats

    def repeats(self, runs, tests, load):
        for name, program in self.programs.items():
            results = [self.run(name)[0] for _ in range(runs)]
            paces = [pace(r) for r in results]
            print(f"README's first command, {name}: {seen(level(r) for r in results)}; achieved / requested dilation at most {1 / min(paces):.4f}", flush=True)
            print(f"stopped for 200 ms, ten times, {name}: {seen(self.stopped(program) for _ in range(min(3, runs)))}", flush=True)
            if not load:
                with busy(2) as shells:
                    began, before = time.monotonic(), [ticks(s) for s in shells]
                    self.run(name)
                    took = (time.monotonic() - began) * os.sysconf("SC_CLK_TCK")
                    shares = [f"{100 * (ticks(s) - b) / took:.0f} %" for s, b in zip(shells, before)]
                print(f"progress of two busy shells beside it, {name}: {', '.join(shares)}", flush=True)
        example = TOP / "docs/examples/limiter"
        subprocess.run(["go", "build", "-C", example, "-o", self.tmp / "limiter", "."], check=True)
        levels = []
        for _ in range(runs):
            call = self.start(self.tmp / "limiter", cwd=example, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            levels += [line.split()[-1] for line in call.communicate()[0].splitlines() if re.search(r" wall +clock", line)]
        print(f"the example of a limiter, actual timing: {seen(levels)}", flush=True)
        subprocess.run(["go", "test", "-C", example, "-c", "-o", self.tmp / "limiter.test", "."], check=True)
        outcomes = ("failed" if self.start(self.tmp / "limiter.test", "-test.run", "TestBucket/real", cwd=example, **QUIET).wait() else "passed" for _ in range(tests))
        print(f"a limiter's test in real time: {seen(outcomes)}", flush=True)

    def stopped(self, program):
        """Stop README's first command for 200 ms ten times, and return what its result says."""
        call = self.start(program, "run", "--verify", "off", "--quiet", "--force", "--out", self.out, **QUIET)
        time.sleep(0.5)  # it takes 5 s
        for _ in range(10):
            time.sleep(0.2)
            if call.poll() is not None:
                break
            call.send_signal(signal.SIGSTOP)
            time.sleep(0.2)
            call.send_signal(signal.SIGCONT)
        call.wait()
        r = self.result()
        holds = sum(h["us"] > 190000 for h in find(r, "longest_holds") or [])
        return f"{level(r)}, {holds} holds of more than 190 ms"

    # wall and processes

    def cases(self, subject, first):
        """Return the cases: what the table calls them, and the arguments of the run."""
        run, root, cases = f"hpl2002/fig3b --set model.duration={first}", os.getuid() == 0, {}
        if subject == "wall":
            cases |= {f"fig3b, dilation {d}": f"{run} --dilation {d}" for d in (200, 100, 50, 20, 10, 5)}
            cases["incast of 64 with PFC, dilation 100"] = f"{self.incast} --dilation 100"
            cases["fig3b, actual timing, dilation 100"] = f"{run} --timing actual --dilation 100"
            # Where nothing runs ahead: a datagram for each frame, what is due goes together.
            cases["fig3b, actual timing, dilation 8"] = f"{run} --timing actual --dilation 8"
            cases["fig3b, a capture, dilation 8"] = f"{run} --pcap --dilation 8"
            if root:
                cases["fig3b over veth, actual timing, dilation 8"] = f"{run} --link veth --timing actual --dilation 8"
                cases |= {f"fig3b over veth, dilation {d}": f"{run} --link veth --dilation {d}" for d in (50, 20)}
        else:
            cases |= {f"24 processes, dilation {d}": f"{run} --placement process --dilation {d}" for d in (200, 100, 50)}
            cases["24 processes over Unix sockets, dilation 50"] = f"{run} --placement process --link unix --dilation 50"
            cases["2 processes, dilation 50"] = f"{run} --placement domain --dilation 50"
            if root:
                cases["24 processes over veth, dilation 200"] = f"{run} --placement process --link veth --dilation 200"
        return cases

    def figures(self, name, args, first):
        """Run a case, and return its figures."""
        r, cpu = self.run(name, *args.split())
        frames, begin, begun = find(r, "frames"), 0, 0
        if find(r, "cpu_seconds") is not None:
            cpu = find(r, "cpu_seconds")
        else:  # the time of the call has the start in it, which is no cost of a frame
            short, begin = self.run(name, *args.replace(f"model.duration={first}", "model.duration=1ms").split())
            begun = find(short, "frames")
        late = find(r, "lateness_us")
        return {
            "off": find(r, "gaps_off_share"), "late": 100 * find(r, "late_share"), "floor": 100 * find(r, "floor_share"), "p99": late["p99"], "max": late["max"],
            "pace": 100 * pace(r), "cpu": 1e6 * (cpu - begin) / (frames - begun), "level": level(r),
        }

    def table(self, cases, count, first):
        """Run all cases, the programs in turns, and return the table with the medians."""
        got = collections.defaultdict(list)
        for i in range(count):
            for case, args in cases.items():
                for name in self.programs:
                    got[case, name].append(self.figures(name, args, first))
                print(f"...     round {i + 1} of {count}, {case}", file=sys.stderr, flush=True)
        many = len(self.programs) > 1
        lines = [f"| {'two programs in turns' if many else 'run'} | gaps off, % | late (floor), % | late p99; max, µs | pace, % | CPU, µs/frame | level |", "|---|---|---|---|---|---|---|"]
        for (case, name), of in got.items():
            if many:
                case += {"old": ", before", "new": ", now"}[name]
            m = {key: statistics.median(f[key] for f in of) for key in ("late", "floor", "p99", "pace", "cpu")}
            off = "-" if any(f["off"] is None for f in of) else f"{100 * statistics.median(f['off'] for f in of):.1f}"
            levels = collections.Counter(f["level"] for f in of)
            said = ", ".join(l + (f" {n} of {len(of)}" if n < len(of) else "") for l, n in levels.items())
            lines.append(f"| {case} | {off} | {m['late']:.1f} ({m['floor']:.1f}) | {m['p99']:.0f}; {max(f['max'] for f in of):.0f} | {m['pace']:.1f} | {m['cpu']:.2f} | {said} |")
        return "\n".join(lines)


def find(tree, key):
    """Return the first value of a key that is anywhere in a result, or None: a result of an older program has other places."""
    if isinstance(tree, dict):
        if key in tree:
            return tree[key]
        tree = tree.values()
    elif not isinstance(tree, list):
        return None
    return next((v for v in (find(x, key) for x in tree) if v is not None), None)


def level(result):
    return result["verdict"]["level"]


def pace(result):
    return find(result, "requested_dilation") / find(result, "achieved_dilation")


def seen(items):
    """Say how often each item came."""
    return ", ".join(f"{n} {item}" for item, n in sorted(collections.Counter(items).items()))


def ticks(process):
    """Return the processor time of a process, in ticks of the clock."""
    return sum(map(int, pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def main():
    def cpus(text):
        if not re.fullmatch(r"\d+(\.\d+)?", text) or not float(text):
            raise argparse.ArgumentTypeError(f"--cpus is a number of processors above 0, such as 0.5, not {text}")
        return float(text)

    def natural(least, what):
        def read(text):
            if not text.isdecimal() or int(text) < least:
                raise argparse.ArgumentTypeError(f"{what}, not {text}")
            return int(text)
        return read

    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("subject", choices=["wall", "processes", "repeats"])
    p.add_argument("count", nargs="?", type=natural(1, "COUNT is a number of rounds"), default=3, help="how many rounds (default 3); the table has medians")
    p.add_argument("old", nargs="?", help="a git revision to compare with; without one the program as it is runs alone")
    p.add_argument("--load", type=natural(0, "--load is a number of busy shells"), default=0, help="this many busy shells run at normal priority meanwhile")
    p.add_argument("--cpus", type=cpus, help="the runs have the time of this many processors, such as 0.5, like a container with that limit (root)")
    p.add_argument("--doc", type=pathlib.Path, help="the document whose table, between the lines <!-- SUBJECT --> and <!-- end of SUBJECT -->, is to be replaced")
    p.add_argument("--first", help="how much of fig3b is run, in model time (default 20ms; in processes 12ms)")
    p.add_argument("--runs", type=natural(1, "--runs is a number of runs"), default=20, help="how many runs of repeats (default 20)")
    p.add_argument("--tests", type=natural(1, "--tests is a number of tests"), default=100, help="how many tests of a limiter of repeats (default 100)")
    a = p.parse_args()
    if a.cpus and os.getuid() != 0:
        p.error(f"--cpus needs root: it makes a control group; without root, run all of this in a container (docker run --cpus {a.cpus:g})")
    document = a.doc.resolve().read_text() if a.doc else ""
    mark, end = f"<!-- {a.subject} -->\n", f"<!-- end of {a.subject} -->"
    if a.doc and (mark not in document or end not in document):
        p.error(f"{a.doc} has no lines {mark.strip()} and {end}")
    os.chdir(TOP)
    with tempfile.TemporaryDirectory(prefix="fabemu-wall-") as tmp, control_group(a.cpus) as group:
        lab = Lab(pathlib.Path(tmp), group, a.old)
        print(f"load {a.load}, cpus {a.cpus or 'all'} of {len(os.sched_getaffinity(0))}, busy at the start: {os.getloadavg()[0]:.2f}", file=sys.stderr)
        with busy(a.load):
            if a.subject == "repeats":
                lab.repeats(a.runs, a.tests, a.load)
                return
            first = a.first or {"wall": "20ms", "processes": "12ms"}[a.subject]
            table = lab.table(lab.cases(a.subject, first), a.count, first)
    print(table)
    if a.doc:
        before, _, rest = document.partition(mark)
        a.doc.resolve().write_text(before + mark + table + "\n" + rest[rest.index(end):])
        print(f"wall: written to {a.doc}", file=sys.stderr)


if __name__ == "__main__":
    main()
