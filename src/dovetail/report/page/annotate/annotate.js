// The editor of `dovetail annotate`: one pair at a time, drawn as words with lines and as a matrix; each change is saved at once.

import { ask, Saving } from "./saving.js";
import { keyOf, SheetOfCells } from "./sheet.js";
import { Threads } from "./threads.js";
import { element, grouped, isolated, plural } from "../words.js";

const part = (id) => document.getElementById(id);
const facts = JSON.parse(part("data").textContent);
const editor = { pair: null, tool: "sure", range: "", asked: 0 };
const remembered = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};

function parsed(text) {
  const links = new Map();
  for (const link of text.split(" ").filter(Boolean)) {
    const [, i, mark, j] = link.match(/^(\d+)([-?])(\d+)$/);
    links.set(keyOf(Number(i), Number(j)), mark === "-" ? "sure" : "possible");
  }
  return links;
}

function written(links) {
  const sorted = [...links].map(([key, kind]) => [...key.split("-").map(Number), kind]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return sorted.map(([i, j, kind]) => `${i}${kind === "sure" ? "-" : "?"}${j}`).join(" ");
}

function tell(text, bad = false) {
  part("status").textContent = text;
  part("status").classList.toggle("bad", bad);
}

const saving = new Saving(`dovetail-annotate-${facts.identity}`, ({ saved, conflict, refused, lost, pair, state }) => {
  const here = editor.pair?.number === pair;
  if (lost) return tell("Not saved: the server does not answer. Trying again; nothing is lost as long as this page is open.", true);
  if (saved) {
    if (here && state && !saving.pending(pair)) adopt(state);
    if (!saving.waiting.length) tell("Saved.");
    if (state) showProgress();
    return;
  }
  tell(conflict ? `Pair ${pair} was changed elsewhere${state.who ? " by " + state.who : ""} meanwhile: this is how it stands.` : `Not saved: ${refused}.`, true);
  if (here) show(pair, true);
});

// What the server says of the pair on the page.
function adopt(state) {
  const { pair } = editor;
  Object.assign(pair, { links: parsed(state.links), finished: state.finished, undo: state.undo, redo: state.redo, who: state.who, when: state.when });
  refresh();
}

function query(extra = {}) {
  const [first, last] = limitsOf(editor.range) ?? [1, null];
  const fields = { ...extra, first, ...(last === null ? {} : { last }) };
  return new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

// [first, last] of 1-500 or 501-; null for something else.
function limitsOf(text) {
  const found = text.trim().match(/^(\d{1,9})\s*[-–]\s*(\d{0,9})$/);
  if (!found || Number(found[1]) < 1) return null;
  const last = found[2] ? Number(found[2]) : null;
  return last !== null && last < Number(found[1]) ? null : [Number(found[1]), last];
}

async function go(way) {
  try {
    const { ok, answer } = await ask(`/go/${way}?${query({ pair: editor.pair?.number })}`);
    if (!ok) return tell(`${answer.error}. ${answer.remedy}`, true);
    if (answer.pair === null) return tell({ next: "This is the last pair.", previous: "This is the first pair." }[way] ?? "All pairs are finished.");
    if (answer.pair === editor.pair?.number) return tell(way === "doubtful" || way === "open" ? "No other pair is open." : "");
    await show(answer.pair);
  } catch {
    tell("The server does not answer. Is dovetail annotate still running?", true);
  }
}

async function show(number, quiet = false) {
  const mine = ++editor.asked;
  try {
    const { ok, answer } = await ask(`/pairs/${number}`);
    if (mine !== editor.asked) return; // another one was asked for meanwhile
    if (!ok) {
      part("number").value = editor.pair?.number ?? "";
      return tell(`${answer.error}. ${answer.remedy}`, true);
    }
    const inMatrix = part("matrix").contains(document.activeElement), inWords = part("words").contains(document.activeElement);
    if (!saving.pending(number)) saving.versions.set(number, answer.version);
    editor.pair = {
      number,
      source: answer.source,
      target: answer.target,
      cells: new Map(answer.cells.map(([i, j, p]) => [keyOf(i, j), p])),
      links: parsed(answer.links),
      start: answer.links,
      suggested: answer.suggested, // what Reset goes back to
      finished: answer.finished,
      undo: answer.undo,
      redo: answer.redo,
      who: answer.who,
      when: answer.when,
    };
    const unsaved = saving.waiting.filter((change) => change.pair === number && change.action === "set").at(-1);
    if (unsaved) editor.pair.links = parsed(unsaved.links);
    if (!quiet) tell("");
    part("number").value = number;
    threads.draw(editor.pair);
    cells.draw(editor.pair);
    threads.place(); // once more: the matrix took its room
    point(null);
    refresh();
    if (inMatrix) cells.focusHere();
    else if (inWords) threads.focusHere();
    remember();
    await showProgress();
  } catch (problem) {
    if (!(problem instanceof TypeError)) throw problem;
    tell("The server does not answer. Is dovetail annotate still running?", true);
  }
}

function remember() {
  const address = new URLSearchParams({ pair: editor.pair.number, ...(editor.range ? { pairs: editor.range } : {}) });
  history.replaceState(null, "", `#${address}`);
}

// Everything that follows from the pair's links and its state.
function refresh() {
  const { pair } = editor;
  threads.update();
  cells.update();
  const counts = [...pair.links.values()];
  const possible = counts.filter((kind) => kind === "possible").length;
  const links = `${plural(counts.length, "link")}${possible ? `, ${grouped(possible)} possible` : ""}`;
  const by = pair.who && pair.when ? ` by ${pair.who}` : "";
  part("mark").textContent = pair.finished ? `✓ finished${by} · ${links}` : pair.when ? `begun${by} · ${links}` : links;
  part("mark").classList.toggle("finished", pair.finished);
  part("undo").disabled = !pair.undo && !saving.pending(pair.number);
  part("redo").disabled = !pair.redo;
  part("restart").disabled = written(pair.links) === pair.suggested;
  part("finish").textContent = pair.finished ? "Reopen" : "Finished";
  part("finish").title = pair.finished ? "Not finished after all (f)" : "Finished: on to the next open pair (f)";
}

async function showProgress() {
  const { ok, answer } = await ask(`/progress?${query()}`);
  if (!ok) return;
  part("progress").max = answer.pairs;
  part("progress").value = answer.finished;
  part("progress-text").textContent = `${grouped(answer.finished)} of ${grouped(answer.pairs)} finished`;
  part("progress-text").title = `${plural(answer.begun, "pair")} begun`;
}

function change(action, links) {
  const { pair } = editor;
  if (!pair) return Promise.resolve();
  tell("Saving …");
  return saving.add({ pair: pair.number, action, links: links ?? "", start: pair.start, who: part("who").value.trim() });
}

// `kind` null: no link.
function act(places, kind) {
  const { pair } = editor;
  const before = written(pair.links);
  for (const [i, j] of places) {
    if (kind === null) pair.links.delete(keyOf(i, j));
    else pair.links.set(keyOf(i, j), kind);
  }
  const now = written(pair.links);
  if (now === before) return;
  const saved = change("set", now);
  refresh();
  point({ i: places.at(-1)[0], j: places.at(-1)[1] });
  return saved;
}

function restart() {
  const { pair } = editor;
  if (!pair || written(pair.links) === pair.suggested) return;
  pair.links = parsed(pair.suggested);
  change("set", pair.suggested);
  refresh();
}

async function finish() {
  const { pair } = editor;
  if (!pair) return;
  const { finished } = pair;
  await change(finished ? "reopen" : "finish");
  if (!finished && pair.finished && editor.pair === pair) await go("open");
}

// What the pointer or the focus is on: both drawings light up, and one line says it in words.
function point(cell) {
  const { pair } = editor;
  threads.light(cell?.i, cell?.j);
  cells.light(cell?.i, cell?.j);
  const said = [];
  if (cell?.i !== undefined) said.push(isolated(pair.source[cell.i]));
  if (cell?.i !== undefined && cell?.j !== undefined) said.push(" – ");
  if (cell?.j !== undefined) said.push(isolated(pair.target[cell.j]));
  if (cell?.i !== undefined && cell?.j !== undefined) {
    const key = keyOf(cell.i, cell.j), kind = pair.links.get(key), p = pair.cells.get(key);
    said.push(kind ? `: ${kind} link` : ": no link");
    if (facts.suggests) said.push(`, model ${p === undefined ? "under 0.01" : p.toFixed(2)}`);
  }
  part("reading").replaceChildren(...said);
}

function setTool(tool) {
  editor.tool = tool;
  for (const name of ["sure", "possible"]) part(name).setAttribute("aria-pressed", String(name === tool));
}

function setRange(text) {
  if (text.trim() && !limitsOf(text)) {
    part("range").setAttribute("aria-invalid", "true");
    return tell("A range is written 1-500, or 501- to the end.", true);
  }
  part("range").removeAttribute("aria-invalid");
  editor.range = text.trim();
  if (editor.pair) remember();
  showProgress();
  tell("");
}

const tools = { act, look: point, toolOf: () => editor.tool, tell };
const threads = new Threads(part("words"), tools);
const cells = new SheetOfCells(part("matrix"), tools);

part("matrix").addEventListener("click", (event) => cells.tap(event));
part("previous").addEventListener("click", () => go("previous"));
part("next").addEventListener("click", () => go("next"));
part("doubtful").addEventListener("click", () => go("doubtful"));
part("sure").addEventListener("click", () => setTool("sure"));
part("possible").addEventListener("click", () => setTool("possible"));
part("undo").addEventListener("click", () => change("undo"));
part("redo").addEventListener("click", () => change("redo"));
part("restart").addEventListener("click", restart);
part("finish").addEventListener("click", finish);
part("help-button").addEventListener("click", () => part("help").showModal());
part("number").addEventListener("change", () => {
  const number = Number(part("number").value.replace(/\D/g, ""));
  if (number) show(number);
});
part("number").addEventListener("keydown", (event) => event.key === "Enter" && part("number").blur());
part("range").addEventListener("change", () => setRange(part("range").value));
part("who").addEventListener("change", () => {
  try {
    localStorage.setItem(`dovetail-annotate-who-${facts.identity}`, part("who").value.trim());
  } catch {
    // then it is asked for again next time
  }
});

const KEYS = {
  j: () => go("next"),
  k: () => go("previous"),
  d: () => go("doubtful"),
  f: finish,
  r: restart,
  s: () => setTool("sure"),
  p: () => setTool("possible"),
  g: () => part("number").select(),
  m: () => cells.focusHere(),
  w: () => threads.focusHere(),
  "?": () => part("help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.target.matches?.("input") || part("help").open) return;
  if (event.ctrlKey || event.metaKey) {
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    change(key === "y" || event.shiftKey ? "redo" : "undo");
  } else if (!event.altKey && KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  }
});
window.addEventListener("resize", () => editor.pair && threads.place());
window.addEventListener("beforeunload", (event) => saving.waiting.length && event.preventDefault());

function legend() {
  const entry = (sign, meaning) => element("span", { class: "entry" }, element("span", { class: sign, "aria-hidden": "true" }), meaning);
  part("legend").append(entry("swatch sure", "sure link"), entry("swatch possible", "possible link"));
  if (facts.suggests) part("legend").append(entry("swatch-dot", "area: the model's probability"));
}

async function open() {
  legend();
  part("gold").textContent = facts.gold;
  part("who").value = remembered(`dovetail-annotate-who-${facts.identity}`) || facts.who;
  if (!facts.suggests) {
    part("doubtful").textContent = "Next open"; // nobody is there to doubt
    part("doubtful").title = "The next pair that is not finished (d)";
  }
  const address = new URLSearchParams(location.hash.slice(1));
  if (limitsOf(address.get("pairs") ?? "")) editor.range = part("range").value = address.get("pairs");
  saving.send();
  const number = Number(address.get("pair"));
  if (number) await show(number);
  if (!editor.pair) await go("open");
  if (!editor.pair) await go("next"); // all are finished: look at the first
}
open();
