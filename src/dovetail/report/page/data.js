// Opens what packing.py packed: typed arrays again, gold links looked up, pairs by number.

const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array };

export const NOT_GOLD = 0, POSSIBLE = 1, SURE = 2;

export function unpacked([kind, text]) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return new KINDS[kind](bytes.buffer);
}

function starts(counts) {
  const result = new Uint32Array(counts.length + 1);
  for (let n = 0; n < counts.length; n++) result[n + 1] = result[n] + counts[n];
  return result;
}

function openSide(side) {
  return {
    words: side.words,
    counts: unpacked(side.counts),
    ids: unpacked(side.ids),
    offsets: starts(unpacked(side.lengths)),
  };
}

function openGold(gold) {
  const offsets = starts(unpacked(gold.counts));
  const pairs = offsets.length - 1, annotated = gold.annotated ? unpacked(gold.annotated) : new Uint8Array(pairs).fill(1);
  return { start: gold.start, pairs, annotated, number: annotated.reduce((a, b) => a + b, 0), offsets, i: unpacked(gold.i), j: unpacked(gold.j), sure: unpacked(gold.sure) };
}

function openSystem(system, corpus) {
  const i = unpacked(system.i), j = unpacked(system.j);
  const opened = {
    name: system.name,
    graded: system.graded,
    offsets: starts(unpacked(system.counts)),
    i,
    j,
    p: system.p ? unpacked(system.p) : new Uint16Array(i.length).fill(corpus.scale),
    taken: system.taken ? unpacked(system.taken) : new Uint8Array(i.length).fill(1),
    score: system.score && unpacked(system.score),
    certified: system.certified && unpacked(system.certified),
  };
  opened.mark = corpus.gold ? goldMarks(opened, corpus.gold) : new Uint8Array(i.length);
  return opened;
}

// NOT_GOLD, POSSIBLE or SURE for each candidate; both lists are sorted by (i, j).
function goldMarks(system, gold) {
  const marks = new Uint8Array(system.i.length);
  for (let g = 0; g < gold.pairs; g++) {
    const n = gold.start + g;
    let k = system.offsets[n], e = gold.offsets[g];
    const lastK = system.offsets[n + 1], lastE = gold.offsets[g + 1];
    while (k < lastK && e < lastE) {
      const before = system.i[k] - gold.i[e] || system.j[k] - gold.j[e];
      if (before === 0) marks[k++] = gold.sure[e++] ? SURE : POSSIBLE;
      else if (before < 0) k++;
      else e++;
    }
  }
  return marks;
}

export function openCorpus(packed) {
  const corpus = {
    title: packed.title,
    pairs: packed.pairs,
    all: packed.all,
    scale: packed.scale,
    floor: packed.floor,
    trained: packed.trained,
    source: openSide(packed.source),
    target: openSide(packed.target),
    gold: packed.gold && openGold(packed.gold),
  };
  corpus.systems = packed.systems.map((system) => openSystem(system, corpus));
  return corpus;
}

export function wordsOf(side, n) {
  const words = [];
  for (let k = side.offsets[n]; k < side.offsets[n + 1]; k++) words.push(side.words[side.ids[k]]);
  return words;
}

export function hasGold(corpus, n) {
  return corpus.gold !== null && corpus.gold.annotated[n - corpus.gold.start] === 1;
}

// {sure, possible}: Maps are not needed for a pair, sets of "i-j" are; null where the pair has no gold links.
export function goldOf(corpus, n) {
  if (!hasGold(corpus, n)) return null;
  const { gold } = corpus, g = n - gold.start;
  const links = [];
  for (let e = gold.offsets[g]; e < gold.offsets[g + 1]; e++) links.push({ i: gold.i[e], j: gold.j[e], sure: gold.sure[e] === 1 });
  return links;
}
