// A pair as two lines of words with curves between them, or as two columns where the lines would not fit.

import { directionOf, element, hiddenIn, shape } from "./words.js";

// `pair`: {source, target, cells: [{i, j, p, taken, kind}], missed: [{i, j}], unseen: {source, target} of sets or null}.
// kind is "plain" where there is no gold, else "right" or "wrong".
export function drawLinks(host, pair, name) {
  const lines = [line(pair.source, "i", pair, "Source"), line(pair.target, "j", pair, "Target")];
  const canvas = shape("svg", { class: "curves", "aria-hidden": "true" });
  const mixed = lines[0].dir !== lines[1].dir; // then both stand in the middle, or they would run away from each other
  const box = element("div", { class: mixed ? "links mixed" : "links", role: "group", "aria-label": `Links of ${name}` }, lines[0], lines[1], canvas);
  host.append(box);
  place(box, lines, canvas, pair);
  return { box, again: () => place(box, lines, canvas, pair), inColumns: () => box.classList.contains("columns") };
}

function line(words, side, pair, label) {
  const partners = partnersOf(pair, side);
  const others = side === "i" ? pair.target : pair.source;
  const unseen = pair.unseen?.[side === "i" ? "source" : "target"];
  const tokens = words.map((word, n) => {
    const hidden = hiddenIn(word);
    const linked = partners[n].map((m) => others[m]);
    const notes = [unseen?.has(n) ? "the model has never seen this word" : null, hidden.length ? `contains ${hidden.join(" ")}` : null, word.length > 24 ? word : null];
    return element(
      "bdi",
      {
        class: ["token", linked.length ? "" : "alone", hidden.length ? "hides" : "", unseen?.has(n) ? "unseen" : ""].filter(Boolean).join(" "),
        [`data-${side}`]: n,
        tabindex: n ? -1 : 0,
        role: "listitem",
        title: notes.filter(Boolean).join("; ") || null,
        "aria-label": `${word}: ${linked.length ? "linked with " + linked.join(", ") : "no link"}`,
      },
      word,
    );
  });
  if (!tokens.length) tokens.push(element("i", { class: "empty" }, "no words"));
  return element("div", { class: `line line-${side}`, role: "list", "aria-label": label, dir: directionOf(words) }, ...tokens);
}

export function partnersOf(pair, side) {
  const lists = (side === "i" ? pair.source : pair.target).map(() => []);
  for (const cell of pair.cells) if (cell.taken) (side === "i" ? lists[cell.i] : lists[cell.j]).push(side === "i" ? cell.j : cell.i);
  return lists;
}

function place(box, lines, canvas, pair) {
  box.classList.remove("columns");
  const room = box.clientWidth;
  if (!room) return; // not shown at the moment
  const columns = lines.some((row) => row.scrollWidth > room + 1);
  box.classList.toggle("columns", columns);
  // All positions are read before anything is written: one layout, not one for each word.
  const frame = box.getBoundingClientRect();
  const spots = lines.map((row) =>
    [...row.querySelectorAll(".token")].map((token) => {
      const at = token.getBoundingClientRect();
      return { left: at.left - frame.left, right: at.right - frame.left, top: at.top - frame.top, bottom: at.bottom - frame.top };
    }),
  );
  canvas.setAttribute("width", frame.width);
  canvas.setAttribute("height", frame.height);
  const drawn = [];
  for (const { i, j } of pair.missed) drawn.push(...drawCurve(spots[0][i], spots[1][j], columns, i, j, 1, "missed"));
  for (const cell of pair.cells) {
    if (cell.taken) drawn.push(...drawCurve(spots[0][cell.i], spots[1][cell.j], columns, cell.i, cell.j, cell.p, cell.kind));
  }
  canvas.replaceChildren(...drawn);
}

const SIGNS = { wrong: "M-3.2,-3.2L3.2,3.2M-3.2,3.2L3.2,-3.2", missed: "M3.6,0A3.6,3.6 0 1 1 -3.6,0A3.6,3.6 0 1 1 3.6,0" };

function drawCurve(from, to, columns, i, j, p, kind) {
  if (!from || !to) return [];
  let path, middle;
  if (columns) {
    const [x, y, u, v] = [from.right + 2, (from.top + from.bottom) / 2, to.left - 2, (to.top + to.bottom) / 2];
    const bend = (u - x) / 2;
    path = `M${x},${y}C${x + bend},${y} ${u - bend},${v} ${u},${v}`;
    middle = [(x + u) / 2, (y + v) / 2];
  } else {
    const [x, y, u, v] = [(from.left + from.right) / 2, from.bottom + 1, (to.left + to.right) / 2, to.top - 1];
    const bend = (v - y) * 0.55;
    path = `M${x},${y}C${x},${y + bend} ${u},${v - bend} ${u},${v}`;
    middle = [(x + u) / 2, (y + v) / 2];
  }
  const marks = { class: `curve ${kind}`, "data-i": i, "data-j": j, "data-link": kind === "missed" ? null : "" };
  const strength = { "stroke-width": (1 + 1.6 * p).toFixed(2), "stroke-opacity": (0.35 + 0.65 * p).toFixed(2) };
  const parts = [shape("path", { d: path, ...marks, ...strength })];
  if (SIGNS[kind]) parts.push(shape("path", { d: SIGNS[kind], transform: `translate(${middle})`, ...marks, class: `sign ${kind}` }));
  return parts;
}
