// The dictionary of what is on the page: counted here as `dovetail lexicon` and `dovetail find` count in a whole text.

import { wordsOf } from "./data.js";
import { folded } from "./finder.js";
import { linkTest } from "./scores.js";

const SIDES = ["source", "target"], WORDS = 8, TRANSLATIONS = 50, PLACES = 20;

// Of one system at a threshold: words, translations and places, as `dictionaryTab` asks for them.
export function pageLexicon(corpus, system, threshold) {
  const test = linkTest(corpus, system, threshold), numbers = SIDES.map((side) => numbersOf(corpus[side].words));
  const weightOf = (k) => (system.graded ? system.p[k] / corpus.scale : 1);
  const sides = SIDES.map((name) => corpus[name]);
  const occurrences = sides.map((side) => occurrencesOf(side));
  const free = occurrences.map((counts) => counts.slice());
  const entries = [new Map(), new Map()]; // of each side: word to partners, each with links and weight
  const totals = sides.map((side) => new Float64Array(side.words.length));

  for (let n = 0; n < corpus.pairs; n++) {
    const linked = [new Set(), new Set()];
    for (let k = system.offsets[n]; k < system.offsets[n + 1]; k++) {
      if (!test(k)) continue;
      const tokens = [sides[0].offsets[n] + system.i[k], sides[1].offsets[n] + system.j[k]];
      const ids = tokens.map((token, s) => sides[s].ids[token]), weight = weightOf(k);
      for (const s of [0, 1]) {
        add(entries[s], ids[s], ids[1 - s], weight);
        totals[s][ids[s]] += weight;
        if (!linked[s].has(tokens[s])) free[s][ids[s]]--;
        linked[s].add(tokens[s]);
      }
    }
  }

  function words(text) {
    const wanted = folded(text), found = [];
    sides.forEach((side, s) =>
      side.words.forEach((word, id) => {
        const spelled = folded(word);
        if (spelled.startsWith(wanted)) found.push({ word, side: SIDES[s], count: occurrences[s][id], begins: spelled !== wanted });
      }),
    );
    return found.sort((a, b) => a.begins - b.begins || b.count - a.count || SIDES.indexOf(a.side) - SIDES.indexOf(b.side) || compare(a.word, b.word)).slice(0, WORDS);
  }

  function translations(word, side) {
    const s = SIDES.indexOf(side), id = numbers[s].get(word);
    if (id === undefined) throw new Error("This word is not on the page.");
    const partners = [...(entries[s].get(id) ?? new Map())];
    const found = partners.map(([partner, { count, weight }]) => ({
      word: sides[1 - s].words[partner],
      probability: totals[s][id] ? weight / totals[s][id] : 0,
      reverse: totals[1 - s][partner] ? weight / totals[1 - s][partner] : 0,
      count,
      expected: weight,
    }));
    found.sort((a, b) => b.expected - a.expected || b.count - a.count || compare(a.word, b.word));
    return { side, word, count: occurrences[s][id], unlinked: free[s][id], number: found.length, translations: found.slice(0, TRANSLATIONS) };
  }

  // Each place of the rarer word once, in the order of the pairs; `start` counts places.
  function places(word, translation, side, start) {
    const s = SIDES.indexOf(side), ids = [numbers[s].get(word), numbers[1 - s].get(translation)];
    const [here, there] = [sides[s], sides[1 - s]];
    const turned = occurrences[1 - s][ids[1]] < occurrences[s][ids[0]], hits = [];
    for (let n = 0; n < corpus.pairs; n++) {
      const grouped = new Map();
      for (let k = system.offsets[n]; k < system.offsets[n + 1]; k++) {
        if (!test(k)) continue;
        const [own, far] = s === 0 ? [system.i[k], system.j[k]] : [system.j[k], system.i[k]];
        if (here.ids[here.offsets[n] + own] !== ids[0] || there.ids[there.offsets[n] + far] !== ids[1]) continue;
        const rarer = turned ? far : own;
        if (!grouped.has(rarer)) grouped.set(rarer, []);
        grouped.get(rarer).push(turned ? own : far);
      }
      for (const [rarer, partners] of [...grouped].sort((a, b) => a[0] - b[0])) {
        partners.sort((a, b) => a - b);
        hits.push({ n, here: turned ? partners : [rarer], there: turned ? [rarer] : partners });
      }
    }
    const shown = hits.slice(start, start + PLACES).map(({ n, ...lit }) => ({ pair: n + 1, words: wordsOf(here, n), others: wordsOf(there, n), ...lit }));
    return { hits: shown, next: start + PLACES < hits.length ? start + PLACES : null };
  }

  return { words: async (text) => words(text), translations: async (...asked) => translations(...asked), places: async (...asked) => places(...asked) };
}

function numbersOf(words) {
  return new Map(words.map((word, id) => [word, id]));
}

function occurrencesOf(side) {
  const counts = new Uint32Array(side.words.length);
  for (const id of side.ids) counts[id]++;
  return counts;
}

function add(entries, word, partner, weight) {
  let partners = entries.get(word);
  if (!partners) entries.set(word, (partners = new Map()));
  const entry = partners.get(partner);
  if (!entry) partners.set(partner, { count: 1, weight });
  else {
    entry.count++;
    entry.weight += weight;
  }
}

function compare(a, b) {
  const [x, y] = [folded(a), folded(b)];
  return x < y ? -1 : x > y ? 1 : a < b ? -1 : a > b ? 1 : 0;
}
