// Which pairs the list shows, and in which order.

import { hasGold, wordsOf } from "./data.js";
import { DOUBTFUL } from "./scores.js";
import { percent } from "./words.js";

const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]/; // scripts that write no spaces

// One letter may be spelt in several ways; none of them should be missed.
export function folded(text) {
  return text.normalize("NFC").toLowerCase();
}

// Which of a sentence's words a query touches: places in `words`.
export function hitWords(words, query) {
  const wanted = folded(query.trim()), hits = new Set();
  if (!wanted || wanted.startsWith("#")) return hits;
  const space = UNSPACED.test(wanted) ? "" : " ", needle = space ? wanted : wanted.replaceAll(" ", "");
  const starts = [];
  let text = "";
  for (const word of words) {
    starts.push(text.length);
    text += folded(word) + space;
  }
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) {
    words.forEach((_, n) => {
      const end = n + 1 < starts.length ? starts[n + 1] : text.length;
      if (starts[n] < at + needle.length && end - space.length > at) hits.add(n);
    });
  }
  return hits;
}

// Filters, orders and search over a corpus; `state` says which are chosen, `facts` holds the counts they look at.
export function finder(corpus, state, facts) {
  const graded = corpus.systems.some((system) => system.graded);
  const proofs = corpus.systems.filter((system) => system.certified);
  const unproved = (n) => proofs.some((system) => system.certified[n] === 0);
  const errorsOf = (n, s = state.active) => facts.tallies[s].wrong[n] + facts.tallies[s].missed[n];
  const lengthOf = (n) => corpus.source.offsets[n + 1] - corpus.source.offsets[n] + corpus.target.offsets[n + 1] - corpus.target.offsets[n];

  const filters = {
    disagreements: { label: "Disagreements", test: (n) => facts.different[n] > 0, missing: corpus.systems.length < 2 && "needs two alignments" },
    errors: { label: "Errors", test: (n) => corpus.systems.some((_, s) => errorsOf(n, s) > 0), missing: !corpus.gold && "needs gold links", title: "a wrong link, or a sure one that is missed, in any system" },
    uncertain: { label: "Uncertain", test: (n) => facts.doubts.many[n] === 1, missing: !graded && "needs probabilities", title: `the ${percent(DOUBTFUL, 0)} per cent of pairs with most errors to be expected, per word` },
    rare: { label: "Rare words", test: (n) => facts.rare[n] > 0 },
    unproved: { label: "Not certified", test: unproved, missing: !proofs.length && "needs JSON lines of an exact decoder, or such a model" },
    gold: { label: "With gold", test: (n) => hasGold(corpus, n), missing: (!corpus.gold && "needs gold links") || (corpus.gold.number === corpus.pairs && "all pairs have gold links") },
  };

  const sorts = {
    number: { label: "number", key: (n) => n },
    score: { label: "score", key: scoreOf, missing: !graded && !corpus.systems.some((system) => system.score) },
    error: { label: "error", key: (n) => -errorsOf(n), missing: !corpus.gold },
    length: { label: "length", key: lengthOf },
    disagreement: { label: "disagreement", key: (n) => -facts.different[n], missing: corpus.systems.length < 2 },
    uncertainty: { label: "uncertainty", key: (n) => -facts.doubts.rate[n], missing: !graded },
  };

  // Log-probability a word where it is known, else the mean probability of the links: the worst come first.
  function scoreOf(n) {
    const system = corpus.systems[state.active];
    if (system.score) return Number.isFinite(system.score[n]) ? system.score[n] : Infinity;
    let sum = 0, links = 0;
    for (let k = system.offsets[n]; k < system.offsets[n + 1]; k++) {
      if (!system.taken[k]) continue;
      sum += system.p[k];
      links++;
    }
    return links ? sum / links / corpus.scale : Infinity;
  }

  const texts = new Array(corpus.pairs); // made for the first search
  function textOf(n) {
    return (texts[n] ??= folded(`${wordsOf(corpus.source, n).join(" ")}\n${wordsOf(corpus.target, n).join(" ")}`));
  }

  // Whether a pair's text has the query in it; where the script has no spaces, those between words do not count.
  function searched(query) {
    if (!UNSPACED.test(query)) return (n) => textOf(n).includes(query);
    const bare = query.replaceAll(" ", "");
    return (n) => textOf(n).replaceAll(" ", "").includes(bare);
  }

  function find() {
    const query = folded(state.query.trim());
    const number = query.match(/^#(\d+)$/);
    const tests = [...state.filters].map((name) => filters[name].test);
    if (number) tests.push((n) => n + 1 === Number(number[1]));
    else if (query) tests.push(searched(query));
    const found = [];
    for (let n = 0; n < corpus.pairs; n++) if (tests.every((test) => test(n))) found.push(n);
    if (state.sort !== "number") {
      const { key } = sorts[state.sort], keys = new Float64Array(corpus.pairs);
      for (const n of found) keys[n] = key(n);
      found.sort((a, b) => keys[a] - keys[b] || a - b);
    }
    return state.reversed ? found.reverse() : found;
  }

  return { filters, sorts, find, unproved };
}
