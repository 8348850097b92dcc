"use strict";
(() => {
// The page keeps the moments of a run, shows one of them, and asks its own server for
// changes. Nothing here asks anybody else.
const KEEP = 1500; // moments
const $ = id => document.getElementById(id);
const NS = "http://www.w3.org/2000/svg";
const OF_LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b0628f", "#b37a00", "#3f9fd6", "#7a5195", "#7d7d00"]; // after Okabe and Ito
const OF_DARK = ["#56b4e9", "#ff8a3d", "#2fcf9f", "#e39ac4", "#f0b93a", "#9ad0f5", "#b793d6", "#c7c74a"];
const STOP = ["", "no credit", "paused", "down"];
const night = matchMedia("(prefers-color-scheme: dark)");

let scene = null, moments = [], view = -1, live = true, over = "", lost = false; // view: the moment that is shown
let followed = null; // {line}, {node} or {flow}: an index
let shown = []; // groups in the charts

// Words.
const esc = s => String(s).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}[c]));
const known = v => v !== null && v !== undefined;
const digits = (v, n = 3) => { const a = Math.abs(v); return a >= 100 ? v.toFixed(0) : a >= 10 ? v.toFixed(n > 2 ? 1 : 0) : a === 0 ? "0" : v.toFixed(n - 1); };
const scaled = (v, units) => { if (!known(v)) return "–"; for (const [base, word] of units) if (Math.abs(v) >= base) return digits(v / base) + " " + word; const [base, word] = units[units.length - 1]; return digits(v / base) + " " + word; };
// Rates come in bytes per second, and are shown in bits per second: all in the unit that suits the fastest line.
const BITS = [[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "kb/s"], [1, "b/s"]];
let rateUnit = BITS[1];
const inBits = v => 8 * v / rateUnit[0];
const rate = v => known(v) ? (inBits(v) < 1 ? String(+inBits(v).toPrecision(2)) : digits(inBits(v))) + " " + rateUnit[1] : "–";
const bytes = v => scaled(v, [[1e6, "MB"], [1e3, "KB"], [1, "B"]]);
const share = v => known(v) ? digits(100 * v) + " %" : "–";
const ms = ps => (ps / 1e9).toFixed(Math.abs(ps) < 1e10 ? 3 : 2) + " ms";
const count = (n, one) => n + " " + one + (n === 1 ? "" : "s");

function el(name, attributes, ...inside) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v); else if (v === true) e.setAttribute(k, ""); else if (v !== false && known(v)) e.setAttribute(k, v);
  }
  e.append(...inside.filter(known));
  return e;
}
function draw(name, attributes, parent) {
  const e = document.createElementNS(NS, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (parent) parent.append(e);
  return e;
}
// put changes a text or an attribute only where it differs: the browser has less to do.
const put = (e, text) => { if (e.textContent !== text) e.textContent = text; };
const set = (e, k, v) => { if (e.getAttribute(k) !== v) e.setAttribute(k, v); };

// The drawing.
let lanes = [], items = [], waitLayer = null, nameLayer = null, pillLayer = null, drawnWaits = "", at = 0;

function drawFabric() {
  const [w, h] = scene.size, pad = 26;
  const svg = draw("svg", {viewBox: `${-pad} ${-pad} ${w + 2 * pad} ${h + 2 * pad}`, width: w + 2 * pad, height: h + 2 * pad, role: "group", "aria-label": "The fabric: " + count(scene.nodes.length, "node") + " and " + count(scene.lanes.length, "line")});
  lanes = []; items = []; drawnWaits = "";
  const below = draw("g", {}, svg), gauges = draw("g", {}, svg), boxes = draw("g", {}, svg);
  waitLayer = draw("g", {}, svg);
  const names = nameLayer = draw("g", {}, svg);
  pillLayer = draw("g", {}, svg);
  const beside = new Map();
  scene.lanes.forEach((l, i) => { const k = [l.from, l.to].sort().join(); (beside.get(k) || beside.set(k, []).get(k)).push(i); });
  scene.lanes.forEach((l, i) => {
    const c = l.curve, path = `M${c[0]}C${c[1]} ${c[2]} ${c[3]}`;
    const from = c[2][0] === c[3][0] && c[2][1] === c[3][1] ? c[0] : c[2];
    const d = unit(from, c[3]), n = [-d[1], d[0]];
    const g = draw("g", {class: "lane" + (l.lines.length ? "" : " none")}, below);
    const lane = {g, held: null, u: -1, state: "", lines: l.lines, d, begin: c[0], end: c[3], start: unit(c[0], c[1][0] === c[0][0] && c[1][1] === c[0][1] ? c[3] : c[1])};
    lanes.push(lane);
    draw("path", {class: "ring", d: path}, g);
    draw("path", {class: "body", d: path}, g);
    draw("path", {class: "over", d: path}, g);
    if (l.lines.length) {
      const t = [c[3][0] - d[0] * 1, c[3][1] - d[1] * 1];
      draw("path", {class: "tip", d: `M${t[0]} ${t[1]}L${t[0] - d[0] * 11 + n[0] * 6.5} ${t[1] - d[1] * 11 + n[1] * 6.5}L${t[0] - d[0] * 11 - n[0] * 6.5} ${t[1] - d[1] * 11 - n[1] * 6.5}Z`}, g);
      draw("path", {class: "touch", d: path}, g);
      if (l.lines.some(k => scene.lines[k].room > 0)) {
        // The buffer is on the side away from the lane of the other direction, and fills from the node on.
        const other = beside.get([l.from, l.to].sort().join()).map(k => scene.lanes[k]).find(x => x !== l && x.from === l.to);
        const side = other && (other.curve[0][0] - c[3][0]) * n[0] + (other.curve[0][1] - c[3][1]) * n[1] > 0 ? -1 : 1;
        const o = [c[3][0] + n[0] * 8 * side - d[0] * 3, c[3][1] + n[1] * 8 * side - d[1] * 3];
        lane.gauge = draw("line", {class: "gauge room", x1: o[0], y1: o[1], x2: o[0] - d[0] * 26, y2: o[1] - d[1] * 26}, gauges);
        lane.held = draw("line", {class: "gauge held", x1: o[0], y1: o[1], x2: o[0], y2: o[1]}, gauges);
        lane.o = o;
        if (!scene.nodes[l.to].switch) lane.gauge.setAttribute("visibility", "hidden");
      }
      item(g, {lane: i});
    }
    label(lane, l, l.label || "");
  });
  scene.nodes.forEach((node, i) => {
    const [x, y, w, h] = node.box, g = draw("g", {class: "node" + (node.switch ? " switch" : "")}, boxes);
    for (let k = Math.min(node.nodes.length - 1, 2); k >= 0; k--) draw("rect", {x: x + 3 * k, y: y + 3 * k, width: w, height: h, rx: node.switch ? 8 : h / 2}, g);
    const on = node.switch ? names : g;
    draw("text", {class: node.switch ? "name" : "", x: x + w / 2, y: y + h / 2 + (node.note ? -1 : 4.5)}, on).textContent = node.label;
    if (node.note) draw("text", {class: "note", x: x + w / 2, y: y + h / 2 + 14}, on).textContent = node.note;
    item(g, {node: i});
  });
  // Along the drawing, from left to right and from above: so the arrow keys walk.
  items.sort((a, b) => a.y - b.y || a.x - b.x);
  items.forEach((it, k) => it.g.setAttribute("tabindex", k ? -1 : 0));
  at = 0;
  $("fabric").replaceChildren(svg);
  offerZoom();
}
// label writes the properties of a link next to it: at most once for each text.
function label(lane, l, text) {
  if (text === (lane.text || "")) return;
  lane.text = text;
  lane.label ||= draw("text", {class: "label", x: l.at[0], y: l.at[1]}, nameLayer);
  lane.label.textContent = text;
}
// offerZoom has a button for a drawing that is made smaller to fit.
function offerZoom() {
  const svg = $("fabric").firstElementChild;
  $("zoom").hidden = !$("fabric").classList.contains("large") && svg.getBoundingClientRect().width > 0.95 * svg.getAttribute("width");
}
$("zoom").addEventListener("click", () => {
  const large = $("fabric").classList.toggle("large");
  put($("zoom"), large ? "Whole" : "Larger");
  $("zoom").setAttribute("aria-pressed", String(large));
});
const unit = (a, b) => { const x = b[0] - a[0], y = b[1] - a[1], n = Math.hypot(x, y) || 1; return [x / n, y / n]; };

// item makes a part of the drawing something to click, and to walk to.
function item(g, what) {
  const it = {g, what};
  if (known(what.node)) { const b = scene.nodes[what.node].box; it.x = b[0] + b[2] / 2; it.y = Math.round(b[1] + b[3] / 2); }
  else { const c = scene.lanes[what.lane].curve; it.x = (c[0][0] + c[3][0]) / 2; it.y = Math.round((c[0][1] + c[3][1]) / 2); }
  g.setAttribute("role", "button");
  g.setAttribute("aria-label", "");
  g.addEventListener("click", () => { walk(items.indexOf(it), false); follow(what); });
  g.addEventListener("focus", () => { at = items.indexOf(it); g.setAttribute("aria-label", spoken(what)); });
  items.push(it);
}
function walk(to, focus = true) {
  items[at].g.setAttribute("tabindex", -1);
  at = (to + items.length) % items.length;
  items[at].g.setAttribute("tabindex", 0);
  if (focus) items[at].g.focus();
}
// nearest is the item nearest to where an arrow points.
function nearest(dx, dy) {
  const me = items[at];
  let best = -1, least = Infinity;
  items.forEach((it, k) => {
    const x = it.x - me.x, y = it.y - me.y, along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (along > 0.5 && along + 3 * aside < least) { least = along + 3 * aside; best = k; }
  });
  return best < 0 ? (at + (dx + dy)) : best;
}
$("fabric").addEventListener("keydown", e => {
  const way = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]}[e.key];
  if (way) walk(nearest(...way));
  else if (e.key === "Home") walk(0);
  else if (e.key === "End") walk(items.length - 1);
  else if (e.key === "Enter") follow(items[at].what);
  else return;
  e.preventDefault();
});
function spoken(what) {
  if (known(what.node)) return (scene.nodes[what.node].switch ? "switch " : "") + scene.nodes[what.node].label;
  const l = scene.lanes[what.lane], m = moments[view];
  const name = l.lines.length === 1 ? scene.lines[l.lines[0]].name : scene.nodes[l.from].label + " to " + scene.nodes[l.to].label;
  if (!m) return "line " + name;
  const stop = Math.max(...l.lines.map(k => m.stop[k]));
  return `line ${name}, ${share(Math.max(...l.lines.map(k => m.used[k] || 0)))} used${stop ? ", " + STOP[stop] : ""}`;
}

function showFabric(m) {
  const dead = new Set(m.dead.flatMap(d => d.lines)), roots = new Set(m.roots.map(r => r.line)), rootNodes = new Set(m.roots.map(r => r.node));
  const on = followedLines();
  for (const lane of lanes) {
    let used = 0, held = 0, stop = 0, some = 0, isRoot = false, isDead = false, followedHere = false;
    for (const k of lane.lines) {
      used = Math.max(used, m.used[k] || 0);
      stop = Math.max(stop, m.stop[k]);
      some = Math.max(some, m.stopped[k] || 0);
      if (lane.held) held = Math.max(held, (m.held[k] || 0) / scene.lines[k].room || 0);
      isRoot = isRoot || roots.has(k); isDead = isDead || dead.has(k); followedHere = followedHere || on.lines.has(k);
    }
    const u = Math.min(100, 5 * Math.round(20 * used));
    if (u !== lane.u) { lane.u = u; lane.g.style.setProperty("--u", u + "%"); }
    const state = "lane" + (lane.lines.length ? "" : " none") + (stop === 3 ? " down" : stop ? " stop" : some > 0.05 ? " some" : "") + (isRoot ? " root" : "") + (isDead ? " dead" : "") + (followedHere ? " on" : on.any && !stop ? " dim" : "");
    if (state !== lane.state) { lane.state = state; lane.g.setAttribute("class", state); }
    if (lane.held) {
      const part = Math.round(26 * Math.min(1, held)) / 26;
      if (part !== lane.part) {
        lane.part = part;
        lane.held.setAttribute("x2", lane.o[0] - lane.d[0] * 26 * part);
        lane.held.setAttribute("y2", lane.o[1] - lane.d[1] * 26 * part);
        set(lane.held, "class", "gauge held" + (part > 0.9 ? " high" : ""));
      }
    }
  }
  scene.lanes.forEach((l, i) => label(lanes[i], l, (m.labels && m.labels[i]) ?? l.label ?? ""));
  for (const it of items) if (known(it.what.node)) { it.g.classList.toggle("on", on.node === it.what.node); it.g.classList.toggle("root", rootNodes.has(it.what.node)); }
  const key = JSON.stringify([m.waits, m.roots.map(r => [r.line, r.node]), [...dead]]);
  if (key !== drawnWaits) { drawnWaits = key; drawWaits(m, dead); }
}

// drawWaits draws an arrow within a node from the line that is stopped to the one that
// the frames there wait for.
function drawWaits(m, dead) {
  waitLayer.replaceChildren();
  pillLayer.replaceChildren();
  const drawn = new Set();
  for (const w of m.waits) {
    const a = scene.lines[w.line].lane, b = scene.lines[w.for].lane, k = a + ">" + b;
    if (drawn.has(k)) continue;
    drawn.add(k);
    const p = lanes[a].end, q = lanes[b].begin, d = lanes[a].d, e = lanes[b].start, reach = Math.max(14, Math.hypot(q[0] - p[0], q[1] - p[1]) / 2.4);
    const isDead = dead.has(w.line) && dead.has(w.for) ? " dead" : "", n = [-e[1], e[0]], t = [q[0] + e[0] * 7, q[1] + e[1] * 7], s = [q[0] - e[0] * 3, q[1] - e[1] * 3];
    draw("path", {class: "wait" + isDead, d: `M${p}C${p[0] + d[0] * reach} ${p[1] + d[1] * reach} ${s[0] - e[0] * reach} ${s[1] - e[1] * reach} ${s}`}, waitLayer);
    draw("path", {class: "wait-head" + isDead, d: `M${t}L${s[0] + n[0] * 5.5} ${s[1] + n[1] * 5.5}L${s[0] - n[0] * 5.5} ${s[1] - n[1] * 5.5}Z`}, waitLayer);
  }
  for (const r of m.roots) {
    let x, y;
    if (r.line >= 0) {
      const c = scene.lanes[scene.lines[r.line].lane].curve;
      [x, y] = [0, 1].map(k => (c[0][k] + 3 * c[1][k] + 3 * c[2][k] + c[3][k]) / 8);
    } else if (r.node >= 0) {
      const [left, top, w] = scene.nodes[r.node].box;
      [x, y] = [left + w / 2, top - 2];
    } else continue;
    const g = draw("g", {class: "pill", transform: `translate(${x} ${y})`}, pillLayer);
    draw("rect", {x: -17, y: -9, width: 34, height: 18, rx: 9}, g);
    draw("text", {y: 4}, g).textContent = "root";
  }
}

// Following.
function follow(what) {
  if (known(what.lane)) { const l = scene.lanes[what.lane].lines; if (!l.length) return; what = {line: l[0], lane: what.lane}; }
  const same = followed && ["line", "node", "flow"].every(k => followed[k] === what[k]);
  followed = same ? null : what;
  renderFollowed();
  chartsStale = true;
  show();
}
function followedLines() {
  if (!followed) return {lines: new Set()};
  if (known(followed.flow)) return {any: true, lines: new Set(scene.flows[followed.flow].path)};
  if (known(followed.line)) return {any: false, lines: new Set(known(followed.lane) ? scene.lanes[followed.lane].lines : [followed.line])};
  return {any: false, lines: new Set(), node: followed.node};
}
// equalOf is the lines of the equal outputs of a switch, the first groups of many.
const equalOf = n => { let room = 32; return (scene.equal || []).filter(e => n.nodes.includes(e.node) && (room -= e.lines.length) >= 0).map(e => e.lines); };
const link = (text, what) => el("button", {class: "link", type: "button", onclick: () => follow(what)}, text);
const names = list => el("div", {class: "links"}, ...list.slice(0, 24).flatMap((x, i) => i ? [" ", x] : [x]), list.length > 24 ? "and " + (list.length - 24) + " more" : null);

function renderFollowed() {
  const box = $("followed"), m = moments[view], keep = document.activeElement && box.contains(document.activeElement) ? document.activeElement.id : "";
  box.replaceChildren(el("h2", {id: "h-followed"}, "Followed"));
  if (!followed) { box.append(el("p", {class: "hint"}, "Nothing yet. " + (scene.knobs ? "What is followed can be changed during the run: a link slowed down, a switch restarted." : "Choose a link, a node or a flow."))); return; }
  const rows = el("table", {class: "table"});
  const knobs = el("div", {class: "knobs"});
  const said = el("p", {class: "said", role: "alert", id: "said"});
  if (known(followed.flow)) {
    const f = scene.flows[followed.flow];
    box.append(el("h3", {}, f.name), rows, el("p", {class: "hint"}, `From ${f.from} to ${f.to}, ${f.algorithm === "none" ? "without control" : "under " + f.algorithm}. ${f.several ? "Its packets take several paths, over" : "Its path:"}`), names(f.path.map(k => link(scene.lines[k].name, {line: k, lane: scene.lines[k].lane}))));
    rows.dataset.kind = "flow";
  } else if (known(followed.line)) {
    const l = scene.lines[followed.line];
    box.append(el("h3", {}, l.name), rows);
    const flows = scene.flows.flatMap((f, i) => f.path.includes(followed.line) ? [link(f.name, {flow: i})] : []);
    if (known(followed.lane) && scene.lanes[followed.lane].lines.length > 1) box.append(el("p", {class: "hint"}, "One of " + scene.lanes[followed.lane].lines.length + " that are drawn as one:"), names(scene.lanes[followed.lane].lines.map(k => link(scene.lines[k].name, {line: k, lane: followed.lane}))));
    box.append(el("p", {class: "hint"}, count(flows.length, "flow") + (flows.length === 1 ? " crosses it:" : " cross it:")), names(flows));
    rows.dataset.kind = "line";
    knobs.append(field("Rate", l.link + "-rate", rateWord(l.rate), v => ({link: l.link, rate: v})), knob("Down", {link: l.link, state: "down"}), knob("Up", {link: l.link, state: "up"}),
      field("Loses", l.link + "-loss", "0.01 for 1ms", v => ({link: l.link, from: l.from, ...spell("loss", v)})));
  } else {
    const n = scene.nodes[followed.node];
    box.append(el("h3", {}, (n.switch ? "Switch " : "") + n.label));
    const name = n.nodes[0];
    if (n.nodes.length > 1) box.append(el("p", {class: "hint"}, count(n.nodes.length, "endpoint") + ". The knobs act on " + name + "."));
    const flows = scene.flows.flatMap((f, i) => n.nodes.includes(f.from) || n.nodes.includes(f.to) ? [link(f.name, {flow: i})] : []);
    if (!n.switch && flows.length) box.append(names(flows));
    if (equalOf(n).length) {
      box.append(el("p", {class: "hint"}, "Equal outputs, and what each carries of their data:"), rows);
      rows.dataset.kind = "node";
    }
    if (n.switch) knobs.append(field("Restart, away for", name + "-restart", "100us", v => ({switch: name, restart: v})));
    else {
      knobs.append(field("Takes in", name + "-service", "8Gb/s", v => ({endpoint: name, service: v})), knob("All of it", {endpoint: name, service: "unlimited"}),
        knob("Sink stops", {endpoint: name, sink: "stopped"}), knob("Sink goes on", {endpoint: name, sink: "running"}));
      if (scene.lines.some(l => l.pauses && (l.from === name || l.to === name))) knobs.append(knob("Pause storm", {endpoint: name, "pause-storm": "on"}), knob("Storm off", {endpoint: name, "pause-storm": "off"}));
    }
  }
  if (scene.knobs) box.append(knobs, said);
  box.append(el("p", {}, el("button", {type: "button", id: "unfollow", onclick: () => follow(followed)}, "Follow nothing")));
  if (m) updateFollowed(m);
  if (keep && $(keep)) $(keep).focus();
}
// spell makes fields of "0.01 for 1ms": a value, and for how long.
const spell = (key, v) => { const [value, time] = v.split(/\s+for\s+/); return time ? {[key]: value.trim(), for: time.trim()} : {[key]: value.trim()}; };
const rateWord = v => { const [b, w] = BITS.find(([b]) => 8 * v >= b) || BITS[4]; return +(8 * v / b).toPrecision(6) + w; };
const knob = (text, change) => el("button", {type: "button", class: "knob", id: "knob-" + Object.values(change).join("-").replace(/\W+/g, "-"), onclick: () => turn(change)}, text);
function field(text, id, value, change) {
  const input = el("input", {type: "text", id: "field-" + id.replace(/\W+/g, "-"), value, autocomplete: "off", spellcheck: "false", onkeydown: e => { if (e.key === "Enter") turn(change(input.value)); e.stopPropagation(); }});
  return el("label", {}, text, input, el("button", {type: "button", class: "knob", id: "set-" + id.replace(/\W+/g, "-"), onclick: () => turn(change(input.value))}, "Set"));
}
// Changes are made in the order of the clicks: each is asked for when the one before is answered.
let turned = Promise.resolve();
const turn = change => turned = turned.then(() => ask(change));
async function ask(change) {
  const said = $("said");
  try {
    const answer = await fetch("events", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(change)});
    if (said) put(said, answer.ok ? "" : (await answer.json()).error);
  } catch { if (said) put(said, "The run does not answer."); }
}
function updateFollowed(m) {
  const rows = document.querySelector("#followed .table");
  if (!rows || !followed) return;
  let list = [];
  if (rows.dataset.kind === "line") {
    const k = followed.line, l = scene.lines[k];
    const held = m.held[k], holds = v => scene.in_bytes ? bytes(v) : known(v) ? digits(v) + " blocks" : "–";
    list = [["Used", share(m.used[k]) + " of " + rate(l.rate)], ["Now", STOP[m.stop[k]] || "goes"], ["Stopped lately", share(m.stopped[k])], ["Queue", bytes(m.queue[k])], ["Buffer at " + l.to, holds(held) + (l.room ? " of " + holds(l.room) : "")]];
  } else if (rows.dataset.kind === "flow") {
    const k = followed.flow, of = key => m.figures && m.figures[key] ? m.figures[key][k] : null;
    list = [["Rate", rate(m.rate[k])], ["Limit", rate(m.limit[k])], ["Target", rate(m.target[k])], ["Feedback lately", known(m.feedback[k]) ? String(m.feedback[k]) : "–"], ["Out of order lately", known(of("early")) ? count(of("early"), "packet") : "–"], ["Farthest ahead", of("ahead") ? count(of("ahead"), "packet") : "–"]];
    list = list.filter(r => r[1] !== "–");
  } else if (rows.dataset.kind === "node") {
    list = equalOf(scene.nodes[followed.node]).flatMap(lines => {
      const carried = lines.map(k => (m.used[k] || 0) * scene.lines[k].rate), all = carried.reduce((a, b) => a + b, 0);
      return lines.map((k, i) => [scene.lines[k].name, all > 0 ? share(carried[i] / all) : "–"]);
    });
  }
  while (rows.rows.length > list.length) rows.deleteRow(-1);
  list.forEach(([head, value], i) => {
    const row = rows.rows[i] || rows.insertRow();
    if (!row.cells.length) row.append(el("th", {scope: "row"}), el("td"));
    put(row.cells[0], head); put(row.cells[1], value);
  });
}

// The strip, the cause, the checks, the flows.
const GOOD = {virtual: "good", exact: "good", faithful: "good", "order-only": "fair", degraded: "bad", void: "bad"};
const MARK = {pass: "✓", fail: "✗", differs: "≠", "unexpected-pass": "✓", "not-measured": "–"};
function showStrip(m) {
  const strip = $("strip"), grade = GOOD[m.verdict] || "";
  set(strip, "class", grade);
  put($("level"), m.verdict ? m.verdict[0].toUpperCase() + m.verdict.slice(1) + (scene.over || over ? "" : " so far") : "No verdict yet");
  put($("why"), m.why || "");
  set($("why"), "tabindex", m.why ? "0" : "-1");
  const list = [["Model", ms(m.model_ps) + " of " + ms(scene.end_ps).replace(/\.?0+ ms/, " ms")]];
  if (scene.dilation && m.wall_ms > 0) list.push(["Wall", (m.wall_ms / 1000).toFixed(1) + " s"]);
  if (scene.dilation) list.push(["Dilation", String(scene.dilation)]);
  if (known(m.late)) list.push(["Late", share(m.late) + (known(m.floor) ? " (floor " + share(m.floor) + ")" : "")]);
  const dl = $("figures");
  while (dl.children.length > list.length) dl.lastChild.remove();
  list.forEach(([head, value], i) => {
    const row = dl.children[i] || dl.appendChild(el("div", {}, el("dt"), el("dd")));
    put(row.children[0], head); put(row.children[1], value);
  });
  $("bar").firstElementChild.style.width = Math.min(100, 100 * m.model_ps / scene.end_ps) + "%";
}
function showCause(m) {
  const faults = m.active || [];
  const parts = m.dead.map(d => ["dead", d.words]).concat(faults.filter(f => f.words).map(f => ["", f.words]), m.roots.map(r => ["", r.words]));
  const stopped = m.stop.filter(s => s === 1 || s === 2).length, down = m.stop.filter(s => s === 3).length;
  if (!parts.length) parts.push(["calm", stopped ? count(stopped, "line") + (stopped === 1 ? " is" : " are") + " stopped." : faults.length ? "No line is stopped as a whole; " + faults.map(f => f.text).slice(0, 3).join("; ") + "." : "Nothing is stopped."]);
  if (down) parts.push(["calm", count(down, "line") + (down === 1 ? " is" : " are") + " down."]);
  if (parts.length > 4) parts.splice(3, Infinity, ["calm", "And " + (parts.length - 3) + " more."]);
  const key = JSON.stringify(parts);
  const box = $("cause");
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  box.replaceChildren(...parts.map(([c, words]) => el("p", {class: c}, words)));
}
function drawChecks() {
  const box = $("checks");
  box.hidden = !scene.checks.length;
  box.replaceChildren(el("h2", {id: "h-checks"}, "Checks"), el("ol", {}, ...scene.checks.map(c => el("li", {}, el("span", {class: "mark", "aria-hidden": "true"}, "○"), el("span", {}, el("span", {class: "claim"}, c.claim || c.id), el("div", {class: "came"}))))));
}
function showChecks(m) {
  const list = document.querySelectorAll("#checks li");
  m.checks.forEach((s, i) => {
    const li = list[i], c = scene.checks[i];
    if (!li) return;
    set(li, "class", s.state || "open");
    put(li.firstChild, MARK[s.state] || "○");
    put(li.querySelector(".came"), s.state ? `${s.state.replace("-", " ")}: ${c.metric} is ${s.came}, accepted: ${c.accepted}` : `open${c.to_ps ? " until " + ms(c.to_ps) : ""}: ${c.metric}, accepted: ${c.accepted}`);
  });
}
// The workloads: a table for each, and a chart of their open flows.
const seconds = v => scaled(v, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
const number = v => known(v) ? String(v) : "–";
const WORK = [["open flows", w => number(w.open)], ["waiting for a source", w => number(w.waiting)], ["ended", w => number(w.ended)], ["rate", w => rate(w.rate)],
  ["FCT, median", w => seconds(w["completion.p50"])], ["slowdown, median", w => known(w["slowdown.p50"]) ? digits(w["slowdown.p50"]) : "–"], ["slowdown, 99 %", w => known(w["slowdown.p99"]) ? digits(w["slowdown.p99"]) : "–"]];
const ROUNDS = [["rounds", w => number(w.rounds)], ["round, mean", w => w.rounds ? seconds(w["round.mean"]) : "–"]];
const rowsOf = w => w.collective ? [...ROUNDS, ...WORK.filter(r => r[0] !== "waiting for a source")] : WORK;
function drawWorks() {
  const box = $("works"), works = scene.works || [];
  box.hidden = !works.length;
  box.replaceChildren(el("h2", {id: "h-works"}, works.length === 1 ? "Workload" : "Workloads"), ...works.flatMap(w => [el("h3", {}, w.name),
    el("table", {class: "table"}, el("tbody", {}, ...rowsOf(w).map(r => el("tr", {}, el("th", {scope: "row"}, r[0]), el("td", {})))))]));
}
function showWorks(m) {
  document.querySelectorAll("#works table").forEach((t, i) => {
    if (m.works[i]) t.querySelectorAll("td").forEach((td, k) => put(td, rowsOf(scene.works[i])[k][1](m.works[i].figures)));
  });
}
let flowRows = [];
function drawFlows() {
  $("flows").hidden = !scene.flows.length;
  const box = $("flows"), list = el("ul", {role: "listbox", "aria-labelledby": "h-flows", tabindex: "0"});
  flowRows = scene.flows.map((f, i) => el("li", {role: "option", id: "flow-" + i, "aria-selected": "false", onclick: () => { cursor = i; follow({flow: i}); }}, el("span", {}, f.name), el("span", {class: "v"})));
  list.append(...flowRows);
  let cursor = 0;
  list.addEventListener("keydown", e => {
    if (e.key === "ArrowDown") cursor = Math.min(flowRows.length - 1, cursor + 1);
    else if (e.key === "ArrowUp") cursor = Math.max(0, cursor - 1);
    else if (e.key === "Home") cursor = 0;
    else if (e.key === "End") cursor = flowRows.length - 1;
    else if (e.key !== "Enter") return;
    e.preventDefault();
    list.setAttribute("aria-activedescendant", "flow-" + cursor);
    flowRows[cursor].scrollIntoView({block: "nearest"});
    if (e.key === "Enter" || !followed || followed.flow !== cursor) follow({flow: cursor});
  });
  box.replaceChildren(el("h2", {id: "h-flows"}, count(scene.flows.length, "flow")), list);
}
function showFlows(m) {
  const box = $("flows").querySelector("ul"), top = box.scrollTop, from = Math.max(0, Math.floor(top / 24) - 2), to = Math.min(flowRows.length, from + 20);
  for (let i = from; i < to; i++) put(flowRows[i].lastChild, rate(m.rate[i]));
  flowRows.forEach((row, i) => set(row, "aria-selected", String(!!followed && followed.flow === i)));
}
function showActive(m) {
  const box = $("active"), list = m.active || [], key = JSON.stringify(list);
  box.hidden = !list.length;
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  box.replaceChildren(el("h2", {id: "h-active"}, list.length === 1 ? "Active fault" : "Active faults"),
    el("ul", {}, ...list.slice(0, 12).map(f => el("li", {}, f.text, el("span", {class: "came"}, " since " + ms(f.since_ps)))), list.length > 12 ? el("li", {}, "And " + (list.length - 12) + " more.") : null));
}
function showDone(m) {
  const box = $("done"), lines = m.done || [];
  box.hidden = !lines.length;
  const text = "events:\n" + lines.map(l => "  - " + l).join("\n") + "\n";
  if (!lines.length || box.dataset.text === text) return;
  box.dataset.text = text;
  box.replaceChildren(el("h2", {id: "h-done"}, "Your changes, for the scenario"), el("pre", {tabindex: "0"}, text), el("button", {type: "button", id: "copy", onclick: () => copy(text)}, "Copy"));
}
async function copy(text) {
  try { await navigator.clipboard.writeText(text); } catch {
    getSelection().selectAllChildren(document.querySelector("#done pre"));
    document.execCommand("copy");
  }
  put($("copy"), "Copied");
  setTimeout(() => $("copy") && put($("copy"), "Copy"), 1500);
}

// The charts.
let charts = [], chartsStale = true, x = [], groups = [], absent = [], zoomed = false; // zoomed: into a part of the time
const CHARTS = [
  {title: "Rate", get unit() { return rateUnit[1]; }, always: true, series: () => shown.map(name => ({label: name, colour: colourOf(name), of: m => toBits(sum(name, m.rate))})).concat((scene.works || []).map((w, i) => ({label: w.name, colour: tint(groups.length + i), of: m => m.works[i] ? toBits(m.works[i].figures.rate ?? null) : null})))},
  {title: "Open flows", unit: "flows", series: () => (scene.works || []).map((w, i) => ({label: w.name, colour: tint(i), of: m => m.works[i]?.figures.open ?? null}))},
  {title: "Queue", unit: "KB", levels: true, series: () => { const k = port(); return k < 0 ? [] : [{label: scene.lines[k].name, colour: tint(0), fill: true, of: m => scale(m.queue[k], 1e3)}]; }},
  {title: "Feedback", unit: "frames", steps: true, series: () => shown.map(name => ({label: name, colour: colourOf(name), of: m => sum(name, m.feedback)}))},
  {title: "Rate limiter", get unit() { return rateUnit[1]; }, series: () => { const k = limiter(); return k < 0 ? [] : [{label: scene.flows[k].name + ": limit", colour: tint(0), of: m => toBits(m.limit[k])}, {label: "target", colour: tint(1), dash: [5, 4], of: m => toBits(m.target[k])}]; }},
];
const toBits = v => known(v) ? inBits(v) : null;
const scale = (v, base) => known(v) ? v / base : null;
const members = name => { const g = groups.find(g => g.name === name); return g ? g.flows : []; };
function sum(name, values) { let s = 0, any = false; for (const k of members(name)) if (known(values[k])) { s += values[k]; any = true; } return any ? s : null; }
const tint = i => (night.matches ? OF_DARK : OF_LIGHT)[i % OF_LIGHT.length];
const colourOf = name => tint(Math.max(0, groups.findIndex(g => g.name === name)));
// port is the line whose queue is shown: the one that is followed, the longest on the path of the flow that is, or of the first
// victim that there has been, or the first root.
let lastPort = -1, spared = true; // spared: no victim was seen yet
const longest = (path, m) => m ? path.reduce((a, b) => (m.queue[b] || 0) > (m.queue[a] || 0) ? b : a, path[0]) : path[0];
function port() {
  if (followed && known(followed.line)) { spared = false; return lastPort = followed.line; }
  const m = moments[view];
  if (followed && known(followed.flow)) return longest(scene.flows[followed.flow].path, m);
  if (spared) for (const then of moments) {
    const r = then.roots.find(r => r.victims && r.victims.length);
    if (r) { spared = false; lastPort = longest(scene.flows[r.victims[0]].path, then); break; }
  }
  if (lastPort < 0 && m) lastPort = (m.roots.find(r => r.line >= 0) || {line: -1}).line;
  if (lastPort >= 0) return lastPort;
  const crossed = scene.lines.map((_, k) => scene.flows.filter(f => f.path.includes(k)).length);
  return crossed.indexOf(Math.max(...crossed));
}
function limiter() {
  if (followed && known(followed.flow)) return followed.flow;
  const g = groups.find(g => shown.includes(g.name)) || groups[0];
  return g ? g.flows[0] : -1;
}
function drawChips() {
  const byGroup = new Map();
  scene.flows.forEach((f, i) => (byGroup.get(f.group) || byGroup.set(f.group, []).get(f.group)).push(i));
  groups = [...byGroup].map(([name, flows]) => ({name, flows}));
  const few = groups.length > 8 ? groups.slice(0, 8) : groups;
  shown = few.map(g => g.name);
  $("chips").replaceChildren(...groups.slice(0, 24).map(g => {
    const b = el("button", {type: "button", class: "chip", "aria-pressed": String(shown.includes(g.name)), onclick: () => {
      shown = shown.includes(g.name) ? shown.filter(n => n !== g.name) : groups.map(g => g.name).filter(n => n === g.name || shown.includes(n));
      b.setAttribute("aria-pressed", String(shown.includes(g.name)));
      chartsStale = true; show();
    }}, g.name + (g.flows.length > 1 ? " ×" + g.flows.length : ""));
    b.style.setProperty("--c", colourOf(g.name));
    return b;
  }));
}
function makeCharts() {
  const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--soft").trim(), rule = style.getPropertyValue("--rule").trim(), stop = style.getPropertyValue("--stop").trim(), faint = style.getPropertyValue("--faint").trim();
  const width = wide($("charts"));
  for (const c of charts) c.plot.destroy();
  charts = [];
  $("charts").replaceChildren();
  // A chart without figures is left out until it has some.
  const all = CHARTS.map(c => ({...c, list: c.series()})), there = (c, s) => c.always || moments.some(m => s.of(m));
  absent = all.flatMap(c => c.list.filter(s => !there(c, s)));
  const made = all.map(c => ({...c, list: c.list.filter(s => !absent.includes(s))})).filter(c => c.list.length);
  made.forEach((c, i) => {
    const last = i === made.length - 1, k = c.levels ? port() : -1, levels = k < 0 ? [] : scene.lines[k].levels || [];
    const caption = el("figcaption", {}, el("span", {}, el("b", {}, c.title), " in " + c.unit + (c.levels ? ": what waits for " + scene.lines[k].name : c.title === "Rate limiter" ? ": " + scene.flows[limiter()].name : "")), el("span", {class: "now"}));
    const figure = el("figure", {role: "img", "aria-label": c.title}, caption);
    $("charts").append(figure);
    const axis = {stroke: ink, grid: {stroke: rule, width: 1}, ticks: {show: false}, font: "11px system-ui, sans-serif"};
    const plot = new uPlot({
      width, height: last ? 126 : 104, padding: [8, 26, last ? 0 : 4, 0], legend: {show: false},
      cursor: {sync: {key: "time"}, y: false, points: {show: false}, drag: {x: true, y: false}},
      scales: {x: {time: false}, y: {range: (_, low, high) => [0, Math.max(high * 1.08, levels.length ? levels[0].at / 1e3 * 1.15 : 0, 1e-9)]}},
      axes: [{...axis, show: last, size: 26, values: (_, v) => v.map(t => t + (t === v[v.length - 1] ? " ms" : ""))}, {...axis, size: (_, v) => Math.max(46, 14 + 6.5 * Math.max(0, ...(v || []).map(t => String(t).length))), space: 28}],
      series: [{}, ...c.list.map(s => ({label: s.label, stroke: s.colour, width: 1.8, dash: s.dash, fill: s.fill ? s.colour + "22" : undefined, paths: c.steps ? uPlot.paths.stepped({align: -1}) : undefined, points: {show: false}, spanGaps: false}))],
      hooks: {setSelect: [u => { if (u.select.width > 3) zoomed = true; }], draw: [u => {
        const x0 = u.bbox.left, w = u.bbox.width, y0 = u.bbox.top, h = u.bbox.height, g = u.ctx, dpr = devicePixelRatio || 1;
        g.save(); g.lineWidth = dpr; g.font = `${11 * dpr}px system-ui, sans-serif`;
        for (const l of levels) {
          const y = u.valToPos(l.at / 1e3, "y", true);
          if (y < y0) continue;
          g.strokeStyle = g.fillStyle = stop; g.setLineDash([4 * dpr, 4 * dpr]);
          g.beginPath(); g.moveTo(x0, y); g.lineTo(x0 + w, y); g.stroke();
          g.fillText(l.word, x0 + 4 * dpr, y - 3 * dpr);
        }
        g.setLineDash([1 * dpr, 3 * dpr]); g.strokeStyle = faint;
        for (const e of scene.events) {
          const at = u.valToPos(e.at_ps / 1e9, "x", true);
          if (at < x0 || at > x0 + w) continue;
          g.beginPath(); g.moveTo(at, y0); g.lineTo(at, y0 + h); g.stroke();
        }
        const m = moments[view];
        if (m && !live) {
          const at = u.valToPos(m.model_ps / 1e9, "x", true);
          g.setLineDash([]); g.strokeStyle = ink;
          g.beginPath(); g.moveTo(at, y0); g.lineTo(at, y0 + h); g.stroke();
        }
        g.restore();
      }]},
    }, [[], ...c.list.map(() => [])], figure);
    plot.over.addEventListener("dblclick", () => { zoomed = false; show(); });
    plot.over.addEventListener("click", () => { if (plot.cursor.idx !== null && plot.select.width < 3) goTo(plot.cursor.idx); });
    charts.push({plot, list: c.list, data: c.list.map(() => []), now: caption.lastChild, unit: c.unit});
  });
  x = []; zoomed = false;
  chartsStale = false;
}
// Charts are as wide as their column at once, before the browser paints a window of another size.
const wide = of => Math.max(200, of.clientWidth);
new ResizeObserver(() => { for (const {plot} of charts) if (plot.width !== wide($("charts"))) plot.setSize({width: wide($("charts")), height: plot.height}); }).observe($("charts"));
new ResizeObserver(() => { for (const s of sizes) if (s && s.plot.width !== wide($("sizes"))) s.plot.setSize({width: wide($("sizes")), height: s.plot.height}); }).observe($("sizes"));
function showCharts() {
  if (moments.slice(x.length).some(m => absent.some(s => s.of(m)))) chartsStale = true;
  if (chartsStale) makeCharts();
  for (let i = x.length; i < moments.length; i++) {
    x.push(moments[i].model_ps / 1e9);
    for (const c of charts) c.list.forEach((s, k) => c.data[k].push(s.of(moments[i])));
  }
  for (const c of charts) {
    c.plot.setData([x, ...c.data], !zoomed);
    if (zoomed) c.plot.redraw(false);
    put(c.now, c.list.length <= 4 ? c.list.map((s, k) => known(c.data[k][view]) ? (c.list.length > 1 ? s.label.replace(/^.*: /, "") + " " : "") + digits(c.data[k][view]) : "").filter(Boolean).join(", ") : "");
  }
}

// The slowdown over the size of flows, of the moment that is shown: a frame for each workload with several sizes. Each
// band of sizes has as many flows, and so the axis has the quantiles of the sizes.
const PERCENTILES = ["median", "95 %", "99 %"], FEW = [1, 1.2, 1.5, 2, 3, 5, 7, 10], MANY = [1, 10, 1e2, 1e3, 1e4, 1e5].flatMap(v => [v, 2 * v, 5 * v]);
let sizes = [], sizesStale = true; // by workload
function makeSizes(m) {
  const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--soft").trim(), rule = style.getPropertyValue("--rule").trim();
  for (const s of sizes) if (s) { s.plot.destroy(); s.figure.remove(); }
  sizes = m.works.map((w, i) => {
    if (!w.sizes) return null;
    const key = el("span", {}, ...PERCENTILES.map((name, k) => { const s = el("span", {class: "curve"}, name); s.style.setProperty("--c", tint(k)); return s; }));
    const bands = el("span", {}), figure = el("figure", {role: "img"}, el("figcaption", {}, el("span", {}, el("b", {}, scene.works[i].name), bands), key));
    $("sizes").append(figure);
    const s = {figure, bands, of: w.sizes}, width = wide($("sizes")), marks = [10, 5, 4].find(v => v <= width / 80) || 2;
    const n = () => s.of.borders.length - 1, at = k => Math.floor(k * n() / marks); // where a mark is, as a border
    const axis = {stroke: ink, grid: {stroke: rule, width: 1}, ticks: {show: false}, font: "11px system-ui, sans-serif"};
    s.plot = new uPlot({
      width, height: 190, padding: [8, 30, 0, 0], legend: {show: false}, cursor: {show: false},
      scales: {x: {time: false, range: [0, 1]}, y: {distr: 3, range: (_, low, high) => [Math.max(2, high) ** -.06, Math.max(2, high * 1.05)]}},
      axes: [{...axis, size: 26, splits: () => [...Array(marks + 1).keys()].map(k => at(k) / n()), values: (_, v) => v.map((_, k) => bytes(s.of.borders[at(k)]))},
        {...axis, size: 46, splits: u => (u.scales.y.max > 10 ? MANY : FEW).filter(v => v <= u.scales.y.max), filter: (_, v) => v, values: (_, v) => v.map(String)}],
      series: [{}, ...PERCENTILES.map((_, k) => ({stroke: tint(k), width: 1.8, points: {show: true, size: 6, fill: tint(k)}}))],
    }, [[], [], [], []], figure);
    return s;
  });
  sizesStale = false;
}
function showSizes(m) {
  const there = m.works.some(w => w.sizes);
  $("sizes").hidden = !there;
  if (!there) return;
  if (m.works.some((w, i) => !w.sizes !== !sizes[i])) sizesStale = true;
  const all = sizesStale;
  if (all) makeSizes(m);
  m.works.forEach((w, i) => {
    const s = sizes[i], of = w.sizes;
    if (!of || !all && String([s.of.borders, s.of.curves]) === String([of.borders, of.curves])) return;
    s.of = of;
    const n = of.borders.length - 1, last = of.curves[2];
    put(s.bands, `: ${n} bands of sizes with ${count(of.each, "flow")} each`);
    set(s.figure, "aria-label", `Slowdown of ${scene.works[i].name} by flow size, 99 %: ${digits(last[0])} of the least, ${digits(last[n - 1])} of the largest, ${digits(Math.max(...last))} at most.`);
    s.plot.setData([of.borders.slice(1).map((_, k) => (k + .5) / n), ...of.curves]);
  });
}

// The time.
function goTo(i) {
  live = i >= moments.length - 1 && !over && !scene.over;
  view = Math.max(0, Math.min(moments.length - 1, i));
  show();
}
function showTime(m) {
  const b = $("live"), s = $("scrub");
  const ended = scene.over || over || lost;
  b.setAttribute("aria-pressed", String(live && !ended));
  put(b, ended ? (live ? "At the end" : "To the end") : live ? "Live" : "Go live");
  s.max = moments.length - 1;
  if (+s.value !== view) s.value = view;
  const text = ms(m.model_ps);
  s.setAttribute("aria-valuetext", text);
  put($("at"), text);
  const save = $("save");
  save.hidden = !scene.saves;
  if (scene.saves) {
    const before = moments[Math.max(0, view - 5)].model_ps, after = moments[Math.min(moments.length - 1, view + 5)].model_ps;
    set(save, "href", `moment.pcapng?from=${before}&until=${after}`);
    set(save, "download", `moment-${(m.model_ps / 1e9).toFixed(3)}ms.pcapng`);
  }
}
$("scrub").addEventListener("input", e => goTo(+e.target.value));
$("live").addEventListener("click", () => { live = !live; if (live) view = moments.length - 1; show(); });
addEventListener("keydown", e => {
  if (e.key === " " && !/^(BUTTON|INPUT|A|SELECT)$/.test(e.target.tagName)) { $("live").click(); e.preventDefault(); }
});

// Showing: at most once per frame of the browser.
let due = false, chartsAt = 0, chartsDue = 0, frames = 0;
function show() {
  if (due || !scene) return;
  due = true;
  requestAnimationFrame(now => {
    due = false;
    frames++;
    const m = moments[view];
    if (!m) return;
    showStrip(m); showCause(m); showFabric(m); showWorks(m); showChecks(m); showFlows(m); showActive(m); showDone(moments[moments.length - 1]); updateFollowed(m); showTime(m); showSizes(m);
    if (chartsStale || !live || now - chartsAt > 240) { chartsAt = now; showCharts(); }
    else if (!chartsDue) chartsDue = setTimeout(() => { chartsDue = 0; show(); }, 250);
  });
}
let lineAt, flowAt; // indices by name
function begin(s) {
  scene = s; moments = []; view = -1; live = true; over = ""; lost = false; followed = null; lastPort = -1; spared = true;
  [lineAt, flowAt] = [s.lines, s.flows].map(all => new Map(all.map((x, i) => [x.name, i])));
  const fastest = 8 * Math.max(0, ...s.lines.map(l => l.rate));
  rateUnit = BITS.find(([b]) => fastest >= b) || BITS[1];
  document.title = s.name + " – fabemu";
  put($("name"), s.name);
  $("name").title = s.text || "";
  put($("k-stop"), s.lines.every(l => l.pauses) ? "paused" : s.lines.some(l => l.pauses) ? "paused, no credit" : "no credit");
  drawFabric(); drawChips(); drawWorks(); drawChecks(); drawFlows(); renderFollowed();
  chartsStale = sizesStale = true; zoomed = false;
}
function add(m) {
  m.works ||= []; m.waits ||= []; m.checks ||= [];
  m.dead = (m.deadlocks || []).map(d => ({words: d.words, lines: d.links.map(n => lineAt.get(n)).filter(known)}));
  m.roots = (m.roots || []).map(r => ({words: r.words, line: lineAt.get(r.link) ?? -1, node: r.link ? -1 : scene.nodes.findIndex(n => n.nodes.includes(r.node)), victims: (r.victims || []).map(n => flowAt.get(n))}));
  moments.push(m);
  if (moments.length > KEEP) {
    // The older half is thinned out: every second one goes, and the next has its feedback.
    const at = moments[view].model_ps;
    for (let i = 1; i < KEEP / 2; i += 2) moments[i + 1].feedback = moments[i + 1].feedback.map((v, k) => v + moments[i].feedback[k]);
    moments = moments.filter((_, i) => i >= KEEP / 2 || i % 2 === 0);
    view = moments.findIndex(m => m.model_ps >= at);
    chartsStale = true;
  }
  if (live) view = moments.length - 1;
  show();
}
function said(text) { const h = $("hint"); put(h, text); }
night.addEventListener("change", () => { if (!scene) return; document.querySelectorAll(".chip").forEach((b, i) => b.style.setProperty("--c", tint(i))); chartsStale = sizesStale = true; show(); });
let resized = 0;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => { resized = 0; if (!scene) return; offerZoom(); chartsStale = sizesStale = true; show(); }, 150); });

// For tests: how much was drawn, and how much is kept.
Object.defineProperty(window, "fabemu", {value: {get frames() { return frames; }, get moments() { return moments.length; }, get view() { return view; }, get followed() { return followed; }, get settled() { return !due && !chartsDue && !resized; }}});

// The page begins with the moments that it has in it, and then asks for those after them.
const d = JSON.parse($("data").textContent);
begin(d.scene);
(d.moments || []).forEach(add);
const still = () => { lost = true; said("The run as it was when this page was asked for."); };
if (d.still) still();
if (known(d.after)) addEventListener("load", async () => await hurried() ? still() : connect("moments?after=" + d.after));
// hurried reports whether time passes faster here than at the run. Programs that make a picture of a
// page let it pass like that, but only while nothing is asked for: they would wait for the run.
async function hurried() {
  const clock = async () => (await fetch("clock")).json(), span = 400;
  try {
    let at = await clock();
    for (let i = 0; i < 3; i++) {
      await new Promise(done => setTimeout(done, span));
      const now = await clock();
      if (now - at < span / 2) return true;
      at = now;
    }
  } catch { /* connect finds out */ }
  return false;
}
function connect(to) {
  const events = new EventSource(to);
  events.addEventListener("scene", e => begin(JSON.parse(e.data)));
  events.addEventListener("moment", e => { lost = false; add(JSON.parse(e.data)); });
  events.addEventListener("end", e => { over = e.data || "The run is over."; events.close(); said(over); show(); });
  events.onerror = () => {
    if (over) return;
    lost = true; said("The run does not answer. What is here stays."); show();
    events.close();
    setTimeout(() => connect("moments"), 3000); // from the beginning: it may be another run's answer
  };
}
})();
