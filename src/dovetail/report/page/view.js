// The page of `dovetail view`: what is chosen, what follows from it, and who must be told.

import { goldOf, hasGold, openCorpus, wordsOf, NOT_GOLD } from "./data.js";
import { dictionaryTab } from "./dictionary.js";
import { finder, hitWords } from "./finder.js";
import { pageLexicon } from "./lexicon.js";
import { pairList, rowLine } from "./list.js";
import { drawLegend, drawPanels, showParts, systemSign } from "./panels.js";
import { disagreements, doubts, linkTest, metrics, rareWords, STEPS, tally } from "./scores.js";
import { METRICS, drawSummary } from "./summary.js";
import { makeTabs } from "./tabs.js";
import { element, grouped, isolated, percent, plural } from "./words.js";

const byId = (id) => document.getElementById(id);
const corpus = openCorpus(JSON.parse(byId("data").textContent));
byId("data").remove(); // what was unpacked need not be kept twice

const state = {
  threshold: null, // hundredths, or null: links as given
  active: 0, // the system that sorting and error counts speak of
  baseline: null, // the system that matrices are compared with
  query: "",
  filters: new Set(),
  rare: 1,
  sort: "number",
  reversed: false,
  selected: 0,
  view: "pairs", // or "dictionary" or "summary"
  side: "source",
  parts: "both", // "links", "matrix" or "both"
};

const facts = { doubts: doubts(corpus), rare: rareWords(corpus, state.rare) }; // besides those of `recount`
const graded = corpus.systems.some((system) => system.graded);
const pairFinder = finder(corpus, state, facts);
const FILTERS = pairFinder.filters, SORTS = pairFinder.sorts;

const list = pairList(byId("list"), fillRow, (n) => choose(n, { open: true }));
let panels = null;

// Everything that follows from the threshold.
function recount() {
  facts.tallies = corpus.systems.map((system) => tally(corpus, system, state.threshold));
  facts.different = disagreements(corpus, state.threshold);
}

// ---- the list

function find() {
  const found = pairFinder.find();
  list.show(found);
  byId("found").textContent = found.length === corpus.pairs ? plural(corpus.pairs, "pair") : `${grouped(found.length)} of ${plural(corpus.pairs, "pair")}`;
  byId("list").classList.toggle("nothing", !found.length);
}

function fillRow(row, n) {
  const badges = [];
  const badge = (kind, text, title) => badges.push(element("span", { class: `badge ${kind}`, title }, text));
  const { wrong, missed, links } = facts.tallies[state.active];
  if (hasGold(corpus, n)) {
    if (wrong[n]) badge("wrong", `✗ ${wrong[n]}`, "wrong links");
    if (missed[n]) badge("missed", `○ ${missed[n]}`, "sure links missed");
    if (!wrong[n] && !missed[n]) badge("right", "✓", "no errors");
  }
  if (facts.different[n]) badge("different", `≠ ${facts.different[n]}`, "links that not all systems have");
  if (facts.doubts.many[n]) badge("uncertain", `~ ${facts.doubts.errors[n].toFixed(1)}`, "errors that are to be expected: more per word than in four of five pairs");
  if (pairFinder.unproved(n)) badge("unproved", "unproved", "not certified to be optimal");
  row.replaceChildren(
    element("div", { class: "row-head" }, element("span", { class: "number" }, `#${n + 1}`), element("span", { class: "badges" }, ...badges), element("span", { class: "count" }, plural(links[n], "link"))),
    ...[corpus.source, corpus.target].map((side) => {
      const words = wordsOf(side, n);
      return rowLine(words, hitWords(words, state.query));
    }),
  );
}

// ---- the pair

function shownPair(s, n) {
  const system = corpus.systems[s], test = linkTest(corpus, system, state.threshold), gold = goldOf(corpus, n);
  const cells = [], taken = new Set();
  for (let k = system.offsets[n]; k < system.offsets[n + 1]; k++) {
    const cell = { i: system.i[k], j: system.j[k], p: system.p[k] / corpus.scale, taken: test(k) };
    cell.kind = gold ? (system.mark[k] === NOT_GOLD ? "wrong" : "right") : "plain";
    if (cell.taken) taken.add(`${cell.i}-${cell.j}`);
    cells.push(cell);
  }
  const missed = (gold ?? []).filter((link) => link.sure && !taken.has(`${link.i}-${link.j}`));
  return { source: wordsOf(corpus.source, n), target: wordsOf(corpus.target, n), cells, missed, gold };
}

const signed = (value) => value.toFixed(2).replace("-", "−");

function pairFacts(s, n) {
  const { links, wrong, missed, statistics } = facts.tallies[s], parts = [plural(links[n], "link")];
  const system = corpus.systems[s];
  if (hasGold(corpus, n)) {
    const at = 4 * (n - corpus.gold.start), { precision, recall } = metrics(statistics.slice(at, at + 4));
    parts.push(`P ${percent(precision, 0)} R ${percent(recall, 0)}`, `✗ ${wrong[n]} ○ ${missed[n]}`);
  }
  if (system.score && Number.isFinite(system.score[n])) parts.push(`score ${signed(system.score[n])} a word`);
  if (system.certified && system.certified[n] < 2) parts.push(system.certified[n] ? "proved optimal" : "not certified");
  return parts.join(" · ");
}

function drawPair() {
  const n = state.selected;
  if (n >= corpus.pairs) return;
  byId("pair-name").textContent = `Pair ${grouped(n + 1)}`;
  const sizes = [corpus.source, corpus.target].map((side) => side.offsets[n + 1] - side.offsets[n]);
  byId("pair-facts").textContent = `${sizes[0]} × ${sizes[1]} words`;
  const pairs = corpus.systems.map((_, s) => shownPair(s, n));
  const before = state.baseline === null ? null : new Map(pairs[state.baseline].cells.map((cell) => [`${cell.i}-${cell.j}`, cell.p]));
  const shown = corpus.systems.map((system, s) => ({ name: system.name, facts: pairFacts(s, n), pair: pairs[s], before: s === state.baseline ? null : before }));
  byId("reading").replaceChildren();
  panels = drawPanels(byId("panels"), shown, byId("reading"));
  markFound();
  drawLegend(byId("legend"), { gold: hasGold(corpus, n), difference: before !== null, graded });
}

// The words that were searched for.
function markFound() {
  for (const line of byId("panels").querySelectorAll(".line")) {
    const tokens = [...line.querySelectorAll(".token")], found = hitWords(tokens.map((token) => token.textContent), state.query);
    tokens.forEach((token, n) => token.classList.toggle("found", found.has(n)));
  }
}

// ---- strip, slider, filters

function drawStrip() {
  const entries = corpus.systems.map((system, s) => {
    const { total, counts } = facts.tallies[s], parts = [systemSign(s), isolated(system.name)];
    if (counts) {
      const values = metrics(counts);
      for (const name in METRICS) parts.push(element("span", { class: "score", "data-metric": name, "data-value": values[name] }, element("small", {}, METRICS[name].replace("Precision", "P").replace("Recall", "R")), percent(values[name], name === "aer" ? 2 : 1)));
    }
    parts.push(element("span", { class: "score", "data-links": total }, element("small", {}, "links"), grouped(total)));
    const chosen = s === state.active;
    return element("button", { class: "system", "aria-pressed": chosen, title: "Sorting and error counts speak of this system", onclick: () => activate(s) }, ...parts);
  });
  byId("strip").replaceChildren(...entries);
}

function drawThreshold() {
  const given = state.threshold === null;
  byId("threshold-value").textContent = given ? "as given" : (state.threshold / STEPS).toFixed(2);
  byId("threshold-box").classList.toggle("given", given);
  if (!given) byId("threshold").value = state.threshold;
}

function drawFilters() {
  const chips = Object.entries(FILTERS).filter(([name, filter]) => name !== "gold" || !filter.missing).map(([name, filter]) => {
    let count = 0;
    if (!filter.missing) for (let n = 0; n < corpus.pairs; n++) count += filter.test(n);
    return element(
      "button",
      { class: "chip", id: `filter-${name}`, "aria-pressed": state.filters.has(name), disabled: Boolean(filter.missing), title: filter.missing || filter.title || null, onclick: () => toggle(name) },
      filter.label,
      filter.missing ? null : element("small", {}, grouped(count)),
    );
  });
  const rare = element("input", { type: "number", id: "rare", min: 0, max: 99, value: state.rare, "aria-label": "A word is rare if it was seen at most this often" });
  rare.addEventListener("change", () => {
    state.rare = Math.max(0, Number(rare.value) || 0);
    facts.rare = rareWords(corpus, state.rare);
    drawFilters();
    find();
  });
  const limit = element("label", { class: "limit", title: corpus.trained ? "in the model's training text" : "in this text" }, "rare: at most ", rare, " times");
  byId("filters").replaceChildren(...chips, limit);
}

// ---- what a person does

function setThreshold(threshold) {
  state.threshold = threshold === null ? null : Math.min(STEPS - 1, Math.max(1, Math.round(threshold)));
  recount();
  drawThreshold();
  drawStrip();
  drawFilters();
  aboutWords();
  find();
  list.select(state.selected, false);
  if (state.view === "pairs") drawPair();
  else if (state.view === "dictionary") dictionary.again();
  else {
    showSummary(false); // intervals take their time: they come when the slider rests
    clearTimeout(resting);
    resting = setTimeout(showSummary, 150, true);
  }
  remember();
}

let resting = 0;

function activate(s) {
  if (s >= corpus.systems.length) return;
  state.active = s;
  drawStrip();
  find();
  if (state.view === "summary") showSummary();
  if (state.view === "dictionary") {
    aboutWords();
    dictionary.again();
  }
}

function toggle(name) {
  if (!state.filters.delete(name)) state.filters.add(name);
  byId(`filter-${name}`).setAttribute("aria-pressed", state.filters.has(name));
  list.top();
  find();
  settle();
}

// After another choice of pairs: keep the pair if it is still there, else take the first.
function settle() {
  if (list.order.length && !list.order.includes(state.selected)) choose(list.order[0], { open: false });
  else {
    list.select(state.selected, true);
    drawPair();
  }
}

function choose(n, { open }) {
  state.selected = n;
  list.select(n, true);
  if (open) document.body.classList.add("reading-pair");
  drawPair();
  remember();
}

function step(by) {
  const { order } = list;
  if (!order.length) return;
  const place = order.indexOf(state.selected);
  choose(order[Math.min(order.length - 1, Math.max(0, place < 0 ? 0 : place + by))], { open: false });
}

const showTab = makeTabs(["pairs", "dictionary", "summary"], showView);

function showView(name) {
  state.view = name;
  showTab(name);
  if (name === "summary") showSummary();
  else if (name === "dictionary") {
    aboutWords();
    dictionary.again();
  } else {
    find();
    list.select(state.selected, true);
    drawPair();
  }
  remember();
}

// ---- the dictionary: of the chosen system's links, at the threshold

let known = null;

function lexicon() {
  const key = `${state.active} ${state.threshold}`;
  if (known?.key !== key) known = { key, ...pageLexicon(corpus, corpus.systems[state.active], state.threshold) };
  return known;
}

const dictionary = dictionaryTab({
  ask: {
    words: (...asked) => lexicon().words(...asked),
    translations: (...asked) => lexicon().translations(...asked),
    places: (...asked) => lexicon().places(...asked),
  },
  open(hit, side) {
    showView("pairs");
    choose(hit.pair - 1, { open: true });
    const [i] = side === "source" ? hit.here : hit.there; // the focus lights it up, with its partners
    byId("panels").querySelector(`.panel[data-system="${state.active}"] .token[data-i="${i}"]`)?.focus();
  },
  changed: remember,
});

function aboutWords() {
  const parts = ["Links of ", isolated(corpus.systems[state.active].name)];
  if (corpus.systems[state.active].graded && state.threshold !== null) parts.push(` over ${(state.threshold / STEPS).toFixed(2)}`);
  parts.push(corpus.all > corpus.pairs ? ` in the first ${grouped(corpus.pairs)} of ${plural(corpus.all, "pair")}: no more fit on this page. dovetail serve looks through all of them.` : ` in all ${plural(corpus.pairs, "pair")}.`);
  byId("about-words").replaceChildren(...parts);
}

function lookUp(token) {
  showView("dictionary");
  dictionary.look({ word: token.textContent, side: "i" in token.dataset ? "source" : "target" });
  dictionary.focus();
}

function showSummary(withIntervals = true) {
  if (state.view !== "summary") return;
  drawSummary(byId("summary"), corpus, facts.tallies, state, withIntervals, {
    threshold: setThreshold,
    side(side) {
      state.side = side;
      showSummary();
    },
    find(word) {
      state.filters = new Set(["errors"]);
      byId("search").value = state.query = word;
      drawFilters();
      showView("pairs");
      settle();
    },
  });
}

const PARTS = ["both", "links", "matrix"];

function setParts(parts) {
  state.parts = parts;
  byId("parts").replaceChildren(...PARTS.map((name) => element("button", { "aria-pressed": name === parts, onclick: () => setParts(name) }, name)));
  showParts(byId("panels"), parts);
  panels?.again();
}

function nextParts() {
  setParts(PARTS[(PARTS.indexOf(state.parts) + 1) % PARTS.length]);
}

function setBaseline(s) {
  state.baseline = s;
  byId("baseline").value = s === null ? "" : String(s);
  drawPair();
  remember();
}

// ---- the address: #pair=17&threshold=0.30&view=summary

function remember() {
  const parts = [`pair=${state.selected + 1}`];
  if (state.threshold !== null) parts.push(`threshold=${(state.threshold / STEPS).toFixed(2)}`);
  if (state.baseline !== null) parts.push(`baseline=${state.baseline + 1}`);
  if (state.view !== "pairs") parts.push(`view=${state.view}`);
  if (state.view === "dictionary" && dictionary.place.word) {
    const { word, side, translation } = dictionary.place;
    parts.push(new URLSearchParams({ word, side, ...(translation && { with: translation }) }).toString());
  }
  const address = `#${parts.join("&")}`;
  if (location.hash !== address) history.replaceState(null, "", address);
}

function restore() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const pair = Number(asked.get("pair"));
  if (Number.isInteger(pair) && pair >= 1 && pair <= corpus.pairs) {
    state.selected = pair - 1;
    document.body.classList.add("reading-pair");
  }
  const threshold = asked.has("threshold") ? Number(asked.get("threshold")) : NaN;
  state.threshold = graded && threshold > 0 && threshold < 1 ? Math.round(threshold * STEPS) : null;
  const baseline = Number(asked.get("baseline"));
  state.baseline = corpus.systems.length > 1 && baseline >= 1 && baseline <= corpus.systems.length ? baseline - 1 : null;
  state.view = ["summary", "dictionary"].includes(asked.get("view")) ? asked.get("view") : "pairs";
  Object.assign(dictionary.place, {
    word: asked.get("word") ?? dictionary.place.word,
    side: asked.get("side") === "target" ? "target" : "source",
    translation: asked.get("with") ?? "",
  });
}

function start() {
  restore();
  recount();
  byId("baseline").value = state.baseline === null ? "" : String(state.baseline);
  drawThreshold();
  drawStrip();
  drawFilters();
  showView(state.view);
}

// ---- listening

byId("threshold").addEventListener("input", (event) => setThreshold(Number(event.target.value)));
byId("as-given").addEventListener("click", () => setThreshold(null));
byId("threshold-box").hidden = !graded;
byId("search").addEventListener("input", (event) => {
  state.query = event.target.value;
  list.top();
  find();
  settle();
});
for (const [name, sort] of Object.entries(SORTS)) if (!sort.missing) byId("sort").append(element("option", { value: name }, sort.label));
byId("sort").addEventListener("change", (event) => {
  state.sort = event.target.value;
  list.top();
  find();
  list.select(state.selected, false);
});
byId("reverse").addEventListener("click", () => {
  state.reversed = !state.reversed;
  byId("reverse").setAttribute("aria-pressed", state.reversed);
  byId("reverse").textContent = state.reversed ? "↓" : "↑";
  list.top();
  find();
});
byId("baseline").append(element("option", { value: "" }, "–"), ...corpus.systems.map((system, s) => element("option", { value: s }, system.name)));
byId("baseline-box").hidden = corpus.systems.length < 2;
byId("baseline").addEventListener("change", (event) => setBaseline(event.target.value === "" ? null : Number(event.target.value)));
byId("previous").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
byId("back").addEventListener("click", () => {
  document.body.classList.remove("reading-pair");
  list.select(state.selected, true);
});
byId("panels").addEventListener("dblclick", (event) => event.target.matches(".token") && lookUp(event.target));
byId("panels").addEventListener("keydown", (event) => event.key === "Enter" && event.target.matches(".token") && lookUp(event.target));
byId("help-button").addEventListener("click", () => byId("help").showModal());
drawLegend(byId("signs"), { gold: true, difference: true, graded: true });

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  Home: () => step(-corpus.pairs),
  End: () => step(corpus.pairs),
  "/": () => (state.view === "dictionary" ? dictionary.focus() : byId("search").focus()),
  "?": () => byId("help").showModal(),
  "[": () => graded && setThreshold((state.threshold ?? 50) - 5),
  "]": () => graded && setThreshold((state.threshold ?? 50) + 5),
  0: () => setThreshold(null),
  s: () => showView(state.view === "summary" ? "pairs" : "summary"),
  w: () => {
    showView(state.view === "dictionary" ? "pairs" : "dictionary");
    if (state.view === "dictionary") dictionary.focus();
  },
  m: () => nextParts(),
  d: () => corpus.systems.length > 1 && setBaseline(state.baseline === null ? 0 : null),
  Escape: () => leave(),
};

function leave() {
  const search = byId("search");
  if (document.activeElement === search) return byId("list").focus();
  if (state.query) {
    search.value = state.query = "";
    find();
    settle();
  } else document.body.classList.remove("reading-pair");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const typing = event.target.matches?.("input, select, textarea");
  if (typing && event.key !== "Escape" && !(event.target.id === "search" && event.key.startsWith("Arrow") && /Up|Down/.test(event.key))) return;
  if (/^[1-9]$/.test(event.key)) return activate(Number(event.key) - 1);
  if (!Object.hasOwn(KEYS, event.key)) return;
  if (state.view !== "pairs" && /^(Arrow|Home|End|[jk])/.test(event.key)) return; // these scroll there
  event.preventDefault();
  KEYS[event.key]();
});

window.addEventListener("hashchange", start);
let width = innerWidth;
window.addEventListener("resize", () => {
  if (innerWidth !== width) panels?.again();
  width = innerWidth;
});
document.fonts?.ready.then(() => panels?.again()); // words are as wide as their letters

setParts(state.parts);
start();
// For tests and for the curious: the page's own numbers.
window.dovetail = { corpus, state, facts, metrics: (s) => metrics(facts.tallies[s].counts), setThreshold, choose: (n) => choose(n, { open: true }) };
