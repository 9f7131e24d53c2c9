// What was told, the latest first, and how to correct it.

import { h, short } from "/pages/dom.js";
import { number } from "/pages/running.js";

/** Rows that are shown at first. */
const FEW = 25;

export function toldRows(study) {
  const { told, goals, value_column } = study.summary;
  if (!told.length) return h("p.quiet", {}, "Nothing yet.");
  const latest = [...told].reverse();
  const shown = study.showAll ? latest : latest.slice(0, FEW);
  const names = Object.keys(told[0].cells);
  const further = goals.slice(1).map(([name]) => name);
  const head = ["row", value_column ?? "value", ...further, ...names, ""].map((name) => h("th", { scope: "col" }, name));
  return [
    h("div.table", {}, h("table.cards", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, shown.map((row) => line(study, row, names))))),
    latest.length > shown.length ? h("button", { onclick: () => { study.showAll = true; study.attempt(study.refresh); } }, `Show all ${latest.length}`) : null,
  ];
}

function line(study, { id, value, values, further = [], status, cells }, names) {
  const main = study.summary.value_column ?? "value";
  const result = value === null ? h("span.bad", {}, status === "impossible" ? "cannot be made" : "failed") : short(value);
  const several = values.length > 1 ? h("small", {}, `mean of ${values.length}`) : null;
  const ask = (question, route, body) => () => {
    const text = prompt(question);
    const typed = number(text);
    if (typed === null) return;
    if (Number.isFinite(typed)) study.change(route, { row: id, value: typed, ...body });
    else study.say(`"${text}" is no number.`, true);
  };
  return h("tr", {},
    h("th", { scope: "row" }, id),
    h("td.number", { "data-name": main }, result, several),
    further.map(([name, measured]) => h("td.number", { "data-name": name }, short(measured))),
    names.map((name) => h("td", { "data-name": name }, cells[name])),
    h("td", {},
      h("button.plain", { onclick: ask(`What came out of row ${id}? This takes the place of what was told.`, "tell", { replace: true }) }, "correct"),
      value === null ? null : h("button.plain", { onclick: ask(`What came out of row ${id} this time?`, "tell", { again: true }) }, "measured again"),
      h("button.plain", { onclick: () => study.change("forget", { rows: [id] }) }, "forget")));
}
