// The dictionary: a word of either side, its translations, the places of one of them, and from there the pair.

import { directionOf, element, grouped, isolated, plural, shape } from "./words.js";

const TYPING = 120; // milliseconds without a key before words are asked for
const TOKENS = 300; // words of a sentence that are shown

// `ask`: {words(text), translations(word, side), places(word, translation, side, start)}, all of which promise.
// `open(hit, side)` goes to a pair, `changed()` is told that `place` is another one.
export function dictionaryTab({ ask, open, changed }) {
  const field = document.getElementById("word"), choices = document.getElementById("words");
  const host = document.getElementById("translations"), found = document.getElementById("places");
  const place = { word: "", side: "source", translation: "" };
  let words = [], active = -1, timer = 0, asked = 0;

  // The answer to the newest question; what is older is thrown away, and what went wrong is said.
  async function newest(question) {
    const mine = ++asked;
    try {
      const answer = await question;
      return mine === asked ? answer : null;
    } catch (error) {
      if (mine === asked) host.replaceChildren(element("p", { class: "nothing-found" }, error.message));
      return null;
    }
  }

  // ---- words that begin as what is typed

  async function suggest() {
    const text = field.value.trim();
    const answer = text ? await newest(ask.words(text)) : [];
    if (!answer) return;
    words = answer;
    active = -1;
    choices.replaceChildren(
      ...words.map(({ word, side, count }, k) =>
        element("div", { id: `word-${k}`, role: "option", "aria-selected": false, class: "choice", "data-k": k }, isolated(word), element("small", {}, `${side} · ${grouped(count)}`))),
    );
    if (text && !words.length) host.replaceChildren(element("p", { class: "nothing-found" }, "No word begins like that."));
    unfold(words.length > 0);
  }

  function unfold(yes) {
    choices.hidden = !yes;
    field.setAttribute("aria-expanded", yes);
    if (!yes) field.removeAttribute("aria-activedescendant");
  }

  function point(k) {
    active = (k + words.length) % words.length;
    [...choices.children].forEach((choice, n) => choice.setAttribute("aria-selected", n === active));
    field.setAttribute("aria-activedescendant", `word-${active}`);
    choices.children[active].scrollIntoView({ block: "nearest" });
  }

  async function take() {
    clearTimeout(timer);
    if (choices.hidden) await suggest();
    const chosen = words[Math.max(0, active)];
    unfold(false);
    if (chosen) look(chosen);
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(suggest, TYPING);
  });
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && words.length && !choices.hidden) point(active < 0 && step < 0 ? words.length - 1 : active + step);
    else if (event.key === "Enter") take();
    else if (event.key === "Escape" && !choices.hidden) unfold(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  field.addEventListener("blur", () => unfold(false));
  choices.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  choices.addEventListener("click", (event) => {
    const choice = event.target.closest(".choice");
    if (!choice) return;
    unfold(false);
    look(words[Number(choice.dataset.k)]);
  });

  // ---- one word

  async function look({ word, side, translation = "" }) {
    const answer = await newest(ask.translations(word, side));
    if (!answer) return;
    Object.assign(place, { word, side, translation });
    field.value = word;
    found.replaceChildren();
    drawTranslations(answer);
    changed();
    const entry = answer.translations.find((one) => one.word === translation) ?? answer.translations[0];
    if (entry) await show(entry, entry.word === translation);
  }

  function drawTranslations({ word, side, count, unlinked, number, translations }) {
    const rows = translations.map((entry) =>
      element(
        "tr",
        { "data-word": entry.word, onclick: () => show(entry, true) },
        element("th", { scope: "row" }, element("button", { class: "word" }, isolated(entry.word))),
        element("td", { class: "chance" }, bar(entry.probability), chance(entry.probability)),
        element("td", {}, chance(entry.reverse)),
        element("td", {}, grouped(entry.count)),
      ));
    const facts = [`${side} word`, plural(count, "place"), unlinked ? `${grouped(unlinked)} without a link` : null];
    const head = [["Translation", null], ["p", "probability of the translation, given the word"], ["back", "probability of the word, given the translation"], ["links", null]];
    host.replaceChildren(
      element("h2", {}, isolated(word)),
      element("p", { class: "note" }, facts.filter(Boolean).join(" · ")),
      translations.length
        ? element(
            "table",
            {},
            element("caption", { class: "unseen-label" }, "Translations, the most probable first"),
            element("thead", {}, element("tr", {}, ...head.map(([name, title]) => element("th", { scope: "col", title }, name)))),
            element("tbody", {}, ...rows),
          )
        : element("p", { class: "nothing-found" }, "It is never linked."),
    );
    if (number > translations.length) host.append(element("p", { class: "note" }, `${grouped(number - translations.length)} more are rarer.`));
  }

  // Among the translations the arrows go up and down.
  host.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], row = event.target.closest("tr");
    if (!step || !row) return;
    (step > 0 ? row.nextElementSibling : row.previousElementSibling)?.querySelector("button").focus();
    event.preventDefault();
    event.stopPropagation();
  });

  // ---- the places of one translation

  async function show(entry, chosen) {
    const answer = await newest(ask.places(place.word, entry.word, place.side, 0));
    if (!answer) return;
    for (const row of host.querySelectorAll("tbody tr")) {
      const yes = row.dataset.word === entry.word;
      row.classList.toggle("chosen", yes);
      row.querySelector("button").setAttribute("aria-pressed", yes);
    }
    place.translation = chosen ? entry.word : "";
    const list = element("div", { class: "hits" });
    const heading = element("h2", {}, isolated(place.word), " – ", isolated(entry.word));
    found.replaceChildren(heading, list);
    found.scrollTop = 0;
    more(list, entry, answer);
    if (chosen && matchMedia("(max-width: 760px)").matches) found.scrollIntoView();
    changed();
  }

  function more(list, entry, { hits, next }) {
    list.append(...hits.map((hit) => drawHit(hit)));
    if (next === null) return;
    const button = element("button", { class: "more" }, "More places");
    button.addEventListener("click", async () => {
      const answer = await newest(ask.places(place.word, entry.word, place.side, next));
      if (!answer) return;
      button.remove();
      const before = list.children.length;
      more(list, entry, answer);
      list.children[before]?.querySelector("button").focus();
    });
    list.append(button);
  }

  function drawHit(hit) {
    const { side } = place;
    const go = element("button", { class: "to-pair", title: "Show this pair", "data-pair": hit.pair, onclick: () => open(hit, side) }, `Pair ${grouped(hit.pair)}`);
    const lines = [sentenceLine(hit.words, hit.here), sentenceLine(hit.others, hit.there)];
    return element("article", { class: "hit" }, go, ...(side === "source" ? lines : lines.reverse()));
  }

  return {
    place,
    look,
    // The same place with other numbers.
    again: () => (place.word ? look({ ...place }) : null),
    focus: () => field.focus(),
  };
}

function chance(value) {
  return value >= 0.995 ? "1.00" : value < 0.005 ? "< .01" : value.toFixed(2).slice(1);
}

function bar(value) {
  return shape("svg", { class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, shape("rect", { width: Math.max(0.8, 100 * value).toFixed(1), height: 8 }));
}

// A whole sentence, with some of its words lit; a very long one begins shortly before them.
function sentenceLine(words, lit) {
  const marked = new Set(lit), first = Math.max(0, Math.min((lit[0] ?? 0) - TOKENS / 2, words.length - TOKENS));
  const parts = first > 0 ? ["… "] : [];
  for (let n = first; n < Math.min(words.length, first + TOKENS); n++) {
    if (n > first) parts.push(" ");
    parts.push(marked.has(n) ? element("mark", {}, isolated(words[n])) : isolated(words[n]));
  }
  if (first + TOKENS < words.length) parts.push(" …");
  return element("p", { class: "hit-line", dir: directionOf(words) }, ...parts);
}
