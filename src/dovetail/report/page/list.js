// The list of pairs: rows of one height, of which only those in view exist.

import { REORDERS, directionOf, element, isolated } from "./words.js";

export const ROW = 66;
const MARGIN = 4; // rows above and below the view

// `fill(row, n)` writes pair n into a row; `choose(n)` is called when one is clicked.
export function pairList(host, fill, choose) {
  const ground = element("div", { class: "ground" });
  host.append(ground);
  const rows = new Map();
  let order = new Uint32Array(0), selected = -1, waiting = false;

  function draw() {
    waiting = false;
    const first = Math.max(0, Math.floor(host.scrollTop / ROW) - MARGIN);
    const last = Math.min(order.length, Math.ceil((host.scrollTop + host.clientHeight) / ROW) + MARGIN);
    const spare = [];
    for (const [place, row] of rows) {
      if (place >= first && place < last) continue;
      rows.delete(place);
      spare.push(row);
    }
    for (let place = first; place < last; place++) {
      if (rows.has(place)) continue;
      const row = spare.pop() ?? ground.appendChild(element("div", { class: "row", role: "option" }));
      rows.set(place, row);
      write(row, place);
    }
    for (const row of spare) row.remove();
  }

  function write(row, place) {
    const n = order[place];
    row.style.transform = `translateY(${place * ROW}px)`;
    row.id = `row-${n}`;
    row.dataset.n = n;
    row.setAttribute("aria-posinset", place + 1);
    row.setAttribute("aria-setsize", order.length);
    row.setAttribute("aria-selected", n === selected);
    fill(row, n);
  }

  function mark() {
    for (const row of rows.values()) row.setAttribute("aria-selected", Number(row.dataset.n) === selected);
    if (document.getElementById(`row-${selected}`)) host.setAttribute("aria-activedescendant", `row-${selected}`);
    else host.removeAttribute("aria-activedescendant");
  }

  host.addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(draw);
    waiting = true;
  }, { passive: true });
  host.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) choose(Number(row.dataset.n));
  });
  new ResizeObserver(draw).observe(host);

  return {
    // Other pairs, or the same ones with other facts.
    show(pairs) {
      order = pairs;
      ground.style.height = `${order.length * ROW}px`;
      for (const [place, row] of rows) {
        if (place < order.length) write(row, place);
        else {
          rows.delete(place);
          row.remove();
        }
      }
      draw();
      mark();
    },
    select(n, scroll) {
      selected = n;
      const place = order.indexOf(n);
      if (scroll && place >= 0) {
        const top = place * ROW;
        if (top < host.scrollTop) host.scrollTop = top;
        else if (top + ROW > host.scrollTop + host.clientHeight) host.scrollTop = top + ROW - host.clientHeight;
        draw();
      }
      mark();
    },
    top() {
      host.scrollTop = 0;
    },
    get order() {
      return order;
    },
  };
}

const SHOWN = 60, BEFORE = 3; // words of a sentence on one line; words before the first that was searched for

// A sentence on one line, with the words that were searched for lit, from shortly before them if it is long.  Where a word
// could turn its neighbours round, each word stands alone; else one node will do.
export function rowLine(words, hits) {
  const [hit] = hits, first = hit > 2 * BEFORE ? hit - BEFORE : 0;
  const seen = words.slice(first, first + SHOWN), text = seen.join(" ");
  const parts =
    hits.size || REORDERS.test(text)
      ? seen.flatMap((word, n) => [hits.has(first + n) ? element("mark", {}, isolated(word)) : isolated(word), " "])
      : [isolated(text || "–")];
  if (first) parts.unshift("… ");
  return element("div", { class: "sentence", dir: directionOf(words) }, ...parts);
}
