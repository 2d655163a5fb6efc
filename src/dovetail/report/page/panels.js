// The systems' answers to one pair side by side, each as links and as a matrix; what one points at lights up in all.

import { drawLinks } from "./links.js";
import { drawMatrix, leastWidth } from "./matrix.js";
import { element, isolated, shape } from "./words.js";

// A sign for each system, for those who cannot tell the colours apart.
const SIGN_PATHS = [
  "M5,0A5,5 0 1 1 -5,0A5,5 0 1 1 5,0",
  "M-4.4,-4.4H4.4V4.4H-4.4Z",
  "M0,-5.4L5.2,4.2H-5.2Z",
  "M0,-5.8L5.8,0L0,5.8L-5.8,0Z",
  "M0,5.4L5.2,-4.2H-5.2Z",
];

export function systemSign(s) {
  const path = shape("path", { d: SIGN_PATHS[s % SIGN_PATHS.length] });
  return shape("svg", { class: `system-sign system-${s % SIGN_PATHS.length}`, viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" }, path);
}

export function signPath(s) {
  return SIGN_PATHS[s % SIGN_PATHS.length];
}

const PANEL = 430, MARGINS = 30; // pixels that a panel has at least, and those around what is in it
const COLUMNS = 330, COMFORTABLE = 15; // what columns of words take beside a matrix, and the cells that it then has at least

// `shown`: [{name, facts, pair, before}]; `reading` is the line that says what one points at.
export function drawPanels(host, shown, reading) {
  const panels = [], scrolled = scrolls(host, shown);
  host.replaceChildren();
  // Panels stand side by side where their matrices can be read so, else one below the other.
  host.style.setProperty("--panel", `${Math.max(PANEL, ...shown.map(({ pair }) => leastWidth(pair) + MARGINS))}px`);
  const report = (cell, panel) => {
    light(panels, cell);
    reading.replaceChildren(...(cell ? described(cell, panel) : []));
  };
  shown.forEach((system, s) => {
    const heading = element("h3", {}, systemSign(s), isolated(system.name), element("small", {}, system.facts ?? ""));
    const body = element("div", { class: "panel-body" });
    const panel = element("section", { class: "panel", "data-system": s, "aria-label": system.name }, heading, body);
    host.append(panel);
    panels.push({ ...system, panel, body });
  });
  // First all panels, then what is in them: words and cells are placed by the room that a panel has.
  const drawAll = () => {
    if (!host.clientWidth) return; // not shown at the moment
    for (const entry of panels) {
      const room = entry.body.clientWidth, beside = room - COLUMNS;
      const fits = entry.links.inColumns() && leastWidth(entry.pair, COMFORTABLE) <= beside;
      drawMatrix(entry.frame, fits ? beside : room, entry.pair, entry.before, entry.name, (cell) => report(cell, entry));
    }
    for (const entry of panels) entry.links.again(); // matrices may take room from the links
  };
  for (const entry of panels) {
    entry.links = drawLinks(entry.body, entry.pair, entry.name);
    entry.frame = element("div", { class: "matrix-frame", tabindex: 0, role: "group", "aria-label": `Matrix of ${entry.name}` });
    entry.body.append(entry.frame);
    hoverWords(entry, report);
  }
  drawAll();
  panels.forEach(({ frame }, s) => scrolled[s] && frame.scrollTo(...scrolled[s]));
  return { again: drawAll };
}

// Where the matrices were scrolled to, if these words are still the same.
function scrolls(host, shown) {
  const words = JSON.stringify(shown.map(({ pair }) => [pair.source, pair.target]));
  const same = host.shownWords === words;
  host.shownWords = words;
  return same ? [...host.querySelectorAll(".matrix-frame")].map((frame) => [frame.scrollLeft, frame.scrollTop]) : [];
}

// Links, matrices or both.
export function showParts(host, parts) {
  host.classList.toggle("only-links", parts === "links");
  host.classList.toggle("only-matrix", parts === "matrix");
}

function hoverWords(entry, report) {
  const { box } = entry.links;
  const at = (event) => {
    const token = event.target.closest?.(".token");
    return token && ("i" in token.dataset ? { i: Number(token.dataset.i) } : { j: Number(token.dataset.j) });
  };
  for (const kind of ["pointerover", "focusin"]) box.addEventListener(kind, (event) => report(at(event) ?? null, entry));
  box.addEventListener("focusout", () => report(null, entry));
  // A finger that is lifted has not left: what was tapped stays lit until something else is tapped.
  box.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && report(null, entry));
  // Within a line the arrows walk from word to word; Tab goes on to the next line.
  box.addEventListener("keydown", (event) => {
    const token = event.target.closest?.(".token");
    if (!token || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const forward = (event.key === "ArrowRight") === (token.parentElement.dir !== "rtl");
    const next = forward ? token.nextElementSibling : token.previousElementSibling;
    if (next?.matches(".token")) {
      token.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  });
}

// Words, curves and labels that belong to what one points at, in every panel; the rest steps back.
function light(panels, cell) {
  for (const { panel, pair } of panels) {
    panel.classList.toggle("lighting", cell !== null);
    for (const node of panel.querySelectorAll(".lit")) node.classList.remove("lit");
    if (!cell) continue;
    const source = new Set(), target = new Set();
    if (cell.i !== undefined) source.add(cell.i);
    if (cell.j !== undefined) target.add(cell.j);
    const word = cell.i === undefined || cell.j === undefined;
    const touched = (link) => (word ? link.i === cell.i || link.j === cell.j : link.i === cell.i && link.j === cell.j);
    const curves = new Set();
    for (const link of pair.cells) {
      if (!link.taken || !touched(link)) continue;
      curves.add(`${link.i}-${link.j}`);
      source.add(link.i);
      target.add(link.j);
    }
    for (const link of pair.missed) if (touched(link)) curves.add(`${link.i}-${link.j}`);
    for (const node of panel.querySelectorAll(".token, .label")) {
      const { i, j } = node.dataset;
      if (i !== undefined ? source.has(Number(i)) : target.has(Number(j))) node.classList.add("lit");
    }
    for (const node of panel.querySelectorAll(".curve, .sign")) {
      if (curves.has(`${node.dataset.i}-${node.dataset.j}`)) node.classList.add("lit");
    }
  }
}

function described(cell, { name, pair }) {
  const parts = [isolated(name), ": "];
  if (cell.i !== undefined && cell.j !== undefined) {
    parts.push(isolated(pair.source[cell.i]), " – ", isolated(pair.target[cell.j]), ` ${cell.p < 0.01 ? "under 0.01" : cell.p.toFixed(2)}`);
    if (cell.was !== null) parts.push(`, ${cell.p >= cell.was ? "+" : "−"}${Math.abs(cell.p - cell.was).toFixed(2)} against the baseline`);
    parts.push(cell.taken ? ", a link" : ", no link");
    if (cell.gold) parts.push({ sure: ", sure in gold", possible: ", possible in gold", none: ", not in gold" }[cell.gold]);
    return parts;
  }
  const own = cell.i !== undefined ? pair.source[cell.i] : pair.target[cell.j];
  const links = pair.cells.filter((link) => link.taken && (cell.i !== undefined ? link.i === cell.i : link.j === cell.j));
  parts.push(isolated(own), links.length ? " – " : " has no link");
  links.forEach((link, k) => {
    if (k) parts.push(", ");
    parts.push(isolated(cell.i !== undefined ? pair.target[link.j] : pair.source[link.i]), ` ${link.p.toFixed(2)}`);
  });
  return parts;
}

const DISC = (kind, r) => [shape("circle", { cx: 9, cy: 9, r, class: `disc ${kind}` })];
const behindLine = (...parts) => shape("g", { transform: "translate(38,0)" }, ...parts);
const SQUARE = (kind) => [shape("rect", { x: 2, y: 2, width: 14, height: 14, class: `square ${kind}` })];
const text = (letter) => shape("text", { class: letter === "−" ? "disc-sign minus" : "disc-sign", x: 9, y: 12.6, "font-size": 11, "text-anchor": "middle" }, letter);
const stroke = (kind) => shape("path", { d: "M0,9H34", class: `curve ${kind}`, "stroke-width": 2.4 });

// What the signs of links and matrices mean, for what is on the page.
export function drawLegend(host, { gold, difference, graded }) {
  const entries = [];
  const add = (parts, meaning, width = 18) =>
    entries.push(element("span", { class: "entry" }, shape("svg", { width, height: 18, "aria-hidden": "true" }, ...parts), meaning));
  if (gold) {
    add([stroke("right"), behindLine(...DISC("taken right", 6.5))], "right", 54);
    add([stroke("wrong"), shape("path", { d: "M13.8,5.8L20.2,12.2M13.8,12.2L20.2,5.8", class: "sign wrong" }), behindLine(...DISC("taken wrong", 6.5), text("×"))], "wrong", 54);
    add([stroke("missed"), shape("circle", { cx: 17, cy: 9, r: 3.6, class: "sign missed" }), behindLine(...SQUARE("sure missed"))], "missed", 56);
    add(SQUARE("sure"), "sure in gold");
    add(SQUARE("possible"), "possible in gold");
  } else add([...DISC("taken plain", 6.5)], "link");
  if (graded) {
    add(DISC("taken " + (gold ? "right" : "plain"), 3), "area: probability");
    add(DISC("", 6), "no link");
  }
  if (difference) {
    add([...DISC("higher", 7), text("+")], "more probable than in the baseline");
    add([...DISC("lower", 3.2), shape("circle", { cx: 9, cy: 9, r: 7, class: "ring lower" })], "less probable; the ring is the baseline");
  }
  host.replaceChildren(...entries);
}
