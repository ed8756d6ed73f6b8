"""The look of a fleet's page, and the script of its table: a hundred rows at a time, whatever their number."""

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1f2328; --dim: #59636e; --line: #d1d9e0; --box: #f6f8fa;
  --bad: #b3261e; --good: #1a7f37; --bar: #0969da; --rest: #d1d9e0; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --dim: #9198a1; --line: #3d444d;
  --box: #151b23; --bad: #ff7b72; --good: #3fb950; --bar: #58a6ff; --rest: #3d444d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--back); color: var(--text);
  font: 1rem/1.6 system-ui, "Noto Sans", "Noto Sans CJK JP", "Hiragino Sans", "Yu Gothic", "Malgun Gothic",
  "Microsoft YaHei", "PingFang SC", sans-serif; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
header p { margin: .2rem 0; } .dim { color: var(--dim); }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 1rem 0; flex: 1 1 20rem; }
svg { width: 100%; height: auto; } figure rect { fill: var(--bar); }
.groups svg { height: 1rem; } .groups th { min-width: 5.5rem; } .groups td:nth-child(2) { width: 28%; }
@media (min-width: 40rem) { .groups td:nth-child(2) { width: 14rem; } .groups td:last-child { width: 50%; } }
.all { fill: var(--rest); } .good { fill: var(--good); } .range { stroke: var(--text); stroke-width: 2; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td, tbody th { overflow-wrap: anywhere; }
.causes td:not(:last-child), .groups td:last-child, td.passed, td.failed, td.unchecked { overflow-wrap: normal; }
td div { overflow-wrap: anywhere; }
#body td:nth-child(1) { min-width: 9rem; } #body td:nth-child(2) { min-width: 13rem; }
#body td:nth-child(3) { min-width: 5rem; } #body a, #body td:last-child { white-space: nowrap; }
 td.number, th.number { text-align: right; white-space: nowrap; }
th button { font: inherit; font-weight: 600; background: none; border: 0; padding: 0; color: inherit; cursor: pointer; }
.controls { display: flex; gap: .5rem; align-items: center; flex-wrap: wrap; margin: .5rem 0; }
input, select, .controls button { font: inherit; color: inherit; background: var(--box);
  border: 1px solid var(--line); border-radius: 6px; padding: .35rem .7rem; }
#search { flex: 1 1 12rem; } .passed { color: var(--good); } .failed { color: var(--bad); }
a { color: var(--bar); } :focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
"""

SCRIPT = """
const pageSize = 100;
const columns = [["task", 0], ["result", 2], ["group", 3], ["time", 4, 1], ["cost", 5, 1], ["requests", 6, 1],
  ["tokens", 7, 1], ["changed", 8]];
const find = id => document.getElementById(id);
const state = row => row[1] === true ? "passed" : row[1] === false ? "failed" : "unchecked";
const filled = (text, values) => text.replace(/\\{(\\w+)\\}/g, (whole, name) => values[name] ?? whole);
let shown = rows, first = 0, sorted = -1, direction = 1;
const node = (name, text, kind) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
};
const link = (text, to) => {
  const made = node("a", text);
  made.href = to.split("/").map(encodeURIComponent).join("/");
  return made;
};
const draw = () => {
  const body = find("body");
  body.replaceChildren(...shown.slice(first, first + pageSize).map(row => {
    const line = node("tr");
    const about = node("td", row[0]);
    for (const [text, to] of [[words.patch, row[9]], [words.session, row[10]]])
      if (to) about.append(" ", link(text, to));
    const result = node("td", words[state(row)], state(row));
    const why = [row[2] === "done" ? "" : row[2], row[11]].filter(Boolean).join(": ");
    if (why) result.append(node("div", why, "dim"));
    line.append(about, result, node("td", row[3]), node("td", row[4].toFixed(1), "number"),
      node("td", row[5] === null ? "" : row[5].toFixed(4), "number"), node("td", row[6], "number"),
      node("td", row[7].toLocaleString(), "number"), node("td", row[8]));
    return line;
  }));
  const last = Math.min(first + pageSize, shown.length);
  find("place").textContent = filled(words.place, {first: shown.length ? first + 1 : 0, last, count: shown.length});
  find("before").disabled = first === 0;
  find("after").disabled = last >= shown.length;
};
const choose = () => {
  const wanted = find("search").value.trim().toLowerCase(), only = find("state").value;
  shown = rows.filter(row => (!only || state(row) === only) &&
    (!wanted || `${row[0]} ${row[2]} ${row[3]} ${row[11]}`.toLowerCase().includes(wanted)));
  if (sorted >= 0) shown.sort((a, b) => (a[sorted] > b[sorted] ? 1 : a[sorted] < b[sorted] ? -1 : 0) * direction);
  first = 0;
  draw();
};
for (const [name, at, isNumber] of columns) {
  const cell = node("th", undefined, isNumber ? "number" : "");
  cell.scope = "col";
  const button = node("button", words[name]);
  button.type = "button";
  button.title = filled(words.sort, {column: words[name]});
  button.addEventListener("click", () => {
    direction = sorted === at ? -direction : 1;
    sorted = at;
    for (const other of find("head").children) other.removeAttribute("aria-sort");
    cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    choose();
  });
  cell.append(button);
  find("head").append(cell);
}
for (const value of ["", "passed", "failed", "unchecked"]) {
  const option = node("option", words[value || "all"]);
  option.value = value;
  find("state").append(option);
}
find("search").addEventListener("input", choose);
find("state").addEventListener("change", choose);
find("before").addEventListener("click", () => { first = Math.max(0, first - pageSize); draw(); });
find("after").addEventListener("click", () => { first += pageSize; draw(); });
draw();
"""
