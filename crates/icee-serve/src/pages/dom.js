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

/** A number as people write it: four digits that count. */
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

/** A number as people type it, with a decimal point or comma; null where there is nothing, NaN where it is none. A comma before three digits
    may separate thousands as well, so that is none. */
export function number(text) {
  const plain = (text ?? "").trim().replace("\u2212", "-");
  if (plain === "") return null;
  if (/,\d{3}$/.test(plain) || !/^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i.test(plain)) return NaN;
  return Number(plain.replace(",", "."));
}

/** Why a text is no number. */
export function noNumber(text) {
  const plain = (text ?? "").trim();
  if (plain === "") return "There is no number yet.";
  const [, thousands, rest] = /^([+-]?\d+),(\d{3})$/.exec(plain) ?? [];
  if (thousands) return `"${plain}" is no number here: the comma could stand between thousands. Type ${thousands}.${rest} or ${thousands}${rest}.`;
  return `"${plain}" is no number; type one like 1200.5.`;
}

/** What the server says to command lines, in the words of this page. */
const WORDS = [
  [/ \(as names of the rows: --id\)/g, "; if they name the rows, take the column as \"the name of the row\""],
  [/add --ignore "[^"]*"/g, "take it as \"not to be learned from\""],
  [/add --value "[^"]*"/g, "choose it as the column with results"],
  [/create the study with --id COLUMN/g, "take a column as \"the name of the row\""],
  [/create the study with --id [^;,)]*/g, "take it as \"the name of the row\""],
  [/ \(a column that names the rows, --id, keeps this from happening\)/g, ""],
  [/; --replace corrects it, --again adds another measurement/g, "; \"correct\" below takes another value, \"measured again\" adds one"],
  [/`icee study update \S+ --keep` keeps what is known of it, `icee study (forget|withdraw)` drops it/g,
    (_, way) => `tick "rows whose cells have changed keep their results", or choose "${way === "forget" ? "forget" : "Give back"}" for it first`],
  [/`icee study update --replace` takes what stands here/g, "tick \"results in the sheet take the place of those in the study\""],
  [/`icee study forget` drops/g, "\"forget\" drops"],
  [/; --keep needs one/g, ""],
  [/give it back first: `icee study withdraw [^`]*`/g, "choose \"Give back\" for it first"],
  [/drop it with `icee study (forget|withdraw) [^`]*`/g, (_, way) => `choose "${way === "forget" ? "forget" : "Give back"}" for it`],
  [/, or put it away with `icee study delete [^`]*`/g, ""],
  [/`icee study best` and `report` say what was found/g, "this page and its report say what was found"],
  [/created with --bounds 0\.\./g, "whose results lie between 0 and no upper end"],
  [/no row that is left satisfies --where/g, "no row that is left satisfies the wish"],
  [/; create it with POST \/api\/studies/g, ""],
  [/; choose fewer with --columns/g, "; take some as \"not to be learned from\""],
  [/; use --columns to leave columns out/g, "; take some as \"not to be learned from\""],
];
export const plainly = (words) => WORDS.reduce((text, [there, here]) => text.replace(there, here), words);
