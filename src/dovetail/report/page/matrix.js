// The matrix of Graça et al. 2010, Figures 1 and 9: a circle's area is the posterior, squares are gold links.

import { directionOf, shape } from "./words.js";

const LONGEST = 116; // pixels of a word beside the matrix; longer ones end in …
const SLANT = 52; // degrees

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

// `pair` as for drawLinks, with `gold`: [{i, j, sure}] or null.  `before`: Map "i-j" to the baseline's probability, or null.
export function drawMatrix(host, pair, before, name, report) {
  const I = pair.source.length, J = pair.target.length;
  const size = Math.max(I, J) > 60 ? 15 : Math.max(I, J) > 28 ? 18 : 22;
  const rows = pair.source.map(shortened), columns = pair.target.map(shortened);
  const left = Math.ceil(Math.max(24, ...rows.map(widthOf))) + 10;
  const lean = (SLANT * Math.PI) / 180;
  const longest = Math.max(24, ...columns.map(widthOf));
  const top = Math.ceil(longest * Math.sin(lean)) + 12, over = Math.ceil(longest * Math.cos(lean)) + 4;
  const width = left + J * size + over, height = top + I * size + 4;
  // Columns run as the target sentence does, so that both are read in the same way.
  const mirrored = directionOf(pair.target) === "rtl";
  const x = (j) => left + (mirrored ? J - 1 - j : j) * size, y = (i) => top + i * size;

  const picture = shape("svg", {
    class: `matrix${before ? " difference" : ""}`,
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `Matrix of ${name}: ${I} source words against ${J} target words`,
  });
  const band = { row: shape("rect", { class: "band", visibility: "hidden" }), column: shape("rect", { class: "band", visibility: "hidden" }) };
  picture.append(band.row, band.column, gridLines(I, J, left, top, size));
  rows.forEach((word, i) =>
    picture.append(shape("text", { class: "label", "data-i": i, x: left - 6, y: y(i) + size * 0.68, "text-anchor": "end", direction: "ltr" }, word)),
  );
  columns.forEach((word, j) =>
    picture.append(
      shape("text", { class: "label", "data-j": j, transform: `translate(${x(j) + size * 0.62},${top - 6}) rotate(-${SLANT})`, direction: "ltr" }, word),
    ),
  );
  const taken = new Set(pair.cells.filter((cell) => cell.taken).map((cell) => `${cell.i}-${cell.j}`));
  for (const { i, j, sure } of pair.gold ?? []) {
    const missed = sure && !taken.has(`${i}-${j}`);
    const kind = sure ? "square sure" : "square possible";
    picture.append(
      shape("rect", { class: missed ? kind + " missed" : kind, x: x(j) + 1.5, y: y(i) + 1.5, width: size - 3, height: size - 3, "data-i": i, "data-j": j }),
    );
  }
  const cells = new Map(pair.cells.map((cell) => [`${cell.i}-${cell.j}`, cell]));
  if (before) for (const [key, p] of before) if (!cells.has(key)) cells.set(key, ghost(key, p));
  const full = (size - 4) / 2;
  for (const [key, cell] of cells) {
    const at = { cx: x(cell.j) + size / 2, cy: y(cell.i) + size / 2 };
    const was = before ? (before.get(key) ?? 0) : null;
    picture.append(...disc(cell, at, full, was));
  }
  listen(picture, { I, J, left, top, size, mirrored, band, cells, before, pair, report });
  host.append(picture);
  return picture;
}

function ghost(key) {
  const [i, j] = key.split("-").map(Number);
  return { i, j, p: 0, taken: false, kind: "plain" };
}

function gridLines(I, J, left, top, size) {
  let path = "";
  for (let i = 0; i <= I; i++) path += `M${left},${top + i * size + 0.5}h${J * size}`;
  for (let j = 0; j <= J; j++) path += `M${left + j * size + 0.5},${top}v${I * size}`;
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
function listen(picture, { I, J, left, top, size, mirrored, band, cells, before, pair, report }) {
  const leave = () => {
    band.row.setAttribute("visibility", "hidden");
    band.column.setAttribute("visibility", "hidden");
    report(null);
  };
  const look = (event) => {
    const frame = picture.getBoundingClientRect();
    const scale = picture.viewBox.baseVal.width / frame.width;
    const px = (event.clientX - frame.left) * scale, py = (event.clientY - frame.top) * scale;
    let j = Math.floor((px - left) / size);
    const i = Math.floor((py - top) / size);
    if (mirrored) j = J - 1 - j;
    const inside = i >= 0 && i < I && j >= 0 && j < J;
    if (!inside) return leave();
    const shownColumn = mirrored ? J - 1 - j : j;
    for (const [name, value] of Object.entries({ x: 0, y: top + i * size, width: left + J * size, height: size, visibility: "visible" })) band.row.setAttribute(name, value);
    for (const [name, value] of Object.entries({ x: left + shownColumn * size, y: top, width: size, height: I * size, visibility: "visible" })) band.column.setAttribute(name, value);
    const key = `${i}-${j}`, gold = (pair.gold ?? []).find((link) => link.i === i && link.j === j);
    report({ i, j, p: cells.get(key)?.p ?? 0, taken: cells.get(key)?.taken ?? false, gold: pair.gold ? (gold ? (gold.sure ? "sure" : "possible") : "none") : null, was: before ? (before.get(key) ?? 0) : null });
  };
  picture.addEventListener("pointermove", look);
  picture.addEventListener("pointerdown", look);
  picture.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && leave()); // a lifted finger has not left
}
