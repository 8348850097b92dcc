#!/usr/bin/env python3
"""Find out from git which accepted ranges of claims were committed before the first result of their claim.

A page in docs/papers has the first result of a claim in the commit that adds its row. The accepted range of the row is then

    before    in the sources of the parent of that commit, and has not changed since
    unproved  not found there, perhaps because it is computed, or came with the result
    after     another one: the range was changed when a result was known

Writes emu/study/papers/words/ranges.csv, so that a build needs no git: paper, claim, range, when, commit and its date. Call it
when rows are new or ranges have changed, with the pages as they are to be committed; then write the pages again.
"""

import csv
import io
import pathlib
import re
import subprocess
import tarfile

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")
SOURCES = re.compile(r"(reproduce|papers|scenario).*(?<!_test)\.(go|yaml)$")
# Of a range in the unit of a page, over the same in its source: shares, times, sizes and rates.
SCALES = [1, 100, 1e3, 1e6, 1e9, 1e-3, 8e-9, 8e-6]


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True, errors="replace").stdout


def row(line):
    """Return the claims of a row of a table, each with its accepted range. A row may have several claims with one range."""
    cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
    if len(cells) < 5:
        return []
    if found := re.match(r"\*\*(\S+(?:, \S+)*)\*\* ", cells[0]):
        return [(claim, cells[1]) for claim in found[1].split(", ")]
    if re.fullmatch(r"[A-Z]+\d*-\S+", cells[0]):  # pages until November 26 had more columns
        return [(cells[0], cells[4])]
    return []


def rows(text):
    return dict(claim for line in re.findall(r"^\|.*\|$", text, re.M) for claim in row(line))


def bounds(accepted):
    """Return the bounds of a range but for 0, at which a range begins where nothing is negative."""
    return [n for n in map(float, NUMBER.findall(accepted)) if n != 0]


def same(a, b):
    """Report whether two ranges are one, perhaps in other units: to the three digits that pages once had."""
    endless = [x.startswith(("at least", "above")) and " to " not in x for x in (a, b)]
    a, b = bounds(a), bounds(b)
    return endless[0] == endless[1] and len(a) == len(b) and any(
        all(abs(y * scale - x) <= 0.005 * abs(x) for x, y in zip(a, b)) for s in SCALES for scale in (s, 1 / s, s / 100))


def states(source, claim, accepted):
    """Report whether a source states a range for a claim: near its ID are the bounds, in any unit."""
    wanted = bounds(accepted)
    names = "|".join(map(re.escape, dict.fromkeys([claim, claim.rsplit("/", 1)[0], claim[:-1]])))  # "IB-4" + group[:1]
    for found in re.finditer(rf"(?:{names})(?!\w)" + r"|\bid: ?['\"]?([^\s,'\"]*\{[^\s,'\"]*)|\bID: \"([^\"]+)\" ?\+", source):
        template = ".+".join(map(re.escape, re.split(r"\{.*?\}", found[1]))) if found[1] else re.escape(found[2]) + ".+" if found[2] else ""
        if not template or re.fullmatch(template, claim):
            text = source[found.end():found.end() + 2000]
            text = re.split(r"\n\s*- \{?id:|\bID:|\n\s*- checks:", text)[0]
            have = [float(n) for n in NUMBER.findall(text)]
            if re.search(r"[pP]rinted", text):
                return True  # a fifth less to a quarter more than the source prints
            for scale in SCALES:
                if all(any(abs(h * scale - w) <= 0.005 * abs(w) for h in have) for w in wanted):
                    return True
    return False


def history():
    """Return the rows that each commit has added to the pages, the oldest first: by page and claim, commits and ranges."""
    log = git("log", "--reverse", "--topo-order", "--no-merges", "-p", "-U0", "--format=commit %h %cs", "--", "docs/*.md", "docs/papers/*.md")
    seen, commit, page = {}, None, None
    for line in log.splitlines():
        if line.startswith("commit "):
            commit = line.split()[1:]
        elif line.startswith("+++ "):
            page = pathlib.Path(line[4:]).stem
        elif line.startswith("+|"):
            for claim, accepted in row(line[1:]):
                seen.setdefault((page, claim), []).append((*commit, accepted))
    return seen


def source(commit, cache={}):
    """Return the sources of claims as they are in a commit, in one text."""
    if commit not in cache:
        archive = subprocess.run(["git", "archive", commit, "emu"], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            cache[commit] = "\n".join(
                files.extractfile(f).read().decode("utf-8", "replace") for f in files if f.isfile() and SOURCES.search(f.name))
    return cache[commit]


def main():
    top = pathlib.Path(git("rev-parse", "--show-toplevel").strip())
    seen = history()
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["page", "claim", "range", "when", "commit", "date"])
    for page in sorted((top / "docs/papers").glob("*.md")):
        for claim, accepted in rows(page.read_text()).items():
            accepted = accepted.rstrip("†‡")
            past = seen.get((page.stem, claim), [("HEAD", "", accepted)])  # HEAD: the row is not committed yet
            commit, date, _ = past[0]
            when = "before" if states(source(commit + "^" if date else commit), claim, accepted) else "unproved"
            for k, (_, _, then) in enumerate(past):
                if not same(accepted, then):
                    when, (commit, date) = "after", past[min(k + 1, len(past) - 1)][:2]
            table.writerow([page.stem, claim, accepted, when, commit, date])
    (top / "emu/study/papers/words/ranges.csv").write_text(out.getvalue())


if __name__ == "__main__":
    main()
