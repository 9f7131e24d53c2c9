// A new study: drop a sheet, see what was understood of each column, correct it, start.

import { byId, fill, h } from "/pages/dom.js";
import { post } from "/pages/server.js";

/** The sheet that was dropped: it outlives the change of views. */
let dropped = null;

/** A place for a sheet, by mouse, finger or keyboard. */
export function dropZone(attempt) {
  const take = (file) =>
    attempt(async () => {
      dropped = { file: file.name, ...(await contents(file)) };
      if (location.hash === "#/new") window.dispatchEvent(new HashChangeEvent("hashchange"));
      else location.hash = "#/new";
    });
  const input = h("input", {
    type: "file",
    id: "sheet",
    accept: ".csv,.tsv,.txt,.xlsx,.xlsm",
    onchange: () => input.files.length && take(input.files[0]),
  });
  const zone = h(
    "div.drop",
    {
      ondragover: (event) => {
        event.preventDefault();
        zone.classList.add("over");
      },
      ondragleave: () => zone.classList.remove("over"),
      ondrop: (event) => {
        event.preventDefault();
        zone.classList.remove("over");
        if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
      },
    },
    h("p", {}, h("label", { for: "sheet" }, h("b", {}, "Drop a sheet here"), " or choose one: CSV or Excel, with a line of column names.")),
    h("p", {}, input),
  );
  return zone;
}

/** A file as requests have it: text where it is text. */
async function contents(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    return { sheet: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    let binary = "";
    for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return { sheet_base64: btoa(binary) };
  }
}

/** What a column can be taken for. */
const ROLES = [
  ["auto", "as understood"],
  ["linear", "numbers"],
  ["log", "numbers, by orders of magnitude"],
  ["categories", "kinds"],
  ["id", "the name of the row"],
  ["cost", "what trying the row costs"],
  ["ignore", "not to be learned from"],
];

export async function newStudy({ main, attempt, say }) {
  document.title = "new study – icee";
  if (!dropped) {
    fill(main, h("h1", {}, "New study"), dropZone(attempt));
    return;
  }
  const sheet = "sheet" in dropped ? { sheet: dropped.sheet } : { sheet_base64: dropped.sheet_base64 };
  // Without any choice all columns are learned from, so that all are shown.
  const all = await post("/api/survey", sheet);
  const state = { value: "", direction: "", target: "", roles: {} };
  for (const { column, is_result } of all.suspects) {
    if (is_result && !state.value) state.value = column;
    else state.roles[column] = "ignore";
  }
  const form = h("form", { onsubmit: (event) => event.preventDefault() });
  fill(main, h("h1", {}, "New study"), h("p", {}, `${dropped.file}: ${all.rows} rows. Check what was understood, then start.`), form);
  let survey = null;
  const look = () =>
    attempt(async () => {
      const wanted = request(state);
      // Any direction will do to understand the columns.
      survey = await post("/api/survey", { ...sheet, ...wanted, direction: wanted.target === undefined ? wanted.direction ?? "maximize" : undefined });
      draw();
    });
  const start = (event) => {
    event.preventDefault();
    attempt(async () => {
      const name = byId("name").value.trim();
      const summary = await post("/api/studies", { name, ...sheet, ...request(state) });
      dropped = null;
      location.hash = `#/study/${name}`;
      say(summary.notes);
    });
  };
  const draw = () => {
    const focused = document.activeElement?.id;
    const name = byId("name")?.value ?? nameOf(dropped.file);
    fill(form, fields(state, all, survey, name, look), h("p.line", {}, h("button.main", { onclick: start }, "Start the study")));
    if (focused) byId(focused)?.focus();
  };
  await look();
}

/** What was chosen, as a request has it. */
function request({ value, direction, target, roles }) {
  const wanted = {};
  if (value) wanted.value = value;
  if (direction === "target" && target !== "") wanted.target = Number(target);
  else if (direction === "maximize" || direction === "minimize") wanted.direction = direction;
  for (const [column, role] of Object.entries(roles)) {
    if (role === "id" || role === "cost") wanted[role] = column;
    else if (role !== "auto" && column !== value) (wanted[role] ??= []).push(column);
  }
  return wanted;
}

/** A name that a study can have, from that of a file. */
const nameOf = (file) => file.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 64) || "study";

function fields(state, all, survey, name, look) {
  const columns = all.preview.map(([column]) => column);
  const option = (value, text, chosen) => h("option", { value, selected: value === chosen }, text);
  const values = h(
    "select",
    { id: "value", onchange: () => { state.value = values.value; look(); } },
    option("", "no column: I type results in here", state.value),
    columns.map((column) => option(column, column, state.value)),
  );
  const good = (direction, text) =>
    h("label", {}, h("input", { type: "radio", name: "direction", id: `good-${direction}`, checked: state.direction === direction, onchange: () => { state.direction = direction; } }), text);
  const target = h("input", { type: "number", step: "any", id: "target", "aria-label": "target", value: state.target, oninput: () => { state.target = target.value; state.direction = "target"; byId("good-target").checked = true; } });
  return [
    h("fieldset", {}, h("legend", {}, "What is measured?"),
      h("p.line", {}, h("label", { for: "value" }, "column with results"), values),
      h("p.line", {}, "Good are ", good("maximize", "high values"), good("minimize", "low values"), h("span.line", {}, good("target", "values near"), target))),
    h("fieldset", {}, h("legend", {}, "What do the columns mean?"), columnTable(state, all, survey, look)),
    h("p.line", {}, h("label", { for: "name" }, "name of the study"), h("input", { id: "name", value: name, required: true, maxlength: 64, pattern: "[A-Za-z0-9_\\-]+", autocomplete: "off" })),
    survey.notes.length ? h("div.message", {}, h("ul", {}, survey.notes.map((note) => h("li", {}, note)))) : null,
  ];
}

function columnTable(state, all, survey, look) {
  const understood = new Map(survey.columns);
  const doubts = new Map(all.suspects.map(({ column, reason }) => [column, reason]));
  const row = ([column, cells], at) => {
    const role = state.roles[column] ?? "auto";
    const what = column === state.value ? "what is measured" : understood.get(column) ?? "not learned from";
    const choose = h(
      "select",
      {
        id: `role-${at}`,
        "aria-label": `take ${column} as`,
        onchange: () => {
          // Only one column can name the rows, and only one be the cost.
          for (const [other, its] of Object.entries(state.roles)) if (its === choose.value && (its === "id" || its === "cost")) state.roles[other] = "auto";
          state.roles[column] = choose.value;
          look();
        },
      },
      ROLES.map(([value, text]) => h("option", { value, selected: value === role }, text)),
    );
    return h("tr", {}, h("th", { scope: "row" }, column),
      h("td", { "data-name": "first rows" }, cells.slice(0, 3).join(", "), cells.length > 3 ? " …" : ""),
      h("td", { "data-name": "understood as" }, what, doubts.has(column) ? h("small.warm", {}, `It ${doubts.get(column)}.`) : null),
      h("td", { "data-name": "take as" }, column === state.value ? null : choose));
  };
  const head = ["column", "first rows", "understood as", "take as"].map((name) => h("th", { scope: "col" }, name));
  return h("div.table", {}, h("table.cards", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, all.preview.map(row))));
}
