// A new study: drop a sheet, see how each column is used, correct it, start.

import { byId, fill, h, wordsOf } from "/pages/dom.js";
import { post, sheetOf } from "/pages/server.js";

/** The sheet that was dropped: it outlives the change of views. */
let dropped = null;

/** A place for a sheet, by mouse, finger or keyboard. */
export function dropZone(attempt) {
  const take = (file) =>
    attempt(async () => {
      dropped = { file: file.name, ...(await sheetOf(file)) };
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
    h("p", {}, h("label", { for: "sheet" }, h("b", {}, "Drop a sheet here"), " or choose a file: CSV or Excel, with column names in the first line.")),
    h("p", {}, input),
  );
  return zone;
}

/** What a column can be used as. */
const ROLES = [
  ["auto", "Automatic"],
  ["linear", "Linear"],
  ["log", "Logarithmic"],
  ["categories", "Categories"],
  ["id", "Names the rows"],
  ["cost", "Cost of the row"],
  ["ignore", "Not used"],
];

/** The field that a problem is about. */
const FIELDS = {
  "direction-missing": "good-maximize",
  "target-outside": "target",
  "not-a-range": "bounds",
  "range-reversed": "bounds",
  "not-a-goal": "also-name-0",
  "name-missing": "name",
  "name-unusable": "name",
  "study-exists": "name",
};

export async function newStudy({ main, attempt, say }) {
  document.title = "new study – icee";
  if (!dropped) {
    fill(main, h("h1", {}, "New study"), dropZone(attempt));
    return;
  }
  const { file, sheet, guessed } = dropped;
  let all;
  try {
    // Without any choice all columns are inputs, so that all are shown. Any direction will do.
    all = await post("survey", null, { sheet, direction: "maximize" });
  } catch (error) {
    // It would be refused every time; the next one may be fixed.
    if ([0, 401, 403, 429, 503].includes(error.status)) throw error;
    dropped = null;
    throw Object.assign(error, { message: `${file} cannot be used: ${error.message}` });
  }
  const state = { value: "", direction: "", target: null, bounds: "", also: [], roles: {} };
  for (const { column, is_result } of all.suspects) {
    if (is_result && !state.value) state.value = column;
    else state.roles[column] = "ignore";
  }
  const form = h("form", { onsubmit: (event) => event.preventDefault() });
  const other = h("details", {}, h("summary", {}, "Choose another sheet"), dropZone(attempt));
  fill(
    main,
    h("h1", {}, "New study"),
    h("p", {}, `${file}: ${all.summary.rows} rows. Check how the columns are used, then start.`, guessed ? " The file is not UTF-8, so letters like ä, µ and ° were read as Windows writes them. Check them, too." : null),
    form,
    other,
  );
  let survey = all;
  const look = () =>
    attempt(async () => {
      // What is half typed does not count yet, and numbers change nothing in how columns are read.
      const also = state.also.filter(({ name }) => name.trim()).map(({ name }) => ({ name, wanted: "max" }));
      const chosen = { ...request({ ...state, bounds: "", also }), direction: "maximize", target: undefined };
      try {
        survey = await post("survey", null, { sheet, ...chosen });
      } finally {
        // What was chosen may be refused; it can be chosen otherwise, and the sheet be another one.
        if (survey === all) other.open = true;
        draw();
      }
    });
  const start = async (event) => {
    event.preventDefault();
    if (!form.reportValidity()) return;
    const create = async () => {
      const name = byId("name").value.trim();
      const { notes } = await post("create", null, { name, sheet, ...request(state) });
      dropped = null;
      // The view of the study begins with nothing said. What stands on this page was read.
      const read = new Set([...wordsOf(survey.notes), ...wordsOf(notes.filter(({ code }) => code === "suspect"))]);
      const news = wordsOf(notes).filter((words) => !read.has(words));
      window.addEventListener("hashchange", () => say(news), { once: true });
      location.hash = `#/study/${encodeURIComponent(name)}`;
    };
    await attempt(create, ({ problem }) => byId(FIELDS[problem?.code])?.focus());
  };
  const draw = () => {
    const focused = document.activeElement?.id;
    const name = byId("name")?.value ?? nameOf(file);
    fill(form, fields(state, all, survey, name, { look, draw }), h("p.line", {}, h("button.main", { onclick: start }, "Start the study")));
    if (focused) byId(focused)?.focus();
  };
  await look();
}

/** What can be wanted of a further result: as requests have it, in words, and whether it goes with a number. */
const WANTED = [
  ["max", "high results", false],
  ["min", "low results", false],
  ["=", "results near", true],
  [">=", "at least", true],
  ["<=", "at most", true],
];
const needsNumber = (wanted) => WANTED.find(([sign]) => sign === wanted)[2];

/** What was chosen, as a request has it. */
function request({ value, direction, target, bounds, also, roles }) {
  const chosen = {};
  if (value) chosen.value = value;
  if (direction === "target") chosen.target = target;
  else if (direction) chosen.direction = direction;
  if (bounds.trim()) chosen.bounds = bounds.trim();
  if (also.length) chosen.also = also.map(({ name, wanted, number }) => `${name.trim()} ${wanted} ${needsNumber(wanted) ? number.trim() : ""}`.trim());
  const outcomes = new Set([value, ...also.map(({ name }) => name.trim())]);
  for (const [column, role] of Object.entries(roles)) {
    if (outcomes.has(column)) continue;
    if (role === "id" || role === "cost") chosen[role] = column;
    else if (role !== "auto") (chosen[role] ??= []).push(column);
  }
  return chosen;
}

/** A name that a study can have, from that of a file. */
const nameOf = (file) => file.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_-]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 64) || "study";

function fields(state, all, survey, name, { look, draw }) {
  const columns = all.preview.map((column) => column.name);
  const option = (value, text, chosen) => h("option", { value, selected: value === chosen }, text);
  const values = h(
    "select",
    { id: "value", onchange: () => {
      state.value = values.value;
      state.also = state.also.filter(({ name }) => name !== state.value && (!state.value || columns.includes(name)));
      look();
    } },
    option("", "none: I record results here", state.value),
    columns.map((column) => option(column, column, state.value)),
  );
  const isTarget = () => state.direction === "target";
  const good = (direction, text) =>
    h("label", {}, h("input", { type: "radio", name: "direction", id: `good-${direction}`, checked: state.direction === direction, onchange: () => { state.direction = direction; target.required = isTarget(); } }), text);
  // The browser reads this number, in the notation of its language.
  const target = h("input.number", { type: "number", step: "any", id: "target", "aria-label": "Target", required: isTarget(), value: state.target ?? "", oninput: () => {
    state.target = target.valueAsNumber;
    state.direction = "target";
    target.required = true;
    byId("good-target").checked = true;
  } });
  // What is left out anyway need not be left out.
  const used = new Set(survey.summary.columns.map(([column]) => column));
  const notes = survey.notes.filter(({ code, column }) => code !== "suspect" && (code !== "dates" || used.has(column)));
  return [
    h("fieldset", {}, h("legend", {}, "Results"),
      h("p.line", {}, h("label", { for: "value" }, "Results are in the column"), values),
      h("p.line", {}, "Good results are", good("maximize", "high"), good("minimize", "low"), h("span.line", {}, good("target", "near a number:"), target)),
      moreGoals(state, columns, draw, look)),
    h("fieldset", {}, h("legend", {}, "Columns"), columnTable(state, all, survey, look)),
    h("p.line", {}, h("label", { for: "name" }, "Name of the study"), h("input", { id: "name", value: name, required: true, maxlength: 64, autocomplete: "off" })),
    notes.length ? h("div.message", {}, h("ul", {}, wordsOf(notes).map((words) => h("li", {}, words)))) : null,
  ];
}

/** The range of results, and additional goals. */
function moreGoals(state, columns, draw, look) {
  const bounds = h("input", { id: "bounds", autocomplete: "off", size: 10, placeholder: "0..100", value: state.bounds, oninput: () => { state.bounds = bounds.value; } });
  const goal = (one, at) => {
    const about = { id: `also-name-${at}`, "aria-label": `result ${at + 2}`, onchange: () => { one.name = name.value; look(); } };
    // Where results are in the sheet, all of them are.
    const name = state.value
      ? h("select", about, ["", ...columns.filter((column) => column !== state.value)].map((column) => h("option", { value: column, selected: column === one.name }, column || "which column?")))
      : h("input", { ...about, list: "also-columns", autocomplete: "off", size: 14, placeholder: "pH", value: one.name, oninput: () => { one.name = name.value; } });
    const wanted = h("select", { id: `also-wanted-${at}`, "aria-label": `goal for result ${at + 2}`, onchange: () => { one.wanted = wanted.value; draw(); } },
      WANTED.map(([sign, words]) => h("option", { value: sign, selected: sign === one.wanted }, words)));
    const number = h("input.number", { id: `also-number-${at}`, inputmode: "decimal", autocomplete: "off", "aria-label": "number", value: one.number, oninput: () => { one.number = number.value; } });
    const away = h("button.plain", { type: "button", onclick: () => { state.also.splice(at, 1); look(); } }, "Remove");
    return h("p.line", {}, name, wanted, needsNumber(one.wanted) ? number : null, away);
  };
  const add = () => {
    state.also.push({ name: "", wanted: "max", number: "" });
    draw();
    byId(`also-name-${state.also.length - 1}`).focus();
  };
  const details = h("details", { open: state.more || state.also.length > 0, ontoggle: () => { state.more = details.open; } },
    h("summary", {}, "Range and additional goals"),
    h("p.line", {}, h("label", {}, "Range of results", bounds), h("span.quiet", {}, "for a yield in percent 0..100, for a price 0..")),
    h("datalist", { id: "also-columns" }, columns.map((column) => h("option", { value: column }))),
    state.also.length ? h("p", {}, "Additional goals") : null,
    state.also.map(goal),
    h("p", {}, h("button", { type: "button", onclick: add }, "Add a goal")));
  return details;
}

/** What is said of columns that are no inputs. */
const TAKEN = { id: "names the rows", cost: "cost of the row" };

const brief = (cell) => (cell.length > 40 ? `${cell.slice(0, 39)}…` : cell);

function columnTable(state, all, survey, look) {
  const used = new Map(survey.summary.columns);
  const suspects = new Map(all.suspects.map(({ column, reason }) => [column, reason]));
  const row = ({ name: column, cells }, at) => {
    const role = state.roles[column] ?? "auto";
    const outcome = column === state.value || state.also.some(({ name }) => name.trim() === column);
    const what = outcome ? "result" : TAKEN[role] ?? used.get(column) ?? "not used";
    const choose = h(
      "select",
      {
        id: `role-${at}`,
        "aria-label": `use ${column} as`,
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
      h("td.cells", { "data-name": "first rows" }, cells.some(Boolean) ? [cells.slice(0, 3).map((cell) => brief(cell) || "–").join(", "), cells.length > 3 ? " …" : ""] : h("span.quiet", {}, "empty")),
      h("td", { "data-name": "used as" }, what, suspects.has(column) ? h("small.warm", {}, `It ${suspects.get(column)}.`) : null),
      h("td", { "data-name": "use as" }, outcome ? null : choose));
  };
  const head = ["column", "first rows", "used as", "use as"].map((name) => h("th", { scope: "col" }, name));
  return h("div.table", {}, h("table.cards", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, all.preview.map(row))));
}
