// The matrix of Graça et al. 2010, Figures 1 and 9: a circle's area is the posterior, squares are gold links.

import { directionOf, element, shape } from "./words.js";

const LONGEST = 116; // pixels of a word beside the matrix; longer ones end in …
const SLANT = 52, LEAN = (SLANT * Math.PI) / 180;
const LARGEST_CELL = 22, SMALLEST_CELL = 13; // what still can be read; a matrix that is larger then scrolls

let pen;
function widthOf(text) {
  if (!pen) {
    pen = document.createElement("canvas").getContext("2d");
    pen.font = '13px system-ui, "Noto Sans", sans-serif';
  }
  return pen.measureText(text).width;
}

export function shortened(word) {
  if (widthOf(word) <= LONGEST) return word;
  const letters = [...word];
  let low = 1, high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(letters.slice(0, middle).join("") + "…") <= LONGEST) low = middle;
    else high = middle - 1;
  }
  return letters.slice(0, low).join("") + "…";
}

// Labels and the room that they take: beside the rows, above the columns, and behind the last column, which leans over.
function labelsOf(pair) {
  const rows = pair.source.map(shortened), columns = pair.target.map(shortened);
  const longest = Math.max(24, ...columns.map(widthOf));
  return { rows, columns, left: Math.ceil(Math.max(24, ...rows.map(widthOf))) + 10, top: Math.ceil(longest * Math.sin(LEAN)) + 12, over: Math.ceil(longest * Math.cos(LEAN)) + 4 };
}

// The room in which a matrix can be read without scrolling.
export function leastWidth(pair, cell = SMALLEST_CELL) {
  const { left, over } = labelsOf(pair);
  return left + pair.target.length * cell + over;
}

// `host` scrolls where the matrix is larger than `room`; labels stay where they are.  `pair` as for drawLinks, with `gold`:
// [{i, j, sure}] or null.  `before`: Map "i-j" to the baseline's probability, or null.
export function drawMatrix(host, room, pair, before, name, report) {
  const I = pair.source.length, J = pair.target.length, { rows, columns, left, top, over } = labelsOf(pair);
  const size = Math.min(LARGEST_CELL, Math.max(SMALLEST_CELL, Math.floor((room - left - over) / Math.max(1, J))));
  const letters = Math.min(13, size - 1), width = J * size + over, height = I * size + 4;
  // Columns run as the target sentence does, so that both are read in the same way.
  const mirrored = directionOf(pair.target) === "rtl";
  const x = (j) => (mirrored ? J - 1 - j : j) * size, y = (i) => i * size;
  const part = (kind, width, height) => shape("svg", { class: kind, width, height, viewBox: `0 0 ${width} ${height}` });
  const label = (word, whole, place) => shape("text", { class: "label", "font-size": letters, direction: "ltr", ...place }, word, word === whole ? null : shape("title", {}, whole));

  const head = part("head", width, top), side = part("side", left, height), picture = part("body", width, height);
  rows.forEach((word, i) => side.append(label(word, pair.source[i], { "data-i": i, x: left - 6, y: y(i) + size / 2 + 0.34 * letters, "text-anchor": "end" })));
  columns.forEach((word, j) => head.append(label(word, pair.target[j], { "data-j": j, transform: `translate(${x(j) + size / 2 + 0.2 * letters},${top - 6}) rotate(-${SLANT})` })));
  const band = { row: shape("rect", { class: "band", visibility: "hidden" }), column: shape("rect", { class: "band", visibility: "hidden" }) };
  picture.append(band.row, band.column, gridLines(I, J, size));
  const taken = new Set(pair.cells.filter((cell) => cell.taken).map((cell) => `${cell.i}-${cell.j}`));
  for (const { i, j, sure } of pair.gold ?? []) {
    const missed = sure && !taken.has(`${i}-${j}`);
    const kind = sure ? "square sure" : "square possible";
    picture.append(
      shape("rect", { class: missed ? kind + " missed" : kind, x: x(j) + 1.5, y: y(i) + 1.5, width: size - 3, height: size - 3, "data-i": i, "data-j": j }),
    );
  }
  const cells = new Map(pair.cells.map((cell) => [`${cell.i}-${cell.j}`, cell]));
  if (before) for (const key of before.keys()) if (!cells.has(key)) cells.set(key, ghost(key));
  const full = (size - 4) / 2;
  for (const [key, cell] of cells) {
    const at = { cx: x(cell.j) + size / 2, cy: y(cell.i) + size / 2 };
    const was = before ? (before.get(key) ?? 0) : null;
    picture.append(...disc(cell, at, full, was));
  }
  listen(picture, { I, J, size, mirrored, band, cells, before, pair, report });
  host.replaceChildren(
    element(
      "div",
      { class: `matrix${before ? " difference" : ""}`, role: "img", "aria-label": `Matrix of ${name}: ${I} source words against ${J} target words` },
      element("div", { class: "corner" }),
      head,
      side,
      picture,
    ),
  );
  if (mirrored) host.scrollLeft = host.scrollWidth; // where the sentence begins
}

function ghost(key) {
  const [i, j] = key.split("-").map(Number);
  return { i, j, p: 0, taken: false, kind: "plain" };
}

function gridLines(I, J, size) {
  let path = "";
  for (let i = 0; i <= I; i++) path += `M0,${i * size + 0.5}h${J * size}`;
  for (let j = 0; j <= J; j++) path += `M${j * size + 0.5},0v${I * size}`;
  return shape("path", { class: "lines", d: path });
}

function disc(cell, at, full, was) {
  const radius = full * Math.sqrt(cell.p);
  const place = { "data-i": cell.i, "data-j": cell.j };
  if (was === null) {
    const kind = cell.taken ? `disc taken ${cell.kind}` : "disc";
    const parts = [shape("circle", { ...at, r: Math.max(0.8, radius).toFixed(2), class: kind, ...place })];
    if (cell.taken && cell.kind === "wrong") parts.push(sign("×", at, full));
    return parts;
  }
  const change = cell.p - was;
  const kind = Math.abs(change) < 0.01 ? "same" : change > 0 ? "higher" : "lower";
  const strength = kind === "same" ? 0.55 : 0.35 + 0.65 * Math.min(1, Math.abs(change) * 1.6);
  const parts = [];
  if (cell.p > 0) parts.push(shape("circle", { ...at, r: Math.max(0.8, radius).toFixed(2), class: `disc ${kind}`, "fill-opacity": strength.toFixed(2), ...place }));
  // Where the posterior fell, a ring shows how large it was: what is gone can be seen, and not by colour alone.
  if (kind === "lower") parts.push(shape("circle", { ...at, r: (full * Math.sqrt(was)).toFixed(2), class: "ring lower", ...place }));
  if (Math.abs(change) >= 0.1) parts.push(sign(change > 0 ? "+" : "−", at, full, cell.p < 0.3 && "bare"));
  return parts;
}

// `bare`: there is no disc large enough to write on.
function sign(text, { cx, cy }, full, bare) {
  return shape("text", { class: bare ? `disc-sign ${text === "−" ? "minus" : "plus"}` : "disc-sign", x: cx, y: cy + full * 0.48, "font-size": (full * 1.45).toFixed(1), "text-anchor": "middle" }, text);
}

// One listener for the whole picture: which cell the pointer is over follows from where it is.
function listen(picture, { I, J, size, mirrored, band, cells, before, pair, report }) {
  const leave = () => {
    band.row.setAttribute("visibility", "hidden");
    band.column.setAttribute("visibility", "hidden");
    report(null);
  };
  const look = (event) => {
    const frame = picture.getBoundingClientRect();
    const scale = picture.viewBox.baseVal.width / frame.width;
    const px = (event.clientX - frame.left) * scale, py = (event.clientY - frame.top) * scale;
    let j = Math.floor(px / size);
    const i = Math.floor(py / size);
    if (mirrored) j = J - 1 - j;
    const inside = i >= 0 && i < I && j >= 0 && j < J;
    if (!inside) return leave();
    const shownColumn = mirrored ? J - 1 - j : j;
    for (const [name, value] of Object.entries({ x: 0, y: i * size, width: J * size, height: size, visibility: "visible" })) band.row.setAttribute(name, value);
    for (const [name, value] of Object.entries({ x: shownColumn * size, y: 0, width: size, height: I * size, visibility: "visible" })) band.column.setAttribute(name, value);
    const key = `${i}-${j}`, gold = (pair.gold ?? []).find((link) => link.i === i && link.j === j);
    report({ i, j, p: cells.get(key)?.p ?? 0, taken: cells.get(key)?.taken ?? false, gold: pair.gold ? (gold ? (gold.sure ? "sure" : "possible") : "none") : null, was: before ? (before.get(key) ?? 0) : null });
  };
  picture.addEventListener("pointermove", look);
  picture.addEventListener("pointerdown", look);
  picture.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && leave()); // a lifted finger has not left
}
