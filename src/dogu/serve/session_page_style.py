"""The look of an exported session, and the few lines of script by which it can be searched."""

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1f2328; --dim: #59636e; --line: #d1d9e0; --box: #f6f8fa;
  --add: #dafbe1; --del: #ffebe9; --hunk: #ddf4ff; --bad: #c62828; --good: #1a7f37; --you: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --dim: #9198a1; --line: #3d444d;
  --box: #151b23; --add: #12361f; --del: #47181c; --hunk: #10233d; --bad: #ff7b72; --good: #3fb950; --you: #79c0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 64rem; background: var(--back); color: var(--text);
  font: 1rem/1.6 system-ui, "Noto Sans", "Noto Sans CJK JP", "Hiragino Sans", "Yu Gothic", "Malgun Gothic",
  "Microsoft YaHei", "PingFang SC", sans-serif; overflow-wrap: anywhere; }
header p, .dim, summary small { color: var(--dim); }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; color: var(--dim); border-top: 1px solid var(--line);
  padding-top: 1rem; margin-top: 2rem; }
pre { font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono CJK JP", monospace;
  white-space: pre-wrap; background: var(--box); border: 1px solid var(--line); border-radius: 6px;
  padding: .6rem .8rem; margin: .4rem 0; max-height: 40rem; overflow: auto; }
p.dim { white-space: pre-wrap; }
.text { white-space: pre-wrap; margin: .6rem 0; }
.prompt { white-space: pre-wrap; margin: .6rem 0; padding: .6rem .8rem; border-left: 4px solid var(--you);
  background: var(--box); }
details { margin: .4rem 0; } details details { margin-left: 1rem; }
summary { cursor: pointer; } summary code { font-size: .9rem; }
.ok { color: var(--good); } .bad { color: var(--bad); }
.diff { padding: .6rem 0; } .diff span { display: block; padding: 0 .8rem; min-height: 1.5em; }
.diff .add { background: var(--add); } .diff .del { background: var(--del); } .diff .hunk { background: var(--hunk); }
img { max-width: 100%; }
#search { width: 100%; padding: .5rem; font: inherit; border: 1px solid var(--line); border-radius: 6px;
  background: var(--back); color: inherit; position: sticky; top: .5rem; }
#search:not(.on) { display: none; }
@media print { details { display: block; } #search { display: none; } pre { max-height: none; } }
"""

SCRIPT = """
const box = document.getElementById("search");
box.classList.add("on");
const items = [...document.querySelectorAll("[data-item]")].map(node =>
  [node, node.textContent.toLowerCase(), node.open]);
box.addEventListener("input", () => {
  const wanted = box.value.trim().toLowerCase();
  for (const [node, text, wasOpen] of items) {
    const fits = !wanted || text.includes(wanted);
    node.hidden = !fits;
    if (node.tagName === "DETAILS") node.open = wanted ? fits : wasOpen;
  }
  for (const turn of document.querySelectorAll("section"))
    turn.hidden = Boolean(wanted) && !turn.querySelector("[data-item]:not([hidden])");
});
"""
