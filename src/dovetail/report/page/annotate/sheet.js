// The matrix to write on: a table of source words against target words whose labels stay in sight, one cell for each link.
// A square is a link, a disc's area the model's probability.

import { directionOf, element, hiddenIn } from "../words.js";

const MOST_CELLS = 25000; // more would make a browser slow: such pairs are linked by words
const SLANT = (52 * Math.PI) / 180;
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export const keyOf = (i, j) => `${i}-${j}`;

export class SheetOfCells {
  // `act(cells, kind)` changes links; `look(cell)` says what the pointer or the focus is on.
  constructor(frame, { act, look, toolOf }) {
    Object.assign(this, { frame, act, look, toolOf });
    this.cells = new Map();
    this.stroke = null;
    frame.addEventListener("pointerdown", (event) => this.begin(event));
    frame.addEventListener("pointerover", (event) => this.over(event));
    frame.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && !this.stroke && this.look(null));
    window.addEventListener("pointerup", () => this.end());
    window.addEventListener("pointercancel", () => this.end());
    frame.addEventListener("keydown", (event) => this.key(event));
    frame.addEventListener("focusin", (event) => this.focused(event));
  }

  draw(pair) {
    this.pair = pair;
    this.cells.clear();
    this.at = [0, 0];
    const I = pair.source.length, J = pair.target.length;
    const possible = I * J > 0 && I * J <= MOST_CELLS;
    if (!possible) {
      this.frame.replaceChildren(element("p", { class: "note" }, I * J ? "This pair is too long for a matrix: link its words." : "One side has no words: nothing to link."));
      return;
    }
    const direction = directionOf(pair.target);
    const head = element("tr", {}, element("td", { class: "corner" }), ...pair.target.map((word, j) => label(word, "col", { "data-j": j })));
    const rows = pair.source.map((word, i) => {
      const cells = pair.target.map((_, j) => this.cell(i, j));
      return element("tr", {}, label(word, "row", { "data-i": i }), ...cells);
    });
    const table = element("table", { class: "sheet", role: "grid", dir: direction, "aria-label": `${I} source words in rows, ${J} target words in columns` }, element("thead", {}, head), element("tbody", {}, ...rows));
    this.frame.dir = direction;
    this.frame.replaceChildren(table);
    // Slanted labels need a head as high as the longest of them, and room beside the last.
    const longest = Math.max(24, ...[...head.querySelectorAll("bdi")].map((word) => word.offsetWidth));
    table.style.setProperty("--head", `${Math.ceil(longest * Math.sin(SLANT)) + 22}px`);
    table.style.setProperty("--over", `${Math.ceil(longest * Math.cos(SLANT))}px`);
    this.cells.get(keyOf(0, 0)).tabIndex = 0;
    this.update();
  }

  cell(i, j) {
    const cell = element("td", { role: "gridcell", "data-i": i, "data-j": j, tabindex: -1 });
    const p = this.pair.cells.get(keyOf(i, j));
    if (p) {
      const disc = element("span", { class: "dot", "aria-hidden": "true" });
      disc.style.setProperty("--size", Math.max(0.12, Math.sqrt(p)).toFixed(3));
      cell.append(disc);
    }
    this.cells.set(keyOf(i, j), cell);
    return cell;
  }

  // Shows the links as they are now.
  update() {
    for (const [key, cell] of this.cells) {
      const kind = this.pair.links.get(key) ?? "none";
      if (cell.dataset.kind === kind) continue;
      cell.dataset.kind = kind;
      const i = Number(cell.dataset.i), j = Number(cell.dataset.j), p = this.pair.cells.get(key);
      const said = kind === "none" ? "no link" : `${kind} link`;
      cell.setAttribute("aria-label", `${this.pair.source[i]} – ${this.pair.target[j]}: ${said}${p ? `, model ${p.toFixed(2)}` : ""}`);
      cell.setAttribute("aria-selected", String(kind !== "none"));
    }
  }

  light(i, j) {
    for (const node of this.frame.querySelectorAll(".lit")) node.classList.remove("lit");
    if (i !== undefined) this.frame.querySelector(`th[data-i="${i}"]`)?.classList.add("lit");
    if (j !== undefined) this.frame.querySelector(`th[data-j="${j}"]`)?.classList.add("lit");
  }

  placeOf(event) {
    const cell = event.target.closest?.("td[data-i]");
    return cell && this.frame.contains(cell) ? [Number(cell.dataset.i), Number(cell.dataset.j)] : null;
  }

  begin(event) {
    const at = this.placeOf(event);
    if (!at || event.button > 0) return;
    const tool = event.shiftKey ? "possible" : this.toolOf();
    const now = this.pair.links.get(keyOf(...at)) ?? null;
    this.stroke = { kind: now === tool ? null : tool, cells: [at], touch: event.pointerType === "touch" };
    if (this.stroke.touch) return; // a finger may be going to scroll: what it taps is known when it is lifted
    event.preventDefault();
    this.focus(...at);
    this.preview();
  }

  over(event) {
    const at = this.placeOf(event);
    if (at) this.look({ i: at[0], j: at[1] });
    if (!at || !this.stroke || this.stroke.touch || !(event.buttons & 1)) return;
    if (this.stroke.cells.some(([i, j]) => i === at[0] && j === at[1])) return;
    this.stroke.cells.push(at);
    this.preview();
  }

  preview() {
    for (const at of this.stroke.cells) this.cells.get(keyOf(...at)).dataset.preview = this.stroke.kind ?? "none";
  }

  end() {
    const stroke = this.stroke;
    this.stroke = null;
    if (!stroke) return;
    for (const at of stroke.cells) delete this.cells.get(keyOf(...at))?.dataset.preview;
    if (!stroke.touch) this.act(stroke.cells, stroke.kind);
  }

  // A tap; a mouse's click has been dealt with.
  tap(event) {
    const at = this.placeOf(event);
    if (!at || event.pointerType !== "touch") return;
    const now = this.pair.links.get(keyOf(...at)) ?? null;
    this.focus(...at);
    this.act([at], now === this.toolOf() ? null : this.toolOf());
  }

  key(event) {
    const at = this.placeOf(event);
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    const [i, j] = at, now = this.pair.links.get(keyOf(i, j)) ?? null, tool = event.shiftKey ? "possible" : this.toolOf();
    if (event.key in ARROWS) {
      const [down, right] = ARROWS[event.key];
      this.focus(i + down, j + (this.frame.dir === "rtl" ? -right : right));
    } else if (event.key === "Home") this.focus(i, 0);
    else if (event.key === "End") this.focus(i, this.pair.target.length - 1);
    else if (event.key === " " || event.key === "Enter") this.act([at], now === tool ? null : tool);
    else if (event.key === "Delete" || event.key === "Backspace") this.act([at], null);
    else if (event.key === "s" || event.key === "p") this.act([at], event.key === "s" ? "sure" : "possible");
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  focused(event) {
    const at = this.placeOf(event);
    if (!at) return;
    const before = this.cells.get(keyOf(...this.at));
    if (before) before.tabIndex = -1;
    this.at = at;
    this.cells.get(keyOf(...at)).tabIndex = 0;
    this.look({ i: at[0], j: at[1] });
  }

  focus(i, j) {
    const cell = this.cells.get(keyOf(i, j));
    if (!cell) return;
    cell.focus({ preventScroll: true });
    this.reveal(cell);
  }

  // The cell in sight, and not under the labels that stay.
  reveal(cell) {
    const { frame } = this;
    const box = frame.getBoundingClientRect(), at = cell.getBoundingClientRect();
    const corner = frame.querySelector(".corner").getBoundingClientRect();
    const rtl = frame.dir === "rtl";
    const left = rtl ? box.left : corner.right, right = rtl ? corner.left : box.right;
    if (at.top < corner.bottom) frame.scrollTop -= corner.bottom - at.top;
    if (at.bottom > box.bottom - 12) frame.scrollTop += at.bottom - box.bottom + 12;
    if (at.left < left) frame.scrollLeft -= left - at.left;
    if (at.right > right) frame.scrollLeft += at.right - right;
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  focusHere() {
    this.cells.get(keyOf(...this.at))?.focus();
  }
}

function label(word, scope, attributes) {
  const hidden = hiddenIn(word);
  const notes = [word.length > 14 ? word : null, hidden.length ? `contains ${hidden.join(" ")}` : null].filter(Boolean);
  return element("th", { scope, class: hidden.length ? "hides" : null, title: notes.join("; ") || null, ...attributes }, element("bdi", {}, word));
}
