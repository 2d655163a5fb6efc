// The page of `dovetail serve`: what is typed goes to POST /align, what comes back is drawn.

import { dictionaryTab } from "./dictionary.js";
import { drawLegend, drawPanels } from "./panels.js";
import { makeTabs } from "./tabs.js";
import { element, grouped, plural } from "./words.js";

const PAUSE = 200; // milliseconds without a key before the server is asked
const field = (id) => document.getElementById(id);
const { models, pairs } = JSON.parse(field("data").textContent);
const live = { view: models.length ? "align" : "dictionary", threshold: null, baseline: null, answer: null, panels: null, asked: 0, timer: 0 };

async function ask() {
  const source = field("source").value, target = field("target").value;
  keepAddress();
  if (!source.trim() || !target.trim()) {
    live.answer = null;
    field("panels").replaceChildren();
    return tell(source.trim() || target.trim() ? "Waiting for the other sentence." : "Type or paste a sentence and its translation.");
  }
  const mine = ++live.asked, began = performance.now();
  try {
    const response = await fetch("/align", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ source, target, posteriors: true }),
    });
    const answer = await response.json();
    if (mine !== live.asked) return; // something newer was typed
    if (!response.ok) return tell(`${answer.error}. ${answer.remedy ?? ""}`, true);
    live.answer = answer;
    tell(`Aligned in ${Math.round(performance.now() - began)} ms.`);
    drawAnswer();
  } catch {
    if (mine === live.asked) tell("The server does not answer. Is dovetail serve still running?", true);
  }
}

function tell(text, bad = false) {
  field("status").textContent = text;
  field("status").classList.toggle("bad", bad);
}

function drawAnswer() {
  if (!live.answer) return;
  const pairs = live.answer.models.map(answered);
  const sameWords = (a, b) => a.source.join("\0") === b.source.join("\0") && a.target.join("\0") === b.target.join("\0");
  const base = live.baseline === null ? null : pairs[live.baseline];
  const before = base && new Map(base.cells.map((cell) => [`${cell.i}-${cell.j}`, cell.p]));
  const shown = pairs.map((pair, s) => ({
    name: live.answer.models[s].name,
    facts: factsOf(live.answer.models[s], pair),
    pair,
    before: base && s !== live.baseline && sameWords(base, pair) ? before : null,
  }));
  live.panels = drawPanels(field("panels"), shown, field("reading"));
  drawLegend(field("legend"), { gold: false, difference: base !== null, graded: true });
}

function answered(model) {
  const taken = new Set(model.links.map(([i, j]) => `${i}-${j}`));
  const cells = [];
  model.posteriors.forEach((row, i) =>
    row.forEach((p, j) => {
      const given = taken.has(`${i}-${j}`);
      if (p < 0.01 && !given) return;
      cells.push({ i, j, p, taken: live.threshold === null ? given : p > live.threshold / 100, kind: "plain" });
    }),
  );
  const unseen = { source: new Set(model.unseen_source), target: new Set(model.unseen_target) };
  return { source: model.source, target: model.target, cells, missed: [], gold: null, unseen };
}

function factsOf(model, pair) {
  const parts = [`${pair.cells.filter((cell) => cell.taken).length} links`];
  if (model.certified !== undefined) parts.push(model.certified ? "proved optimal" : "not certified");
  const unseen = model.unseen_source.length + model.unseen_target.length;
  if (unseen) parts.push(`${unseen} word${unseen === 1 ? "" : "s"} never seen`);
  return parts.join(" · ");
}

function setLiveThreshold(threshold) {
  live.threshold = threshold;
  field("threshold-value").textContent = threshold === null ? "as decoded" : (threshold / 100).toFixed(2);
  field("threshold-box").classList.toggle("given", threshold === null);
  drawAnswer();
}

// ---- the dictionary, which the server looks up in the whole text

async function lookedUp(address, asked) {
  let response;
  try {
    response = await fetch(`/${address}?${new URLSearchParams(asked)}`);
  } catch {
    throw new Error("The server does not answer. Is dovetail serve still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.error}. ${answer.remedy ?? ""}`);
  return answer;
}

const words = dictionaryTab({
  ask: {
    words: async (text) => (await lookedUp("words", { text })).words,
    translations: (word, side) => lookedUp("translations", { word, side }),
    places: (word, translation, side, start) => lookedUp("places", { word, translation, side, start }),
  },
  open: openPair,
  changed: keepAddress,
});

// A pair of the text, in the place of the places: back again, or on to the models.
async function openPair(hit, side) {
  const host = field("places"), before = [...host.childNodes], place = host.scrollTop;
  const { number, source, target, links, probabilities } = await lookedUp("pair", { number: hit.pair });
  const back = element("button", {}, "‹ Places");
  const drawn = element("div", { class: "panels" }), said = element("p", { class: "reading", "aria-live": "polite" });
  const bar = element("div", { class: "detail-bar" }, back, element("h2", {}, `Pair ${grouped(number)}`), element("span", { class: "facts" }, `${source.length} × ${target.length} words`));
  if (models.length) {
    const ours = element("button", {}, "Align with the models");
    ours.addEventListener("click", () => alignThese(source, target));
    bar.append(element("span", { class: "spring" }), ours);
  }
  back.addEventListener("click", () => {
    host.replaceChildren(...before);
    host.scrollTop = place;
    before.flatMap((node) => [...(node.querySelectorAll?.(".to-pair") ?? [])]).find((button) => button.dataset.pair === String(number))?.focus();
    live.textPair = null;
  });
  host.replaceChildren(bar, drawn, said);
  host.scrollTop = 0;
  const cells = links.map(([i, j], k) => ({ i, j, p: probabilities[k], taken: true, kind: "plain" }));
  live.textPair = drawPanels(drawn, [{ name: "text", facts: plural(links.length, "link"), pair: { source, target, cells, missed: [], gold: null }, before: null }], said);
  const [i] = side === "source" ? hit.here : hit.there; // the focus lights it up, with its partners
  drawn.querySelector(`.token[data-i="${i}"]`)?.focus();
}

function alignThese(source, target) {
  field("source").value = source.join(" ");
  field("target").value = target.join(" ");
  showLive("align");
  ask();
}

// ---- tabs and the address

const showLiveTab = makeTabs(["align", "dictionary"], showLive);

function showLive(name) {
  live.view = name;
  showLiveTab(name);
  field("threshold-box").hidden = name !== "align";
  if (name === "align") live.panels?.again();
  keepAddress();
}

function keepAddress() {
  const source = field("source").value, target = field("target").value;
  const parts = new URLSearchParams(source || target ? { source, target } : {});
  if (live.view === "dictionary") {
    const { word, side, translation } = words.place;
    parts.set("view", "dictionary");
    if (word) parts.set("word", word), parts.set("side", side);
    if (word && translation) parts.set("with", translation);
  }
  history.replaceState(null, "", `#${parts}`);
}

field("tabs").hidden = pairs === null || !models.length;
if (pairs !== null) field("about-words").textContent = `Links of all ${plural(pairs, "pair")} of the text.`;

for (const id of ["source", "target"]) {
  field(id).addEventListener("input", () => {
    clearTimeout(live.timer);
    live.timer = setTimeout(ask, PAUSE);
  });
}
field("typed").addEventListener("submit", (event) => event.preventDefault());
field("swap").addEventListener("click", () => {
  [field("source").value, field("target").value] = [field("target").value, field("source").value];
  ask();
});
field("threshold").addEventListener("input", (event) => setLiveThreshold(Number(event.target.value)));
field("as-given").addEventListener("click", () => setLiveThreshold(null));
field("baseline").append(element("option", { value: "" }, "–"), ...models.map((name, s) => element("option", { value: s }, name)));
field("baseline-box").hidden = models.length < 2;
field("baseline").addEventListener("change", (event) => {
  live.baseline = event.target.value === "" ? null : Number(event.target.value);
  drawAnswer();
});
window.addEventListener("resize", () => (live.view === "align" ? live.panels : live.textPair)?.again());

const typedBefore = new URLSearchParams(location.hash.slice(1));
for (const id of ["source", "target"]) field(id).value = typedBefore.get(id) ?? "";
if (pairs !== null && typedBefore.get("view") === "dictionary") live.view = "dictionary";
const lookedFor = { word: typedBefore.get("word"), side: typedBefore.get("side") === "target" ? "target" : "source", translation: typedBefore.get("with") ?? "" };
if (pairs !== null && lookedFor.word) words.look(lookedFor);
setLiveThreshold(null);
showLive(live.view);
if (models.length) ask();
if (live.view === "align") field("source").focus();
else words.focus();
