// Which candidates are links at a threshold, and everything that is counted from them.
// A threshold is null (links as given) or a whole number of hundredths; a link must exceed it.

import { NOT_GOLD, POSSIBLE, SURE, hasGold } from "./data.js";

export const STEPS = 100;

// taken(k) for a system: the one place that decides what a link is.
export function linkTest(corpus, system, threshold) {
  if (threshold === null || !system.graded) {
    const { taken } = system;
    return (k) => taken[k] === 1;
  }
  const cut = (threshold * corpus.scale) / STEPS, { p } = system;
  return (k) => p[k] > cut;
}

// The metrics of dovetail.evaluation.metrics: nothing went wrong where a denominator is empty.
export function metrics([links, sure, inSure, inPossible]) {
  const precision = links ? inPossible / links : 1;
  const recall = sure ? inSure / sure : 1;
  const product = precision * recall;
  return {
    aer: links + sure ? 1 - (inSure + inPossible) / (links + sure) : 0,
    precision,
    recall,
    f1: product > 0 ? product / (0.5 * recall + 0.5 * precision) : 0,
  };
}

export function sureCounts(corpus) {
  const { gold } = corpus, counts = new Uint32Array(gold.pairs);
  for (let g = 0; g < gold.pairs; g++) for (let e = gold.offsets[g]; e < gold.offsets[g + 1]; e++) counts[g] += gold.sure[e];
  return counts;
}

// Of every pair: links, wrong links, sure links missed, words; and |A|, |S|, |A ∩ S|, |A ∩ P| of pairs with gold links.
export function tally(corpus, system, threshold) {
  const test = linkTest(corpus, system, threshold), { offsets, mark } = system, { gold, pairs } = corpus;
  const sure = gold && (corpus.sure ??= sureCounts(corpus));
  const links = new Uint32Array(pairs), wrong = new Uint32Array(pairs), missed = new Uint32Array(pairs);
  const statistics = gold && new Float64Array(4 * gold.number);
  let total = 0, annotated = 0;
  for (let n = 0; n < pairs; n++) {
    let count = 0, inSure = 0, inPossible = 0;
    for (let k = offsets[n]; k < offsets[n + 1]; k++) {
      if (!test(k)) continue;
      count++;
      inSure += mark[k] === SURE;
      inPossible += mark[k] !== NOT_GOLD;
    }
    links[n] = count;
    total += count;
    if (hasGold(corpus, n)) {
      const g = n - gold.start;
      wrong[n] = count - inPossible;
      missed[n] = sure[g] - inSure;
      statistics.set([count, sure[g], inSure, inPossible], 4 * annotated++);
    }
  }
  return { links, wrong, missed, statistics, total, counts: gold && summed(statistics) };
}

function summed(statistics) {
  const counts = [0, 0, 0, 0];
  for (let k = 0; k < statistics.length; k++) counts[k & 3] += statistics[k];
  return counts;
}

// Percentile bootstrap over pairs, 95 per cent, of every metric; the same draws at every call.
export function intervals(statistics, samples) {
  const pairs = statistics.length / 4;
  if (!pairs) return null;
  const random = generator(1);
  const values = { aer: [], precision: [], recall: [], f1: [] };
  for (let s = 0; s < samples; s++) {
    let a = 0, b = 0, c = 0, d = 0;
    for (let n = 0; n < pairs; n++) {
      const k = 4 * Math.floor(random() * pairs);
      a += statistics[k];
      b += statistics[k + 1];
      c += statistics[k + 2];
      d += statistics[k + 3];
    }
    const drawn = metrics([a, b, c, d]);
    for (const name in values) values[name].push(drawn[name]);
  }
  const result = {};
  for (const name in values) {
    const sorted = values[name].sort((x, y) => x - y);
    result[name] = [quantile(sorted, 0.025), quantile(sorted, 0.975)];
  }
  return result;
}

function quantile(sorted, share) {
  const place = share * (sorted.length - 1), low = Math.floor(place);
  return sorted[low] + (place - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
}

// mulberry32: small, good enough for resampling.
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Counts at each threshold 0.01 .. 0.99: one pass over the candidates, then sums from above.
export function curve(corpus, system) {
  const { gold, scale } = corpus;
  const entered = new Float64Array(3 * (STEPS + 1));
  for (let n = gold.start; n < gold.start + gold.pairs; n++) {
    if (!hasGold(corpus, n)) continue;
    for (let k = system.offsets[n]; k < system.offsets[n + 1]; k++) {
      const step = Math.ceil((system.p[k] * STEPS) / scale) - 1; // the highest threshold that it exceeds
      if (step < 0) continue;
      entered[3 * step]++;
      entered[3 * step + 1] += system.mark[k] === SURE;
      entered[3 * step + 2] += system.mark[k] !== NOT_GOLD;
    }
  }
  const sure = (corpus.sure ??= sureCounts(corpus)).reduce((a, b) => a + b, 0);
  const points = [];
  let links = 0, inSure = 0, inPossible = 0;
  for (let step = STEPS - 1; step >= 1; step--) {
    links += entered[3 * step];
    inSure += entered[3 * step + 1];
    inPossible += entered[3 * step + 2];
    points.push({ threshold: step, links, ...metrics([links, sure, inSure, inPossible]) });
  }
  return points.reverse(); // by rising threshold
}

// In how many cells the systems' links differ, for each pair: cells that some, but not all of them take.
export function disagreements(corpus, threshold) {
  const counts = new Uint32Array(corpus.pairs), { systems } = corpus;
  if (systems.length < 2) return counts;
  const tests = systems.map((system) => linkTest(corpus, system, threshold));
  const votes = new Map();
  for (let n = 0; n < corpus.pairs; n++) {
    votes.clear();
    systems.forEach((system, s) => {
      for (let k = system.offsets[n]; k < system.offsets[n + 1]; k++) {
        if (!tests[s](k)) continue;
        const cell = system.i[k] * 65536 + system.j[k];
        votes.set(cell, (votes.get(cell) ?? 0) + 1);
      }
    });
    for (const count of votes.values()) counts[n] += count < systems.length;
  }
  return counts;
}

export const DOUBTFUL = 0.2; // this share of the pairs counts as uncertain

// How many errors are to be expected even of the best links: of every cell, p if it is none and 1 - p if it is one,
// whichever is less; the mean over systems.  `rate` is per word, `many` marks the pairs with the highest rates.
export function doubts(corpus) {
  const { pairs, scale } = corpus, graded = corpus.systems.filter((system) => system.graded);
  const errors = new Float64Array(pairs), rate = new Float64Array(pairs), many = new Uint8Array(pairs);
  for (const { offsets, p } of graded) {
    for (let n = 0; n < pairs; n++) {
      for (let k = offsets[n]; k < offsets[n + 1]; k++) errors[n] += Math.min(p[k], scale - p[k]) / scale / graded.length;
    }
  }
  const lengths = [corpus.source, corpus.target].map(({ offsets }) => offsets);
  for (let n = 0; n < pairs; n++) rate[n] = errors[n] / Math.max(1, lengths[0][n + 1] - lengths[0][n] + lengths[1][n + 1] - lengths[1][n]);
  const order = Array.from(rate.keys()).sort((a, b) => rate[b] - rate[a] || a - b);
  for (const n of order.slice(0, Math.ceil(DOUBTFUL * pairs))) many[n] = rate[n] > 0;
  return { errors, rate, many };
}

// Words seen at most `limit` times, for each pair.
export function rareWords(corpus, limit) {
  const counts = new Uint32Array(corpus.pairs);
  for (const side of [corpus.source, corpus.target]) {
    for (let n = 0; n < corpus.pairs; n++) {
      for (let k = side.offsets[n]; k < side.offsets[n + 1]; k++) counts[n] += side.counts[side.ids[k]] <= limit;
    }
  }
  return counts;
}

// How many words take 0, 1, 2 ... links; the last entry holds all from `largest` on.  `links` calls back with (n, i, j).
function fertilityHistogram(side, positions, pairs, each, largest) {
  const taken = new Uint16Array(side.offsets[pairs.last] - side.offsets[pairs.first]);
  each((n, i, j) => taken[side.offsets[n] - side.offsets[pairs.first] + (positions === "i" ? i : j)]++);
  const histogram = new Array(largest + 1).fill(0);
  for (const count of taken) histogram[Math.min(count, largest)]++;
  return histogram;
}

export function fertilities(corpus, system, threshold, which, pairs, largest = 6) {
  const test = linkTest(corpus, system, threshold);
  const each = (add) => {
    for (let n = pairs.first; n < pairs.last; n++) {
      for (let k = system.offsets[n]; k < system.offsets[n + 1]; k++) if (test(k)) add(n, system.i[k], system.j[k]);
    }
  };
  return fertilityHistogram(corpus[which], which === "source" ? "i" : "j", pairs, each, largest);
}

export function goldFertilities(corpus, which, largest = 6) {
  const { gold } = corpus, pairs = { first: gold.start, last: gold.start + gold.pairs };
  const each = (add) => {
    for (let g = 0; g < gold.pairs; g++) {
      for (let e = gold.offsets[g]; e < gold.offsets[g + 1]; e++) if (gold.sure[e]) add(gold.start + g, gold.i[e], gold.j[e]);
    }
  };
  return fertilityHistogram(corpus[which], which === "source" ? "i" : "j", pairs, each, largest);
}

// The words with most wrong and missed links, with the partner that goes wrong most often.
export function errorsByWord(corpus, system, threshold, which, largest = 15) {
  const { gold } = corpus, test = linkTest(corpus, system, threshold);
  const own = corpus[which], other = corpus[which === "source" ? "target" : "source"];
  const entries = new Map();
  const entry = (n, i, j) => {
    const [mine, its] = which === "source" ? [i, j] : [j, i];
    const id = own.ids[own.offsets[n] + mine];
    let found = entries.get(id);
    if (!found) entries.set(id, (found = { word: own.words[id], wrong: 0, missed: 0, sure: 0, partners: new Map() }));
    return [found, other.words[other.ids[other.offsets[n] + its]]];
  };
  const note = (found, sign, partner) => found.partners.set(sign + partner, (found.partners.get(sign + partner) ?? 0) + 1);
  for (let g = 0; g < gold.pairs; g++) {
    const n = gold.start + g, right = new Set();
    if (!hasGold(corpus, n)) continue;
    for (let k = system.offsets[n]; k < system.offsets[n + 1]; k++) {
      if (!test(k)) continue;
      if (system.mark[k] === NOT_GOLD) {
        const [found, partner] = entry(n, system.i[k], system.j[k]);
        found.wrong++;
        note(found, "✗", partner);
      } else right.add(system.i[k] * 65536 + system.j[k]);
    }
    for (let e = gold.offsets[g]; e < gold.offsets[g + 1]; e++) {
      if (!gold.sure[e]) continue;
      const [found, partner] = entry(n, gold.i[e], gold.j[e]);
      found.sure++;
      if (right.has(gold.i[e] * 65536 + gold.j[e])) continue;
      found.missed++;
      note(found, "○", partner);
    }
  }
  return [...entries.values()]
    .filter((found) => found.wrong + found.missed)
    .sort((a, b) => b.wrong + b.missed - a.wrong - a.missed || (a.word < b.word ? -1 : 1))
    .slice(0, largest)
    .map((found) => ({ ...found, partners: [...found.partners].sort((a, b) => b[1] - a[1]).slice(0, 3) }));
}
