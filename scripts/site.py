#!/usr/bin/env python3
"""Makes the site of scripts/site.sh.

    site.py [--quick] PROGRAM MARKDOWN FOLDER
"""

import html
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STYLE = ROOT / "scripts" / "site.css"
SCRIPT = ROOT / "scripts" / "search.js"

# A run of the gallery that has not ended after so many seconds is left out, and the site is not made.
PATIENCE = 600

# The menu, in the order in which a reader needs it: groups, and in each the documents with their titles there. A folder
# has all of its documents that are nowhere else, by their headings. The number is the weight of the group in the search.
MENU = [
    ("Start", 1.2, [
        ("README.md", "Overview"), ("docs/guide/install.md", "Install"), ("docs/guide/first-hour.md", "First hour"),
        ("gallery.md", "Gallery of scenarios"), ("docs/README.md", "By reader"), ("docs/guide/faq.md", "FAQ"),
        ("docs/guide/troubleshooting.md", "Troubleshooting"), ("docs/guide/glossary.md", "Glossary"),
    ]),
    ("Build a fabric", 1.2, [
        ("docs/guide/scenarios.md", "Scenarios"), ("docs/guide/workloads.md", "Workloads and FCT"), ("docs/guide/paths.md", "Paths by packet"),
        ("docs/guide/sweeps.md", "Sweeps and comparisons"), ("docs/guide/paper-figure.md", "A figure for a paper"),
        ("docs/guide/faults.md", "Faults, testing devices"),
        ("docs/guide/python.md", "Python"),
    ]),
    ("Links and transports", 1.2, [
        ("docs/guide/infiniband.md", "InfiniBand"), ("docs/guide/subnet.md", "Your subnet"), ("docs/guide/sonic.md", "SONiC"), ("docs/guide/rocev2.md", "RoCEv2"), ("docs/guide/cbfc.md", "CBFC"),
    ]),
    ("Real programs and machines", 1.2, [
        ("docs/guide/guests.md", "Real hosts, containerlab"), ("docs/guide/rdma.md", "RDMA programs"), ("docs/guide/namespaces.md", "Namespaces, veth pairs"),
        ("docs/guide/processes.md", "A process for each node"), ("docs/guide/hosts.md", "Several machines"),
    ]),
    ("See the results", 1.2, [
        ("docs/guide/results.md", "Result files"), ("docs/guide/live.md", "Watch and control a run"),
        ("docs/guide/wireshark.md", "Wireshark"), ("docs/guide/metrics.md", "Prometheus, Perfetto"),
        ("docs/guide/events.md", "Event log"),
    ]),
    ("Your own algorithm", 1.2, [("docs/guide/limiters.md", "Limiters on the bench")]),
    ("Reference", 1, [("docs/reference/README.md", "Fields of scenarios"), ("docs/reference/metrics.md", "Metrics"), "docs/guide/", "docs/reference/"]),
    ("Trust and compare", 1.1, [
        ("docs/guide/trust.md", "Timing and trust"), ("docs/guide/comparison.md", "Other tools"), ("docs/guide/compatibility.md", "Versions, support, citing"),
        ("docs/notes/validation.md", "Validation"),
    ]),
    ("Papers and test plans", 0.8, [
        ("docs/papers/reading.md", "How to read the claims"), ("docs/papers/hpl2002.md", "HPL-2002-224 (InfiniBand)"), ("docs/papers/cca.md", "CCA (InfiniBand, Annex A10)"),
        ("docs/papers/bcn.md", "BCN"), ("docs/papers/e2cm.md", "E2CM"), ("docs/papers/qcn.md", "QCN (802.1Qau)"),
        ("docs/papers/dcqcn.md", "DCQCN"), ("docs/papers/timely.md", "TIMELY"), ("docs/papers/swift.md", "Swift"),
        ("docs/papers/hpcc.md", "HPCC"), ("docs/papers/htsim.md", "htsim's configurations"), ("docs/papers/uet.md", "Ultra Ethernet"), ("docs/papers/tcp.md", "TCP over RED"),
        ("docs/papers/workloads.md", "Web-search and Hadoop flows"), ("docs/papers/compare-schemes.md", "All schemes compared"),
        ("docs/papers/pfc.md", "PFC, watchdog, ECN tests"), ("docs/papers/cbfc.md", "CBFC tests"), ("docs/papers/llr.md", "LLR tests"),
        ("docs/papers/links.md", "PFC, credits, retry compared"), ("docs/papers/paths.md", "Paths by packet"), "docs/papers/",
    ]),
    ("Project", 0.5, [("ARCHITECTURE.md", "Architecture"), ("CONTRIBUTING.md", "Contributing"), ("CHANGELOG.md", "Changelog")]),
]

# The cards of the front page.
CHOSEN = ["hpl2002/fig3b", "ethernet/pfc-hol", "dcqcn/unequal", "workload/web-search", "qcn/unit-step", "pfc/watchdog", "ethernet/ring-deadlock", "tcp/dctcp"]

# The topics of the gallery by the first part of the names of scenarios, with their headings.
TOPICS = {
    "hpl2002": "InfiniBand: congestion detection (HPL-2002-224)", "cca": "InfiniBand's congestion control (Annex A10)",
    "infiniband": "InfiniBand: virtual lanes",
    "ethernet": "Ethernet: PAUSE, PFC and paths", "pfc": "PFC, by test plans", "cbfc": "CBFC: credits on Ethernet",
    "llr": "LLR: link layer retry", "roce": "RoCEv2", "dcqcn": "DCQCN", "timely": "TIMELY", "swift": "Swift",
    "hpcc": "HPCC", "qcn": "QCN (IEEE 802.1Qau)", "bcn": "BCN", "e2cm": "E2CM", "tcp": "TCP", "workload": "Workloads",
    "links": "Flow control and retry on one fabric", "paths": "Paths by packet",
    "guest": "Real hosts", "bench": "All schemes in the same situations",
}

def installed(block):
    """Return a block of code with the command of a package, and comments in their columns."""
    run, command = "go run ./cmd/fabemu", "fabemu"
    block = re.sub(re.escape(run) + "(.* )#", lambda m: command + m[1] + " " * (len(run) - len(command)) + "#", block)
    return block.replace(run, command)


def page_of(path):
    """Return the page of a document of the tree, or the path of a copied file."""
    if path == "README.md":
        return "index.html"
    if path.endswith("/README.md"):
        return path[:-len("README.md")] + "index.html"
    if path.endswith(".md"):
        return path[:-3] + ".html"
    if path.endswith((".svg", ".png", ".json", ".html")):
        return path
    return path + ".html"  # a source, which a browser would not show


class Site:
    def __init__(self, program, markdown, out, quick):
        self.program, self.markdown, self.out, self.quick = program, markdown, out, quick
        self.version = (ROOT / "cmd/fabemu/version.txt").read_text().strip()
        self.documents = {}  # path -> Markdown
        self.bodies = {}  # path -> HTML
        self.titles = {}  # path -> title
        self.short = {}  # path -> title in the menu
        self.files = set()  # paths that pages name
        self.topics = set()  # the pages of the gallery
        self.groups = []  # of the menu: heading, weight, paths
        self.index = []  # of the search: title, heading, address, text, weight

    def write(self, path, data):
        to = self.out / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(data if isinstance(data, bytes) else data.encode())

    def make(self):
        shutil.rmtree(self.out, ignore_errors=True)
        named = {entry[0]: entry[1] for _, _, entries in MENU for entry in entries if isinstance(entry, tuple)}
        for name, weight, entries in MENU:
            paths = []
            for entry in entries:
                if isinstance(entry, tuple):
                    paths.append(entry[0])
                else:
                    found = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / entry).rglob("*.md"))
                    paths += [p for p in found if p not in named and not any(p in g[2] for g in self.groups)]
            if paths:
                self.groups.append((name, weight, paths))
            for p in paths:
                if p != "gallery.md":
                    self.documents[p] = for_site((ROOT / p).read_text(encoding="utf-8"))
        lost = {p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md")} - self.documents.keys()
        if lost:
            sys.exit(f"site.py: the menu has no place for {', '.join(sorted(lost))}")
        self.gallery()
        done = subprocess.run([self.markdown], input=json.dumps(self.documents), check=True, capture_output=True, text=True)
        self.bodies = json.loads(done.stdout)
        for path, body in self.bodies.items():
            heading = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
            self.titles[path] = text_of(heading.group(1) if heading else path)
            if path.startswith("docs/papers/"):  # the menu has shorter names
                self.titles[path] = named.get(path, self.titles[path])
            self.short[path] = named.get(path, self.titles[path])
        for path in self.documents:
            self.write(page_of(path), self.page(path, self.body(path)))
        for path in sorted(self.files):
            self.copy(path)
        self.write("style.css", STYLE.read_bytes())
        self.write("search.js", SCRIPT.read_bytes())
        self.write("search.html", self.page("search.html", SEARCH))
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in self.index)
        self.write("search-index.js", f"const index = [\n{rows}\n];\n")

    def body(self, path):
        """Return the body of a page: links lead to pages, tables scroll, and its text is in the index."""
        here = page_of(path)

        def link(found):
            attribute, target = found.group(1), html.unescape(found.group(2))
            if re.match(r"[a-z]+:|#", target):
                return found.group(0)
            file, hash, anchor = target.partition("#")
            to = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
            if to not in self.documents and not (self.out / to).exists():
                if not (ROOT / to).is_file():
                    sys.exit(f"site.py: {path}: there is no {target}")
                self.files.add(to)
            return f'{attribute}="{html.escape(relative(here, page_of(to)) + hash + anchor)}"'

        body = re.sub(r'\b(href|src)="([^"]*)"', link, self.bodies[path])
        # Readers of the site have installed a package: they need no Go.
        body = re.sub(r"<pre>.*?</pre>", lambda b: installed(b.group(0)), body, flags=re.S)
        body = re.sub(r"<table>.*?</table>", table, body, flags=re.S)
        body = re.sub(r"<code>(-[^<\s]{1,30}</code>)", r'<code class="flag">\1', body)  # a browser would break it after its hyphens
        body = re.sub(r'<p><img ([^>]*)></p>', lambda i: f'<figure tabindex="0"><img {i[1]}{self.room(here, i[1])}></figure>', body)
        body = re.sub(r'<(h[2-4]) id="([^"]*)">(.*?)</\1>', r'<\1 id="\2">\3 <a class="here" href="#\2" aria-label="link to this heading">#</a></\1>', body, flags=re.S)
        parts = re.split(r'(<h[1-4] id="[^"]*">.*?</h[1-4]>)', body, flags=re.S)
        heading, anchor = "", ""
        weight = next((w for _, w, paths in self.groups if path in paths), 0.6)  # the gallery is last
        for part in parts:
            found = re.match(r'<h[1-4] id="([^"]*)">(.*?)</h', part, re.S)
            if found:
                anchor, heading = found.group(1), text_of(re.sub(r'<a class="here".*?</a>', "", found.group(2), flags=re.S))
                continue
            text = text_of(part)
            if (text or heading) and path != "gallery.md":  # its topics have their own pages
                first = not anchor or heading == self.titles[path]
                self.index.append([self.titles[path], "" if first else heading, here + ("" if first else "#" + anchor), text, weight])
        return body

    def room(self, here, image):
        """Return the style of an image with words that would be too small at the width of the page."""
        path = self.out / posixpath.normpath(posixpath.join(posixpath.dirname(here), re.search('src="([^"]*)"', image)[1]))
        width = re.search(r'<svg[^>]* width="(\d+)"', path.read_text(encoding="utf-8")) if path.suffix == ".svg" and path.exists() else None
        return f' style="min-width: {int(width[1]) * 4 // 5}px"' if width and int(width[1]) > 900 else ""

    def menu(self, here):
        lines = []
        for name, _, paths in self.groups:
            lines.append(f"<h2>{name}</h2><ul>")
            for p in paths:
                if p.startswith("docs/reference/") and not here.startswith("docs/reference/") and not p.endswith(("/README.md", "/metrics.md")):
                    continue  # the index of the reference leads to its pages
                current = ' aria-current="page"' if page_of(p) == (here if here not in self.topics else "gallery.html") else ""
                lines.append(f'<li><a href="{relative(here, page_of(p))}"{current}>{html.escape(self.short[p])}</a></li>')
            lines.append("</ul>")
        return "\n".join(lines)

    def page(self, path, body):
        here = page_of(path)
        title = self.titles.get(path, "Search" if path == "search.html" else path)
        name = title if title == "fabemu" else f"{title} · fabemu"
        headings = re.findall(r'<h2 id="([^"]*)">(.*?) <a class="here"', body, re.S)
        contents = ""
        broad = ' class="broad"' if 'class="wide many"' in body or 'style="min-width' in body else ""  # its tables or pictures need the room of the contents
        if len(headings) > 2 and not broad:
            items = "".join(f'<li><a href="#{i}">{re.sub(r"<[^>]*>", "", h)}</a></li>' for i, h in headings)
            contents = f'<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>{items}</ul></nav>'
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self' file: data:; style-src 'self' file: 'unsafe-inline'; script-src 'self' file: 'unsafe-inline'; form-action 'self' file:">
<title>{html.escape(name)}</title>
<link rel="stylesheet" href="{relative(here, "style.css")}">
</head>
<body{broad}>
<a class="skip" href="#main">To the text</a>
<header>
<a class="name" href="{relative(here, "index.html")}">fabemu</a> <span class="version">{html.escape(self.version)}</span>
<form action="{relative(here, "search.html")}" role="search"><input type="search" name="q" placeholder="Search" aria-label="Search the documents"></form>
</header>
<details class="menu"><summary>Menu</summary><nav aria-label="Documents">
{self.menu(here)}
</nav></details>
<nav class="side" aria-label="Documents">
{self.menu(here)}
</nav>
<main id="main">
{body}
</main>
{contents}
</body>
</html>
"""

    def copy(self, path):
        """Copy a file that a page names; a source becomes a page."""
        data = (ROOT / path).read_bytes()
        to = page_of(path)
        if to == path:
            self.write(to, data)
            return
        self.titles[path] = path
        self.write(to, self.page(path, f"<h1>{html.escape(path)}</h1>\n<pre><code>{html.escape(data.decode())}</code></pre>"))

    def gallery(self):
        """Write the pages of the gallery, one for each topic, and draw its pictures."""
        listed = json.loads(subprocess.run([self.program, "list", "--json"], check=True, capture_output=True, text=True).stdout)
        topics = {}
        for s in listed:
            topics.setdefault(s["name"].partition("/")[0], []).append(s)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            drawn = dict(zip([s["name"] for s in listed], pool.map(self.draw, listed)))
        cards = {}
        start = ["# Gallery of scenarios", "", "These scenarios come with the program. `fabemu list` prints them, `fabemu run NAME` runs one.", ""]
        for topic in sorted(topics, key=lambda t: (list(TOPICS).index(t) if t in TOPICS else len(TOPICS), t)):
            title = TOPICS.get(topic, topic)
            start += [f"## {title}", "", '<div class="cards">']
            text = [f"# {title}", ""]
            paper = f"docs/papers/{ {'bench': 'compare-schemes', 'workload': 'workloads'}.get(topic, topic)}.md"
            if paper in self.documents:
                text += [f"Claims and results: [{dict(e for _, _, entries in MENU for e in entries if isinstance(e, tuple)).get(paper, topic)}](../{paper}).", ""]
            for s in topics[topic]:
                name, pictures = s["name"], drawn[s["name"]]
                anchor = re.sub(r"[^\w-]", "", name.lower())
                subject = html.escape(s["description"])
                shown = self.card(pictures.get("rates") or pictures["fabric"])
                cards[name] = f'<a class="card" href="gallery/{topic}.md#{anchor}"><img src="{shown}" alt="" loading="lazy"><b>{name}</b><span>{subject}</span></a>'
                start += [cards[name]]
                text += [f"## {name}", "", s["description"], "", f"Source: {s['source']}.", "", "```sh", f"fabemu run {name}" + ("" if s.get("guests") else " --clock virtual"), "```", ""]
                if s.get("guests"):
                    text += ["Its hosts are real: it needs root, and has no virtual clock.", ""]
                for kind, words in (("rates", "Rates over model time"), ("fabric", "The fabric")):
                    if kind in pictures:
                        text += [f"![{words} of {name}](../{pictures[kind]})", ""]
                file = ROOT / "emu/scenario/builtin" / (name + ".yaml")
                source = html.escape(file.read_text(encoding="utf-8"))
                text += [f"<details><summary>The scenario</summary><pre><code>{source.replace(chr(10), '&#10;')}</code></pre></details>", ""]
            self.topics.add(f"gallery/{topic}.html")
            self.documents[f"gallery/{topic}.md"] = "\n".join(text)
            start += ["</div>", ""]
        self.documents["gallery.md"] = "\n".join(start)
        self.documents["README.md"] += "\n".join(["", "## Scenarios to look at", "", '<div class="cards">', *(cards[c] for c in CHOSEN), "</div>", "", "[All scenarios](gallery.md)", ""])

    def card(self, picture):
        """Write a picture without its words, which are illegible on a card."""
        drawn = (self.out / picture).read_text(encoding="utf-8")
        to = picture.replace(".svg", "-card.svg")
        self.write(to, re.sub(r"<text\b.*?</text>", "", drawn, flags=re.S))
        return to

    def draw(self, s):
        """Draw the fabric of a scenario, and the curves of its short run. Return the pictures by kind."""
        name = s["name"]
        base = f"gallery/{name.replace('/', '-')}"
        pictures = {"fabric": base + ".svg"}
        (self.out / "gallery").mkdir(parents=True, exist_ok=True)
        self.call(["graph", name, "--out", str(self.out / pictures["fabric"])])
        if self.quick or s.get("guests"):
            return pictures
        with tempfile.TemporaryDirectory() as dir:
            short = ["--short"] if s.get("short_wall_seconds") else []
            self.call(["run", name, *short, "--clock", "virtual", "--loops", "1", "--out", dir + "/run"], fine=(0, 1))
            pictures["rates"] = base + "-rates.svg"
            shutil.copyfile(dir + "/run/rates.svg", self.out / pictures["rates"])
        return pictures

    def call(self, args, fine=(0,)):
        done = subprocess.run([self.program, *args], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        if done.returncode not in fine:
            sys.exit(f"site.py: fabemu {' '.join(args)}: {done.stderr}")


def for_site(text):
    """Return a document for readers who have installed a package: parts for a checkout go, and parts in comments stay."""
    text = re.sub(r"<!-- checkout -->\n.*?<!-- end of checkout -->\n", "", text, flags=re.S)
    return re.sub(r"<!-- site\n(.*?)-->\n", r"\1", text, flags=re.S)


def table(found):
    """Return a table that scrolls. One with many columns has its headings in its cells, for narrow screens."""
    text = found.group(0)
    labels = [text_of(h) for h in re.findall(r"<th\b[^>]*>(.*?)</th>", text, re.S)]
    if len(labels) < 4:
        return f'<div class="wide" tabindex="0">{text}</div>'

    def row(cells):
        label = iter(labels)
        return re.sub(r"<td\b", lambda _: f'<td data-label="{html.escape(next(label, ""))}"', cells.group(0))

    text = re.sub(r"<tr>.*?</tr>", row, text, flags=re.S)
    return f'<div class="wide {"many" if len(labels) > 5 else "some"}" tabindex="0">{text}</div>'


def relative(here, to):
    """Return the relative address of one page from another."""
    return posixpath.relpath(to, posixpath.dirname(here) or ".")


def text_of(markup):
    """Return the words of HTML."""
    return " ".join(html.unescape(re.sub(r"<!--.*?-->|<[^>]*>", " ", markup, flags=re.S)).split())


SEARCH = """<h1>Search</h1>
<form action="search.html" role="search"><input type="search" name="q" id="q" aria-label="Search the documents"> <button>Search</button></form>
<p id="count" aria-live="polite"></p>
<ol id="found"></ol>
<noscript><p>The search needs JavaScript.</p></noscript>
<script src="search-index.js"></script>
<script src="search.js"></script>
<script>
const field = document.getElementById("q"), list = document.getElementById("found"), count = document.getElementById("count");

// excerpt is the text around the first word.
function excerpt(text, wanted) {
  const words = tokens(wanted).filter(w => !idle.has(w));
  const at = Math.max(0, Math.min(...words.map(w => text.toLowerCase().indexOf(w)).filter(i => i >= 0), text.length) - 60);
  return (at ? "… " : "") + text.slice(at, at + 220) + (at + 220 < text.length ? " …" : "");
}

function search(wanted) {
  list.replaceChildren();
  count.textContent = "";
  if (!tokens(wanted).length) return;
  const found = find(index, wanted);
  count.textContent = found.length ? found.length + (found.length > 1 ? " sections" : " section") : "No section has these words.";
  for (const [title, heading, address, text] of found.slice(0, 50)) {
    const item = document.createElement("li"), link = document.createElement("a"), words = document.createElement("p");
    link.href = address;
    link.textContent = heading ? title + ": " + heading : title;
    words.textContent = excerpt(text, wanted);
    item.append(link, words);
    list.append(item);
  }
}

field.value = new URLSearchParams(location.search).get("q") || "";
field.addEventListener("input", () => search(field.value));
search(field.value);
field.focus();
</script>
"""

if __name__ == "__main__":
    args = [a for a in sys.argv[1:] if a != "--quick"]
    if len(args) != 3:
        sys.exit("usage: site.py [--quick] PROGRAM MARKDOWN FOLDER")
    Site(os.path.abspath(args[0]), os.path.abspath(args[1]), Path(args[2]).resolve(), "--quick" in sys.argv).make()
