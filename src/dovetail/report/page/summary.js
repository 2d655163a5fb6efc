// The whole text at a glance: scores with intervals, the curve, fertilities, the words that go wrong most often.

import { barChart, curveChart, scoreTable } from "./charts.js";
import { systemSign } from "./panels.js";
import { curve, errorsByWord, fertilities, goldFertilities, intervals, metrics } from "./scores.js";
import { element, grouped, isolated, percent } from "./words.js";

const SAMPLES = 1000;
const LARGEST = 6; // fertilities from here on share a bar

export const METRICS = { aer: "AER", precision: "Precision", recall: "Recall", f1: "F1" };

// `tallies`: of each system at the threshold; `act`: {threshold(t), find(word), side}.
export function drawSummary(host, corpus, tallies, state, withIntervals, act) {
  const cards = [];
  const card = (title, note, ...parts) =>
    cards.push(element("section", { class: "card" }, element("h2", {}, title), note ? element("p", { class: "note" }, note) : null, ...parts));
  if (corpus.gold) {
    card("Scores", `${grouped(corpus.gold.number)} pairs with gold links. Below each score its 95 per cent interval, from ${grouped(SAMPLES)} resamples of the pairs.`, scores(corpus, tallies, withIntervals));
    card("Precision and recall", "Each curve runs over all thresholds; its sign stands where the links are now. Click on a curve to go there.", curves(corpus, tallies, act));
  } else {
    card("Links", "Without gold links nothing can be scored: pass --gold FILE.", linkCounts(corpus, tallies));
  }
  card("Fertility", null, sides(state, act), fertilityBars(corpus, state));
  if (corpus.gold) card("Most frequent errors", "Of the system that is chosen above; a word leads to its pairs.", sides(state, act), errors(corpus, state, act));
  host.replaceChildren(element("div", { class: "cards" }, ...cards));
}

function named(corpus, s) {
  return element("th", { scope: "row" }, systemSign(s), isolated(corpus.systems[s].name));
}

function scores(corpus, tallies, withIntervals) {
  const rows = tallies.map((tally, s) => {
    const values = metrics(tally.counts), ranges = withIntervals ? intervals(tally.statistics, SAMPLES) : null;
    const cells = Object.keys(METRICS).map((name) => {
      const range = element("small", {}, ranges ? `${percent(ranges[name][0])}–${percent(ranges[name][1])}` : "…");
      return element("td", { "data-metric": name, "data-value": values[name] }, percent(values[name], name === "aer" ? 2 : 1), range);
    });
    return element("tr", {}, named(corpus, s), ...cells, element("td", {}, grouped(tally.counts[0]), element("small", {}, `${grouped(tally.total)} in all`)));
  });
  return element("div", { class: "scroll" }, scoreTable(["", ...Object.values(METRICS), "Links"], rows));
}

function linkCounts(corpus, tallies) {
  return scoreTable(["", "Links", "a pair"], tallies.map((tally, s) =>
    element("tr", {}, named(corpus, s), element("td", {}, grouped(tally.total)), element("td", {}, (tally.total / Math.max(1, corpus.pairs)).toFixed(2)))));
}

function curves(corpus, tallies, act) {
  corpus.curves ??= corpus.systems.map((system) => (system.graded ? curve(corpus, system) : []));
  return curveChart(corpus.curves.map((points, s) => ({ s, points, now: metrics(tallies[s].counts) })), act.threshold);
}

function sides(state, act) {
  const button = (side, label) => element("button", { "aria-pressed": state.side === side, onclick: () => act.side(side) }, label);
  return element("div", { class: "switch", role: "group", "aria-label": "Which words" }, button("source", "source words"), button("target", "target words"));
}

function fertilityBars(corpus, state) {
  const pairs = corpus.gold ? { first: corpus.gold.start, last: corpus.gold.start + corpus.gold.pairs } : { first: 0, last: corpus.pairs };
  const series = corpus.systems.map((system, s) => ({ s, name: system.name, values: fertilities(corpus, system, state.threshold, state.side, pairs, LARGEST) }));
  if (corpus.gold) series.push({ s: null, name: "gold, sure links", values: goldFertilities(corpus, state.side, LARGEST) });
  const groups = [...Array(LARGEST + 1).keys()].map((k) => (k === LARGEST ? `${k}+` : `${k}`));
  const legend = element("p", { class: "legend" }, ...series.map(({ s, name }) => element("span", { class: "entry" }, s === null ? element("i", { class: "gold-sign" }) : systemSign(s), isolated(name))));
  return element("div", {}, barChart(groups, series, "Fertility"), legend);
}

function errors(corpus, state, act) {
  const found = errorsByWord(corpus, corpus.systems[state.active], state.threshold, state.side);
  if (!found.length) return element("p", { class: "note" }, "No errors.");
  const rows = found.map(({ word, wrong, missed, sure, partners }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, element("button", { class: "word", title: "Show its pairs with errors", onclick: () => act.find(word) }, isolated(word))),
      element("td", { class: "wrong" }, wrong ? `✗ ${wrong}` : ""),
      element("td", { class: "missed" }, missed ? `○ ${missed} of ${sure}` : ""),
      element("td", { class: "partners" }, ...partners.flatMap(([partner, count], k) => [k ? ", " : "", partner[0] + " ", isolated(partner.slice(1)), count > 1 ? ` ×${count}` : ""])),
    ));
  return element("div", { class: "scroll" }, scoreTable(["Word", "Wrong", "Missed", "With"], rows, "errors"));
}
