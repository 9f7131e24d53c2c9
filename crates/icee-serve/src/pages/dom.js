// Elements made by hand: what comes from a sheet or a person is only ever text.

/** An element: a tag with classes ("td.number"), properties, and what is in it (texts, elements, lists of them; null is left out). */
export function h(tag, properties, ...inside) {
  const [name, ...classes] = tag.split(".");
  return filled(document.createElement(name), classes, properties, inside);
}

/** The same in a drawing. */
export function s(tag, properties, ...inside) {
  const [name, ...classes] = tag.split(".");
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), classes, properties, inside);
}

function filled(element, classes, properties, inside) {
  element.classList.add(...classes);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Puts these in the place of all that an element holds. */
export function fill(element, ...inside) {
  element.replaceChildren(...inside.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
}

/** The element of this id. */
export const byId = (id) => document.getElementById(id);

/** A number as people write it: four significant digits. */
export function short(number) {
  if (number === null || number === undefined) return "–";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1e6 || size < 1e-4) return number.toExponential(2);
  return String(Number(number.toPrecision(4)));
}

/** A probability in percent. */
export function percent(p) {
  if (p > 0 && p < 0.01) return "under 1 %";
  if (p < 1 && p > 0.99) return "over 99 %";
  return `${Math.round(100 * p)} %`;
}

/** A time in seconds since 1970, as people write it: without the day where that is today. */
export function when(seconds) {
  const time = new Date(seconds * 1000);
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : time.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** The words of notes beside a reply. */
export const wordsOf = (notes) => (notes ?? []).map(({ words }) => words);
