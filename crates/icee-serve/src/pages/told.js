// What was told, the latest first, and how to correct it.

import { h, noNumber, number, short } from "/pages/dom.js";
import { outcomes } from "/pages/running.js";

/** Rows that are shown at first, and how many more at a time. */
const FEW = 25;
const MORE = 500;

export function toldRows(study) {
  const { told } = study.summary;
  if (!told.length) return h("p.quiet", {}, "Nothing yet.");
  const count = study.shown ?? FEW;
  const latest = told.slice(-count).reverse();
  const more = () => {
    study.shown = count + MORE;
    study.attempt(study.refresh);
  };
  const left = told.length - latest.length;
  return [
    table(study.summary, latest, (row) => corrections(study, row)),
    left > 0 ? h("button", { onclick: more }, left > MORE ? `Show ${MORE} more of ${told.length}` : `Show all ${told.length}`) : null,
  ];
}

/** The rows that are beaten by none: of two of them each is better in something. */
export function frontRows(summary) {
  const { front } = summary;
  if (!front.length) return h("p.quiet", {}, "No row keeps all limits yet.");
  const words = front.length === 1 ? "One row is beaten by none:" : `${front.length} rows are beaten by none: which is better in one thing is worse in another.`;
  return [h("h2", {}, "Best so far"), h("p", {}, words), table(summary, front.slice(0, MORE))];
}

function table(summary, rows, last) {
  const names = Object.keys(rows[0].cells);
  const head = ["row", ...outcomes(summary), ...names, ...(last ? [""] : [])].map((name) => h("th", { scope: "col" }, name));
  const line = (row) => h("tr", {}, cellsOf(summary, row, names), last ? h("td", {}, last(row)) : null);
  return h("div.table", {}, h("table.cards", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map(line))));
}

function cellsOf(summary, { id, value, values, further = [], status, cells }, names) {
  const result = value === null ? h("span.bad", {}, status === "impossible" ? "cannot be made" : "failed") : short(value);
  const several = values.length > 1 ? h("small", {}, `mean of ${values.length}`) : null;
  return [
    h("th", { scope: "row" }, id),
    h("td.number", { "data-name": outcomes(summary)[0] }, result, several),
    further.map(([name, measured]) => h("td.number", { "data-name": name }, short(measured))),
    names.map((name) => h("td", { "data-name": name }, cells[name])),
  ];
}

function corrections(study, { id, value, further = [] }) {
  const names = outcomes(study.summary);
  const ask = (question, before, route, body) => () => {
    const typed = [];
    for (const [at, name] of names.entries()) {
      const text = prompt(names.length > 1 ? `${question}\n\n${name}:` : question, before[at] ?? "");
      if (text === null || (at === 0 && text.trim() === "")) return;
      typed.push(number(text));
      if (Number.isNaN(typed[at])) {
        study.say(noNumber(text), true);
        return;
      }
    }
    const others = names.flatMap((name, at) => (at === 0 || typed[at] === null ? [] : [[name, typed[at]]]));
    study.change(route, { row: id, value: typed[0], further: Object.fromEntries(others), ...body });
  };
  const told = [value, ...further.map(([, measured]) => measured)];
  return [
    h("button.plain", { onclick: ask(`What came out of row ${id}? This takes the place of what was told.`, told, "tell", { replace: true }) }, "correct"),
    value === null ? null : h("button.plain", { onclick: ask(`What came out of row ${id} this time?`, [], "tell", { again: true }) }, "measured again"),
    h("button.plain", { onclick: () => study.change("forget", { rows: [id] }) }, "forget"),
  ];
}
