"use strict";
// The page of a memory. Everything it shows is put in as text; nothing of it is ever run.

const WORDS = {
  en: {
    search: "Search the memory", graph: "Links", all: "all", empty: "Nothing here yet.",
    nothing: "Nothing found.", from: "Where this comes from",
    pick: "Click a line to see where it comes from.",
    unknown: "No line of its sources says the same.", nosource: "It names no source.",
    inlinks: "Linked from", cut: "Only the beginning is shown; the file has {} bytes.",
    made: "{} files, as of {}", left: "{} not shown", undated: "without a date", calls: "called",
    picture: "(a picture: {})",
  },
  zh: {
    search: "搜索记忆", graph: "链接图", all: "全部", empty: "这里还没有内容。",
    nothing: "没有找到。", from: "出处", pick: "点击一行，查看它的出处。",
    unknown: "来源中没有说同样内容的行。", nosource: "没有注明来源。", inlinks: "链接自",
    cut: "只显示开头；文件共 {} 字节。", made: "{} 个文件，截至 {}", left: "{} 个未显示",
    undated: "无日期", calls: "调用", picture: "（图片：{}）",
  },
};
const LAYERS = ["digest", "daily", "session", "resource", "other"];
const ROW = 56;
const PIECE = 200;
const LINK = /\[\[([^\[\]|#\n]+?)(#[^\[\]|\n]+?)?(?:\\?\|([^\[\]\n]+))?\]\]/g;
const SHOWN_SOURCES = 3;
const DEEPEST = 3;

const $ = (id) => document.getElementById(id);
const state = { page: null, files: [], byPath: new Map(), rows: [], layer: "all", open: null, drawing: 0 };
let words = WORDS.en;

function say(key, ...values) {
  const left = [...values];
  return words[key].replace(/\{\}/g, () => String(left.shift()));
}

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "click") node.addEventListener("click", value);
    else if (value !== undefined) node.setAttribute(key, value);
  }
  fill(node, children);
  return node;
}

/** One by one: a call takes only so many arguments, and a line may have a hundred thousand marks. */
function fill(node, children) {
  for (const child of children) Array.isArray(child) ? fill(node, child) : node.append(child);
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// ---- what the files say -------------------------------------------------------------------------

function layerOf(path) {
  const top = path.split("/")[0];
  if (top === "memory") return "daily";
  return LAYERS.includes(top) && path.includes("/") ? top : "other";
}

function prepare(page) {
  state.page = page;
  state.images = new Map(Object.entries(page.images));
  words = WORDS[page.language] || WORDS.en;
  for (const file of page.files) {
    file.layer = layerOf(file.path);
    file.title = file.name || file.path.split("/").pop();
    file.inlinks = [];
    file.links = file.links || [];
    state.byPath.set(file.path, file);
  }
  for (const file of page.files)
    for (const target of file.links) state.byPath.get(target)?.inlinks.push(file.path);
  state.files = page.files.sort(
    (a, b) => (b.date || "").localeCompare(a.date || "") || a.path.localeCompare(b.path),
  );
}

/** The lines of a file: number, text, and who said it where it is a log. */
function linesOf(file) {
  if (file.lines) return file.lines;
  let fence = "";
  const plain = (text, i) => {
    const mark = /^ {0,3}(```|~~~)/.exec(text)?.[1];
    const isCode = Boolean(fence || mark);
    if (mark && (!fence || fence === mark)) fence = fence ? "" : mark;
    return { number: i + 1, text, isCode };
  };
  file.lines = file.turns
    ? file.turns.map((turn) => ({ number: turn.line, text: turn.text, turn }))
    : file.text.replace(/\n$/, "").split("\n").map(plain);
  return file.lines;
}

function wordsOf(text) {
  const found = new Set();
  for (const run of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []) {
    const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(run);
    if (!unspaced || run.length < 2) found.add(run);
    else for (let i = 0; i + 1 < run.length; i++) found.add(run.slice(i, i + 2));
  }
  return found;
}

// ---- search -------------------------------------------------------------------------------------

function haystack(file) {
  file.low ??= `${file.path}\n${file.name || ""}\n${file.description || ""}\n${(file.tags || [])
    .join(" ")}\n${linesOf(file).map((line) => line.text).join("\n")}`.toLowerCase();
  return file.low;
}

function found(query) {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = state.files.filter((f) => state.layer === "all" || f.layer === state.layer);
  if (!wanted.length) return shown;
  const scored = [];
  for (const file of shown) {
    const text = haystack(file);
    if (!wanted.every((word) => text.includes(word))) continue;
    const head = `${file.title} ${file.description || ""}`.toLowerCase();
    const layer = LAYERS.length - LAYERS.indexOf(file.layer);
    const points = wanted.reduce(
      (sum, word) => sum + (head.includes(word) ? 8 : 0) + Math.min(5, text.split(word).length),
      layer,
    );
    scored.push([points, file]);
  }
  return scored.sort((a, b) => b[0] - a[0]).map(([, file]) => file);
}

// ---- the timeline: only the rows in sight exist ---------------------------------------------------

function refreshRows() {
  state.rows = found($("query").value);
  if (!$("graph").hidden) drawSoon();
  $("rows").style.height = `${state.rows.length * ROW}px`;
  $("timeline").scrollTop = 0;
  drawRows();
}

function drawRows() {
  const top = $("timeline").scrollTop;
  const first = Math.max(0, Math.floor(top / ROW) - 5);
  const last = Math.ceil((top + $("timeline").clientHeight) / ROW) + 5;
  const rows = state.rows.slice(first, last).map((file, i) => {
    const row = make(
      "button",
      { type: "button", class: `row ${file.layer}`, click: () => open(file.path), title: file.path },
      make("b", {}, file.title),
      make("small", {}, `${file.date || say("undated")} · ${file.description || file.path}`),
    );
    row.style.top = `${(first + i) * ROW}px`;
    row.dataset.path = file.path;
    if (file === state.open) row.setAttribute("aria-current", "true");
    return row;
  });
  const none = state.files.length ? say("nothing") : say("empty");
  $("rows").replaceChildren(...(rows.length ? rows : [make("p", { class: "row" }, none)]));
}

// ---- one document ---------------------------------------------------------------------------------

/** The text with its links; in code they are examples. */
function linked(text, isCode) {
  const parts = [];
  let at = 0;
  for (const match of isCode ? [] : text.matchAll(LINK)) {
    if (text.slice(0, match.index).split("`").length % 2 === 0) continue;
    parts.push(marked(text.slice(at, match.index)), link(match[1], match[3] || match[0]));
    at = match.index + match[0].length;
  }
  return [...parts, marked(text.slice(at))];
}

function link(path, text) {
  if (Object.hasOwn(state.page.images, path)) return make("span", { title: path }, text);
  if (!state.byPath.has(path)) return make("a", { class: "missing", title: path }, text);
  return make("a", { title: path, click: (event) => (event.stopPropagation(), open(path)) }, text);
}

function marked(text) {
  const wanted = $("query").value.trim().split(/\s+/).filter(Boolean);
  if (!wanted.length) return [text];
  const escaped = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return text
    .split(new RegExp(`(${escaped.join("|")})`, "gi"))
    .map((piece, i) => (i % 2 ? make("mark", {}, piece) : piece));
}

function shownLine(file, line, aimed) {
  const body = make("div");
  if (line.turn) {
    const { name, time, calls } = line.turn;
    const called = calls.length ? ` · ${say("calls")} ${calls.join(", ")}` : "";
    body.append(make("span", { class: "who" }, `${name} ${time.replace("T", " ")}${called}`), "\n");
    for (const path of line.turn.images) body.append(picture(path));
  }
  fill(body, linked(line.text, line.isCode));
  for (const match of line.text.matchAll(/!\[\[([^\]|#]+)/g))
    if (state.images.has(match[1])) body.append(picture(match[1]));
  const told = !file.turns && line.number >= (file.body || 1) && line.text.trim();
  const row = make(
    "div",
    { class: `line${told ? " statement" : ""}${aimed ? " aimed" : ""}`, id: `L${line.number}` },
    make("span", {}, String(line.number)),
    body,
  );
  if (told) row.addEventListener("click", () => choose(file, line, row));
  return row;
}

function picture(path) {
  const source = state.images.get(path);
  return source ? make("img", { src: source, alt: path }) : say("picture", path);
}

function open(path, number) {
  const file = state.byPath.get(path);
  if (!file) return;
  state.open = file;
  $("graph").hidden = true;
  $("graph-button").setAttribute("aria-pressed", "false");
  const facts = [file.path, file.date, ...(file.tags || []).map((tag) => `#${tag}`)];
  const about = [make("h2", {}, file.title), make("p", { class: "facts" }, facts.filter(Boolean).join(" · "))];
  if (file.cut) about.push(make("p", { class: "facts" }, say("cut", file.cut.toLocaleString())));
  if (file.inlinks.length) {
    const from = file.inlinks.flatMap((other) => [" ", link(other, other)]);
    about.push(make("p", { class: "facts" }, `${say("inlinks")}:`, from));
  }
  $("document").replaceChildren(...about);
  drawLines(file, number, 0, ++state.drawing);
  $("document").scrollTop = 0;
  if (number) $(`L${number}`)?.scrollIntoView({ block: "center" });
  else $("trail").replaceChildren(make("p", {}, say("pick")));
  drawRows();
}

/** Lines in pieces: the first ones and those up to the wanted line now, the others in a while. */
function drawLines(file, number, from, drawing) {
  if (state.drawing !== drawing) return; // another document was opened meanwhile
  const lines = linesOf(file);
  let at = from;
  do {
    const shown = lines.slice(at, at + PIECE);
    const piece = shown.map((line) => shownLine(file, line, line.number === number));
    $("document").append(make("div", { class: "piece" }, piece));
    at += PIECE;
  } while (at < lines.length && number && lines[at].number <= number);
  if (at < lines.length) setTimeout(() => drawLines(file, undefined, at, drawing));
}

// ---- where a line comes from ----------------------------------------------------------------------

/** The files a line rests on: those it names itself, else those its file names. */
function sourcesOf(file, line) {
  const named = [...line.text.matchAll(LINK)].map((match) => match[1]);
  const known = (paths) => [...new Set(paths)].filter((path) => state.byPath.has(path) && path !== file.path);
  const own = known(named).filter((path) => layerOf(path) !== "digest");
  return own.length ? own : known(file.links).filter((path) => layerOf(path) !== "digest");
}

/** The lines of the sources that say most nearly the same, best first. */
function saidIn(paths, text) {
  const wanted = wordsOf(text.replace(LINK, " ").replace(/\((?:observed|until)[^)]*\)/g, " "));
  const lines = paths.flatMap((path) => {
    const file = state.byPath.get(path);
    return linesOf(file)
      .filter((line) => line.number >= (file.body || 1))
      .map((line) => ({ file, line, words: (line.words ??= wordsOf(line.text)) }));
  });
  const holding = new Map();
  for (const word of wanted)
    holding.set(word, lines.reduce((sum, one) => sum + one.words.has(word), 0));
  for (const one of lines) {
    one.points = 0;
    for (const word of wanted)
      if (one.words.has(word)) one.points += Math.log(1 + lines.length / holding.get(word));
    one.points /= Math.sqrt(20 + one.words.size);
  }
  lines.sort((a, b) => b.points - a.points);
  const best = lines.length ? lines[0].points : 0;
  return lines.filter((one) => one.points > 0 && one.points >= best / 2).slice(0, SHOWN_SOURCES);
}

function choose(file, line, row) {
  document.querySelectorAll(".line.chosen").forEach((other) => other.classList.remove("chosen"));
  row.classList.add("chosen");
  $("trail").replaceChildren(make("h3", {}, say("from")), ...steps(file, line, 0));
}

function steps(file, line, depth) {
  const paths = sourcesOf(file, line);
  if (!paths.length) return depth ? [] : [make("p", {}, say("nosource"))];
  const said = saidIn(paths, line.text);
  if (!said.length) {
    const links = paths.flatMap((path) => [link(path, path), "\n"]);
    return [make("div", { class: "step" }, make("p", {}, say("unknown")), make("p", {}, ...links))];
  }
  return said.map((one) => {
    const place = `${one.file.path}:${one.line.number}`;
    const go = make("a", { "data-place": place, click: () => open(one.file.path, one.line.number) }, place);
    const who = one.line.turn ? `${one.line.turn.name} ${one.line.turn.time.replace("T", " ")}\n` : "";
    const next = depth + 1 < DEEPEST && !one.file.turns ? steps(one.file, one.line, depth + 1) : [];
    return make("div", { class: "step" }, go, make("p", {}, who + one.line.text), ...next);
  });
}

// ---- beginning ----------------------------------------------------------------------------------------

function chooseLayer(layer, buttons) {
  state.layer = layer;
  for (const button of buttons)
    button.setAttribute("aria-pressed", String(button.dataset.layer === layer));
  refreshRows();
}

function begin(page) {
  prepare(page);
  $("title").textContent = page.title;
  $("query").placeholder = say("search");
  $("query").setAttribute("aria-label", say("search"));
  $("graph-button").textContent = say("graph");
  const left = page.left_out.length ? ` · ${say("left", page.left_out.length)}` : "";
  $("footer").textContent = say("made", page.files.length, page.made) + left;
  $("footer").title = page.left_out.join("\n");
  const present = ["all", ...LAYERS.filter((layer) => state.files.some((f) => f.layer === layer))];
  const buttons = present.map((layer) =>
    make("button", { type: "button", "data-layer": layer, click: () => chooseLayer(layer, buttons) },
      layer === "all" ? say("all") : layer));
  $("layers").append(...buttons);
  let waiting = 0;
  $("query").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refreshRows, 80);
  });
  $("timeline").addEventListener("scroll", drawRows);
  $("graph-button").addEventListener("click", () => {
    $("graph").hidden = !$("graph").hidden;
    $("graph-button").setAttribute("aria-pressed", String(!$("graph").hidden));
    if (!$("graph").hidden) layOut();
  });
  listenToGraph();
  chooseLayer("all", buttons);
  const first = state.files.find((file) => file.layer === "digest") || state.files[0];
  if (first) open(first.path);
  document.body.dataset.ready = "yes";
}

unpack($("memory").textContent).then(begin).catch((error) => {
  $("document").textContent = `This browser cannot show the page: ${error}`;
  throw error;
});
