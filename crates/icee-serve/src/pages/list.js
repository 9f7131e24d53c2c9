// All studies, and a place to drop a sheet for a new one.

import { fill, h, short } from "/pages/dom.js";
import { get } from "/pages/server.js";
import { dropZone } from "/pages/new.js";

export async function allStudies({ main, attempt }) {
  document.title = "icee: which experiment next?";
  // The list may take a while; a sheet can be dropped at once.
  const list = h("div", {}, h("p.quiet", {}, "One moment …"));
  fill(
    main,
    h("h1", {}, "Which experiment next?"),
    h("p", {}, "Start with a sheet of candidates, one a row. icee suggests which rows to try next, why, and what to expect."),
    dropZone(attempt),
    h("h2", {}, "Studies"),
    list,
  );
  try {
    const { studies } = await get("list");
    fill(list, studies.length ? table(studies) : h("p.quiet", {}, "None yet."));
  } catch (error) {
    fill(list);
    throw error;
  }
}

function table(studies) {
  const row = ({ name, rows, told, running, left, best, problem }) => {
    const link = h("a", { href: `#/study/${encodeURIComponent(name)}` }, name);
    if (problem) return h("tr", {}, h("th", { scope: "row" }, link), h("td.bad", { colspan: 5 }, problem));
    const cells = { rows, measured: told, "in progress": running, left, best: short(best) };
    const numbers = Object.entries(cells).map(([column, cell]) => h("td.number", { "data-name": column }, String(cell)));
    return h("tr", {}, h("th", { scope: "row" }, link), numbers);
  };
  const head = ["rows", "measured", "in progress", "left", "best"].map((name) => h("th.number", { scope: "col" }, name));
  return h(
    "div.table",
    {},
    h("table.cards", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "study"), head)), h("tbody", {}, studies.map(row))),
  );
}
