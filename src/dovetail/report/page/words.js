// Words are data: they enter the page as text nodes only, each isolated from what stands around it.

const RIGHT_TO_LEFT =
  /[\u0590-\u05ff\u0600-\u07bf\u0840-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LETTER = /\p{L}/u;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;
export const REORDERS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const JOINERS = /^[\u200c\u200d]$/; // Persian and Indic spelling: nothing to warn of

// An element with attributes and children; strings become text nodes, so nothing in them is ever markup.
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-") && value !== null) node.setAttribute(name, String(value));
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// The direction in which a sentence runs: that of its first letter.
export function directionOf(words) {
  for (const word of words) {
    const letter = word.match(LETTER);
    if (letter) return RIGHT_TO_LEFT.test(letter[0]) ? "rtl" : "ltr";
  }
  return "ltr";
}

// What a word hides: "U+202E", ...; empty where everything in it can be seen.
export function hiddenIn(word) {
  return (word.match(HIDDEN) ?? [])
    .filter((letter) => !JOINERS.test(letter))
    .map((letter) => "U+" + letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
}

export function isolated(word) {
  return element("bdi", {}, word);
}

export function percent(value, digits = 1) {
  return (100 * value).toFixed(digits);
}

export function grouped(number) {
  return number.toLocaleString("en");
}

export function plural(number, thing) {
  return `${grouped(number)} ${thing}${number === 1 ? "" : "s"}`;
}
