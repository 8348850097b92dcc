#!/usr/bin/env python3
"""Benchmarks, in the form that benchstat reads; of two revisions, compared.

The groups of benchmarks of the tree:

  wire       codecs, CRCs, ports, nodes one by one
  virtual    whole runs on the virtual clock
  scale      of these, what a frame-hop costs with 20, 200 and 2000 endpoints, and the factor between them, for each
             kind of fabric that fabemu generates; at the end the best of each size over all rounds
  loops      of these, how many times as fast two loops are as one, on two processors that do nothing else
  engine     the wall driver: what a datagram costs, and the ways in which its loop could wait
  all        wire, virtual, scale, loops and engine (default)
  placement  what it costs to place 60 nodes in one process or in one each, over UDP or veth pairs (root; a minute a
             round)
  hosts      what it costs to start 200 nodes on two hosts, which are network namespaces (root; half a minute a round)
  pacing     frames paced by fabemu, htb, tbf and time.Sleep side by side, which take turns (root, iproute2)

Two groups run the command, COUNT times (default 1), and compare no revisions:

  fig4       all of Fig. 4 of HPL-2002-224, 55 runs of 500 ms on the virtual clock, in wall and CPU seconds; the limit
             is 60 s on two cores
  shards     reproduce hpl2002 by one call and by two that share it, with a worker each, in turns, and the ratio of
             their times; SUBJECT=hpl2002/fig4a takes less, and so does SEEDS=1

Revisions are built from work trees in a temporary folder, removed at the end. Two revisions take turns, COUNT times, so
that a machine that grows slower meanwhile does not favour one. A busy machine gives figures that mean nothing: the
results contain the load at the start. scripts/lab has benchmarks beside other programs, and of runs on the wall clock.
"""

import argparse
import contextlib
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

BENCHSTAT = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"
MEASURE = ["-tags", "timing", "./scripts/measure"]
# The pattern and the packages of a group.
GROUPS = {
    "wire": (".", ["./wire/...", "./node/...", "./switchd/..."]),
    "virtual": ("^BenchmarkVirtual", ["./emu/..."]),
    "scale": ("^BenchmarkVirtualScale", ["./emu"]),
    "loops": ("^BenchmarkLoops", ["./emu"]),
    "engine": ("^BenchmarkEngine", ["./emu"]),
    "all": (".", ["./wire/...", "./node/...", "./switchd/...", "./emu/..."]),
    "placement": ("^BenchmarkPlacement", MEASURE),
    "hosts": ("^BenchmarkHosts", MEASURE),
    "pacing": ("^BenchmarkPacing", MEASURE),
}
ONCE = {"placement", "hosts"}  # an iteration is a whole round
ROOT = ONCE | {"pacing"}
TOP = pathlib.Path(__file__).resolve().parent.parent


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def machine():
    """Return what the figures depend on and go test does not say, as configuration lines of the benchmark format."""
    lines = [f"cpus: {len(os.sched_getaffinity(0))}", f"kernel: {os.uname().release}", f"toolchain: {output('go', 'env', 'GOVERSION')}"]
    with contextlib.suppress(OSError):
        lines.append("governor: " + pathlib.Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").read_text().strip())
    return "\n".join(lines + [f"load: {os.getloadavg()[0]:.2f}"])


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def bench(folder, group, benchtime):
    """Run a group once in a folder, and yield the lines."""
    pattern, packages = GROUPS[group]
    command = ["go", "test", "-run", "^$", "-bench", pattern, "-benchtime", benchtime, "-count", "1", "-benchmem", *packages]
    print("+", *command, file=sys.stderr, flush=True)
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as run:
        yield from (line.rstrip("\n") for line in run.stdout)
    if run.returncode:
        sys.exit(f"bench: go test failed in {folder}")


def best(lines):
    """Return a table of the lines of BenchmarkVirtualScale: for each kind of fabric the least cost of each size, and the
    factor between these. A computer that others use as well disturbs single lines."""
    cost, rounds, sizes = {}, {}, []
    for line in lines:
        words = line.split()
        if not line.startswith("BenchmarkVirtualScale"):
            continue
        kind = re.sub(r"-\d+$", "", words[0].partition("/")[2])
        rounds[kind] = rounds.get(kind, 0) + 1
        for value, unit in zip(words[2::2], words[3::2]):
            if unit.startswith("ns/hop@"):
                size = unit.removeprefix("ns/hop@")
                if size not in sizes:
                    sizes.append(size)
                cost.setdefault(kind, {})[size] = min(float(value), cost.get(kind, {}).get(size, float("inf")))
    table = [f"{'best, ns/hop':12}" + "".join(f"{s:>8}" for s in sizes) + f"{'factor':>8}{'rounds':>8}"]
    for kind, of in cost.items():
        figures = "".join(f"{of[s]:8.0f}" if s in of else f"{'-':>8}" for s in sizes)
        table.append(f"{kind:12}{figures}{max(of.values()) / min(of.values()):8.2f}{rounds[kind]:8d}")
    return "\n".join(table)


def fig4(program, folder):
    """Reproduce Fig. 4(a) once, and return its line."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    # A claim that does not hold has status 1, which is no matter of speed.
    run = subprocess.run([program, "reproduce", "hpl2002/fig4a", "--force", "--out", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode not in (0, 1) or not (folder / "report.html").exists():
        sys.exit(run.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    runs = (folder / "claims.json").read_text().count('"duration_ps": 500000000000')
    return f"fig4: {runs} runs of 500 ms: {wall:.1f} s wall, {cpu:.1f} s CPU; limit 60 s: {'within' if wall < 60 else 'over'}"


def shards(program, folder):
    """Reproduce a subject by one call and by two, and return its line."""
    subject, seeds = os.environ.get("SUBJECT", "hpl2002"), os.environ.get("SEEDS")
    took = {}
    for n in (1, 2):
        out, began = folder / str(n), time.monotonic()
        calls = [
            subprocess.Popen(
                [program, "reproduce", subject, *(["--seeds", seeds] if seeds else []), "--workers", "1", "--shard", f"{i}/{n}", "--out", out],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for i in range(1, n + 1)
        ]
        said = [call.communicate()[0] for call in calls]
        took[n] = time.monotonic() - began
        if any(call.returncode for call in calls):
            sys.exit("\n".join(said))
        cells = len(list((out / "cells").glob("**/*.json")))
    return f"shards: {subject}, {cells} cells: one shard {took[1]:.1f} s, two shards {took[2]:.1f} s: {took[1] / took[2]:.2f} times the throughput"


def command_group(group, count, out, tmp):
    program = tmp / "fabemu"
    subprocess.run(["go", "build", "-o", program, "./cmd/fabemu"], check=True)
    with open(out / f"{group}.txt", "w") as file:
        tee(machine(), file)
        for i in range(count):
            tee({"fig4": fig4, "shards": shards}[group](program, tmp / f"{group}-{i}"), file)
    say(f"written to {out / group}.txt")


def tee(line, file):
    print(line, flush=True)
    print(line, file=file, flush=True)


def alone(group, count, benchtime, out):
    lines = []
    with open(out / "new.txt", "w") as file:
        tee(machine(), file)
        for _ in range(count):
            for line in bench(".", group, benchtime):
                lines.append(line)
                tee(line, file)
    if group == "scale":
        print(best(lines))
    say(f"written to {out}/new.txt")


def compare(revisions, group, count, benchtime, out, tmp):
    """Compare a revision with another, or with the files as they are."""
    folders = {"new": "."}
    try:
        for name, revision in zip(("old", "new"), revisions):
            say(f"{name} is {output('git', 'log', '-1', '--format=%h %s', revision)}")
            folders[name] = tmp / name
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folders[name], revision], check=True)
        with open(out / "old.txt", "w") as old, open(out / "new.txt", "w") as new:
            print(machine(), file=old, flush=True)
            print(machine(), file=new, flush=True)
            for i in range(count):
                say(f"round {i + 1} of {count}")
                for name, file in (("old", old), ("new", new)):
                    for line in bench(folders[name], group, benchtime):
                        print(line, file=file, flush=True)
    finally:
        for name in ("old", "new"):
            if (tmp / name).exists():
                subprocess.run(["git", "worktree", "remove", "--force", tmp / name], check=True)
    stat = subprocess.run(["go", "run", BENCHSTAT, "old.txt", "new.txt"], cwd=out, stdout=subprocess.PIPE, text=True)
    if stat.returncode:
        say(f"{BENCHSTAT} cannot be run (offline?): compare the two files yourself")
    else:
        print(stat.stdout)
        (out / "benchstat.txt").write_text(stat.stdout)
    say(f"written to {out}")


def main():
    p = argparse.ArgumentParser(usage="scripts/bench.py [GROUP] [OLD [NEW]] [-n COUNT] [-t TIME] [-o DIR]", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("words", nargs="*", metavar="GROUP, OLD, NEW",
        help="a group, and git revisions. One: it is compared with the files as they are now. None: the files as they are now, without comparison")
    p.add_argument("-n", type=int, metavar="COUNT", help="how many times each is run (default 10: benchstat wants that many)")
    p.add_argument("-t", default="1s", metavar="TIME", help="how long each runs, as go test -benchtime takes it (default 1s)")
    p.add_argument("-o", type=pathlib.Path, metavar="DIR", help="where the results go (default results/bench/<date and time>)")
    a = p.parse_args()
    os.chdir(TOP)
    group, revisions = "all", a.words
    if revisions and (revisions[0] in GROUPS or revisions[0] in ("fig4", "shards")):
        group, *revisions = revisions
    if a.n is not None and a.n < 1:
        p.error(f"-n takes a number from 1, not {a.n}")
    if len(revisions) > 2:
        p.error(f"at most two revisions are compared, not {len(revisions)}")
    if group not in GROUPS and revisions:
        p.error(f"{group} compares no revisions")
    for r in revisions:
        if subprocess.run(["git", "rev-parse", "--quiet", "--verify", r + "^{commit}"], stdout=subprocess.DEVNULL).returncode:
            p.error(f"{r} is no revision, and no group: {', '.join(GROUPS)}, fig4, shards")
    if group in ROOT and os.getuid() != 0:
        p.error(f"{group} wants root: namespaces, veth pairs and qdiscs are made and removed")
    out = (a.o or pathlib.Path("results/bench", time.strftime("%Y%m%d-%H%M%S"))).resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fabemu-bench-") as name:
        if group not in GROUPS:
            command_group(group, a.n or 1, out, pathlib.Path(name))
        elif revisions:
            compare(revisions, group, a.n or 10, "1x" if group in ONCE else a.t, out, pathlib.Path(name))
        else:
            alone(group, a.n or 10, "1x" if group in ONCE else a.t, out)


if __name__ == "__main__":
    main()
