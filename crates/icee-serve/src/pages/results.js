// Results, the latest first, and how to correct them.

import { h, percent, short } from "/pages/dom.js";
import { outcomes } from "/pages/running.js";

/** Rows that are shown at first, and how many more at a time. */
const FEW = 25;
const MORE = 500;

export function resultRows(study) {
  const { told } = study.summary;
  if (!told.length) return h("p.quiet", {}, "None yet.");
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

/** The Pareto front. */
export function frontRows(summary) {
  const { front } = summary;
  if (!front.length) return h("p.quiet", {}, "No row keeps all constraints yet.");
  const words = front.length === 1 ? "One Pareto-optimal row:" : `${front.length} Pareto-optimal rows: none is better than another in every objective.`;
  return [h("h2", {}, "Pareto front"), h("p", {}, words), table(summary, front.slice(0, MORE))];
}

function table(summary, rows, last) {
  const names = Object.keys(rows[0].cells);
  const head = ["row", ...outcomes(summary), ...names, ...(last ? [""] : [])].map((name) => h("th", { scope: "col" }, name));
  const line = (row) => h("tr", {}, cellsOf(summary, row, names), last ? h("td", {}, last(row)) : null);
  return h("div.table", {}, h("table.cards", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map(line))));
}

function cellsOf(summary, { id, value, values, further = [], status, cells }, names) {
  const result = value === null ? h("span.bad", {}, status) : short(value);
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
  const ask = (question, before, how) => () => {
    const typed = [];
    for (const [at, name] of names.entries()) {
      const text = prompt(names.length > 1 ? `${question}\n\n${name}:` : question, before[at] ?? "");
      if (text === null || (at === 0 && text.trim() === "")) return;
      typed.push(text.trim());
    }
    const others = names.flatMap((name, at) => (at === 0 || typed[at] === "" ? [] : [[name, typed[at]]]));
    study.change("tell", { row: id, value: typed[0], further: Object.fromEntries(others), ...how });
  };
  const known = [value, ...further.map(([, measured]) => measured)];
  return [
    h("button.plain", { onclick: ask(`The result of row ${id}, which replaces the earlier one:`, known, { replace: true }) }, "Correct"),
    value === null ? null : h("button.plain", { onclick: ask(`Another result of row ${id}:`, [], { again: true }) }, "Add a replicate"),
    h("button.plain", { onclick: () => study.change("forget", { rows: [id] }) }, "Delete results"),
  ];
}

/** The most promising rows that are left. */
export function promisingRows({ rows, columns }) {
  const head = ["row", "predicted", "95 %", "chance of a new best", ...columns.map(({ name }) => name)].map((name) => h("th", { scope: "col" }, name));
  const line = ({ id, mean, low, high, beats_best }, at) => h("tr", {},
    h("th", { scope: "row" }, id),
    [["predicted", short(mean)], ["95 %", `${short(low)} to ${short(high)}`], ["chance of a new best", percent(beats_best)]].map(([name, cell]) => h("td.number", { "data-name": name }, cell)),
    columns.map(({ name, cells }) => h("td", { "data-name": name }, cells[at])));
  return h("div.table", {}, h("table.cards", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map(line))));
}
