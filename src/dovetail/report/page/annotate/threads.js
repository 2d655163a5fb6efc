// The two sentences with a line for each link: side by side as two rows of words, or as two columns where rows would not fit.

import { directionOf, element, hiddenIn, shape } from "../words.js";

export class Threads {
  // `act(cells, kind)` changes links; `look(cell)` says what the pointer or the focus is on; `tell(text)` speaks.
  constructor(host, { act, look, toolOf, tell }) {
    Object.assign(this, { host, act, look, toolOf, tell });
    this.chosen = null; // {side, n}: the word that waits for its partner
    this.drag = null;
    host.addEventListener("pointerdown", (event) => this.begin(event));
    host.addEventListener("pointerover", (event) => this.look(cellOf(event.target)));
    host.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.look(null));
    host.addEventListener("focusin", (event) => this.look(cellOf(event.target)));
    host.addEventListener("click", (event) => this.click(event));
    host.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("pointermove", (event) => this.move(event));
    window.addEventListener("pointerup", (event) => this.end(event));
    window.addEventListener("pointercancel", () => this.stop());
  }

  draw(pair) {
    this.pair = pair;
    this.chosen = this.drag = null;
    this.lines = [this.line(pair.source, "i", "Source"), this.line(pair.target, "j", "Target")];
    this.canvas = shape("svg", { class: "curves", "aria-hidden": "true" });
    const mixed = this.lines[0].dir !== this.lines[1].dir;
    this.box = element("div", { class: mixed ? "links mixed" : "links" }, ...this.lines, this.canvas);
    this.host.replaceChildren(this.box);
    this.place();
  }

  line(words, side, label) {
    const tokens = words.map((word, n) => {
      const hidden = hiddenIn(word);
      const title = hidden.length ? `contains ${hidden.join(" ")}` : null;
      return element("button", { class: hidden.length ? "token hides" : "token", type: "button", [`data-${side}`]: n, tabindex: n ? -1 : 0, "aria-pressed": false, title }, element("bdi", {}, word));
    });
    if (!tokens.length) tokens.push(element("i", { class: "empty" }, "no words"));
    return element("div", { class: `line line-${side}`, role: "toolbar", "aria-label": `${label} words`, dir: directionOf(words) }, ...tokens);
  }

  // Where the words stand depends on the room there is.
  place() {
    if (!this.box) return;
    this.box.classList.remove("columns");
    if (!this.box.clientWidth) return;
    this.box.classList.toggle("columns", this.lines.some((row) => row.scrollWidth > this.box.clientWidth + 1));
    this.update();
  }

  // Shows the links as they are now.
  update() {
    const frame = this.box.getBoundingClientRect(), columns = this.box.classList.contains("columns");
    this.spots = this.lines.map((row) =>
      [...row.querySelectorAll(".token")].map((token) => {
        const at = token.getBoundingClientRect();
        return { left: at.left - frame.left, right: at.right - frame.left, top: at.top - frame.top, bottom: at.bottom - frame.top };
      }),
    );
    this.canvas.setAttribute("width", frame.width);
    this.canvas.setAttribute("height", frame.height);
    const partners = [this.pair.source.map(() => []), this.pair.target.map(() => [])];
    const curves = [];
    for (const [key, kind] of this.pair.links) {
      const [i, j] = key.split("-").map(Number);
      partners[0][i].push([this.pair.target[j], kind]);
      partners[1][j].push([this.pair.source[i], kind]);
      const path = pathBetween(this.spots[0][i], this.spots[1][j], columns);
      // A wide stroke that cannot be seen, to be hit by a pointer.
      curves.push(shape("path", { d: path, class: "grip", "data-i": i, "data-j": j }), shape("path", { d: path, class: `curve by-hand ${kind}`, "data-i": i, "data-j": j }));
    }
    this.loose = shape("path", { class: "curve by-hand loose" });
    this.canvas.replaceChildren(...curves, this.loose);
    for (const token of this.box.querySelectorAll(".token")) {
      const side = "i" in token.dataset ? 0 : 1;
      const linked = partners[side][Number(side ? token.dataset.j : token.dataset.i)];
      token.classList.toggle("alone", !linked.length);
      const said = linked.map(([word, kind]) => (kind === "possible" ? `${word} (possible)` : word)).join(", ");
      token.setAttribute("aria-label", `${token.textContent}: ${said ? "linked with " + said : "no link"}`);
    }
  }

  light(i, j) {
    const both = i !== undefined && j !== undefined;
    for (const node of this.box.querySelectorAll(".token, .curve")) {
      const own = node.dataset.i !== undefined ? Number(node.dataset.i) : undefined, other = node.dataset.j !== undefined ? Number(node.dataset.j) : undefined;
      const curve = own !== undefined && other !== undefined;
      node.classList.toggle("lit", curve ? (both ? own === i && other === j : own === i || other === j) : (own !== undefined && own === i) || (other !== undefined && other === j));
    }
  }

  choose(cell) {
    this.chosen = cell;
    for (const token of this.box.querySelectorAll(".token")) {
      const on = cell !== null && String(cell.n) === token.dataset[cell.side];
      token.classList.toggle("chosen", on);
      token.setAttribute("aria-pressed", String(on));
    }
    if (cell) this.tell(`Now its partner on the other side, or Escape.`);
  }

  // A word was pressed: the first waits, the second on the other side is linked with it, or parted from it.
  press(word, shift) {
    if (!this.chosen || this.chosen.side === word.side) {
      this.choose(this.chosen && this.chosen.n === word.n ? null : word);
      if (!this.chosen) this.tell("");
      return;
    }
    const at = word.side === "i" ? [word.n, this.chosen.n] : [this.chosen.n, word.n];
    this.choose(null);
    this.tell("");
    this.toggle(at, shift);
  }

  toggle(at, shift) {
    const tool = shift ? "possible" : this.toolOf();
    this.act([at], this.pair.links.get(at.join("-")) === tool ? null : tool);
  }

  click(event) {
    const grip = event.target.closest?.(".grip");
    if (grip) return this.act([[Number(grip.dataset.i), Number(grip.dataset.j)]], null);
    const word = wordOf(event.target);
    if (word && !this.dragged) this.press(word, event.shiftKey);
    this.dragged = false;
  }

  begin(event) {
    const word = wordOf(event.target);
    this.dragged = false;
    if (word && event.button === 0 && event.pointerType !== "touch") this.drag = { ...word, x: event.clientX, y: event.clientY };
  }

  move(event) {
    if (!this.drag) return;
    if (Math.hypot(event.clientX - this.drag.x, event.clientY - this.drag.y) < 6 && !this.dragged) return;
    this.dragged = true;
    const frame = this.box.getBoundingClientRect(), columns = this.box.classList.contains("columns");
    const x = event.clientX - frame.left, y = event.clientY - frame.top;
    const here = { left: x, right: x, top: y, bottom: y };
    const spot = this.spots[this.drag.side === "i" ? 0 : 1][this.drag.n];
    const path = this.drag.side === "i" ? pathBetween(spot, here, columns) : pathBetween(here, spot, columns);
    this.loose.setAttribute("d", path);
  }

  end(event) {
    const drag = this.drag;
    this.stop();
    if (!drag || !this.dragged) return;
    const word = wordOf(document.elementFromPoint(event.clientX, event.clientY));
    if (word && word.side !== drag.side) this.toggle(drag.side === "i" ? [drag.n, word.n] : [word.n, drag.n], event.shiftKey);
  }

  stop() {
    this.drag = null;
    this.loose?.removeAttribute("d");
  }

  key(event) {
    const word = wordOf(event.target);
    if (!word || event.ctrlKey || event.metaKey || event.altKey) return;
    const token = event.target.closest(".token"), line = token.parentElement;
    const columns = this.box.classList.contains("columns");
    const along = columns ? ["ArrowUp", "ArrowDown"] : line.dir === "rtl" ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
    const across = columns ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (along.includes(event.key)) step(token, event.key === along[1] ? token.nextElementSibling : token.previousElementSibling);
    else if (across.includes(event.key)) this.cross(word);
    else if (event.key === "Escape" && this.chosen) {
      this.choose(null);
      this.tell("");
    } else if (event.key === " " || event.key === "Enter") this.press(word, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // To the other sentence: to a word that this one is linked with, or to that at the same place.
  cross(word) {
    const other = this.lines[word.side === "i" ? 1 : 0].querySelectorAll(".token");
    const links = [...this.pair.links.keys()].map((key) => key.split("-").map(Number));
    const partner = links.find(([i, j]) => (word.side === "i" ? i : j) === word.n);
    const n = partner ? partner[word.side === "i" ? 1 : 0] : Math.min(word.n, other.length - 1);
    if (other[n]) step(other[n], other[n]);
  }

  focusHere() {
    this.box?.querySelector('.token[tabindex="0"]')?.focus();
  }
}

function step(from, to) {
  if (!to?.matches(".token")) return;
  for (const token of to.parentElement.children) token.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

function wordOf(node) {
  const token = node?.closest?.(".token");
  if (!token) return null;
  return "i" in token.dataset ? { side: "i", n: Number(token.dataset.i) } : { side: "j", n: Number(token.dataset.j) };
}

function cellOf(node) {
  const grip = node.closest?.(".grip");
  if (grip) return { i: Number(grip.dataset.i), j: Number(grip.dataset.j) };
  const word = wordOf(node);
  return word && { [word.side]: word.n };
}

function pathBetween(from, to, columns) {
  if (columns) {
    const [x, y, u, v] = [from.right + 2, (from.top + from.bottom) / 2, to.left - 2, (to.top + to.bottom) / 2];
    const bend = (u - x) / 2;
    return `M${x},${y}C${x + bend},${y} ${u - bend},${v} ${u},${v}`;
  }
  const [x, y, u, v] = [(from.left + from.right) / 2, from.bottom + 1, (to.left + to.right) / 2, to.top - 1];
  const bend = (v - y) * 0.55;
  return `M${x},${y}C${x},${y + bend} ${u},${v - bend} ${u},${v}`;
}
