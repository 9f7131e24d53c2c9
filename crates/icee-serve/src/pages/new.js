// A new study: drop a sheet, see what was understood of each column, correct it, start.

import { byId, fill, h, noNumber, number, plainly } from "/pages/dom.js";
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
    h("p", {}, h("label", { for: "sheet" }, h("b", {}, "Drop a sheet here"), " or choose one: CSV or Excel, with a line of column names.")),
    h("p", {}, input),
  );
  return zone;
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
  const { file, guessed } = dropped;
  let all;
  try {
    // Without any choice all columns are learned from, so that all are shown.
    all = await post("/api/survey", sheet);
  } catch (error) {
    // It would be refused every time; the next one may be mended.
    if ([0, 401, 403, 429, 503].includes(error.status)) throw error;
    dropped = null;
    throw Object.assign(error, { message: `${file} cannot be used: ${error.message}` });
  }
  const state = { value: "", direction: "", target: "", low: "", high: "", also: [], roles: {} };
  for (const { column, is_result } of all.suspects) {
    if (is_result && !state.value) state.value = column;
    else state.roles[column] = "ignore";
  }
  const form = h("form", { onsubmit: (event) => event.preventDefault() });
  const other = h("details", {}, h("summary", {}, "Take another sheet"), dropZone(attempt));
  fill(
    main,
    h("h1", {}, "New study"),
    h("p", {}, `${file}: ${all.rows} rows. Check what was understood, then start.`, guessed ? " The file is no UTF-8, so letters like ä, µ and ° were read as Windows writes them: check them, too." : null),
    form,
    other,
  );
  let survey = all;
  const look = () =>
    attempt(async () => {
      // What is half typed does not count yet, and numbers change nothing in what is understood.
      const also = state.also.filter(({ name }) => name.trim()).map(({ name }) => ({ name, wish: "max" }));
      const wanted = request({ ...state, low: "", high: "", also });
      try {
        // Any direction will do to understand the columns.
        survey = await post("/api/survey", { ...sheet, ...wanted, direction: wanted.target === undefined ? wanted.direction ?? "maximize" : undefined });
      } finally {
        // What was chosen may be refused; it can be chosen otherwise, and the sheet be another one.
        if (survey === all) other.open = true;
        draw();
      }
    });
  const start = (event) => {
    event.preventDefault();
    const [words, id] = problem(state) ?? [];
    if (words) {
      say(words, true);
      byId(id)?.focus();
      return;
    }
    attempt(async () => {
      const name = byId("name").value.trim();
      const summary = await post("/api/studies", { name, ...sheet, ...request(state) });
      dropped = null;
      // The view of the study begins with nothing said.
      const read = (note) => survey.notes.includes(note) || all.suspects.some(({ reason }) => note.includes(reason));
      const news = summary.notes.filter((note) => !read(note));
      window.addEventListener("hashchange", () => say(news), { once: true });
      location.hash = `#/study/${name}`;
    });
  };
  const draw = () => {
    const focused = document.activeElement?.id;
    const name = byId("name")?.value ?? nameOf(file);
    fill(form, fields(state, all, survey, name, { look, draw }), h("p.line", {}, h("button.main", { onclick: start }, "Start the study")));
    if (focused) byId(focused)?.focus();
  };
  await look();
}

/** What can be wanted of a further outcome: as requests have it, in words, and whether it goes with a number. */
const WISHES = [
  ["max", "high values", false],
  ["min", "low values", false],
  ["=", "values near", true],
  [">=", "at least", true],
  ["<=", "at most", true],
];
const needsNumber = (wish) => WISHES.find(([sign]) => sign === wish)[2];
const OUTCOMES = 8;

/** What is wrong with a wish. */
function wishProblem({ name, wish, number: typed }) {
  if (!name.trim()) return "A further outcome has no name yet; type one, or take it away.";
  if (needsNumber(wish) && !Number.isFinite(number(typed))) return `${name.trim()}: ${noNumber(typed)}`;
  return null;
}

/** What is missing, in words, and the field for it. */
function problem({ direction, target, low, high, also }) {
  if (!direction) return ["Which values are good: high ones, low ones, or those near a number? Choose one.", "good-maximize"];
  if (direction === "target" && !Number.isFinite(number(target))) return [`Good are values near which number? ${noNumber(target)}`, "target"];
  for (const [id, typed] of [["low", low], ["high", high]]) {
    if (Number.isNaN(number(typed))) return [noNumber(typed), id];
  }
  const wrong = also.findIndex(wishProblem);
  return wrong >= 0 ? [wishProblem(also[wrong]), needsNumber(also[wrong].wish) && also[wrong].name.trim() ? `also-number-${wrong}` : `also-name-${wrong}`] : null;
}

/** What was chosen, as a request has it. */
function request({ value, direction, target, low, high, also, roles }) {
  const wanted = {};
  if (value) wanted.value = value;
  if (direction === "target" && Number.isFinite(number(target))) wanted.target = number(target);
  else if (direction === "maximize" || direction === "minimize") wanted.direction = direction;
  if (low.trim() || high.trim()) wanted.bounds = `${number(low) ?? ""}..${number(high) ?? ""}`;
  if (also.length) wanted.also = also.map(({ name, wish, number: typed }) => `${name.trim()} ${wish}${needsNumber(wish) ? ` ${number(typed)}` : ""}`);
  const outcomes = new Set([value, ...also.map(({ name }) => name.trim())]);
  for (const [column, role] of Object.entries(roles)) {
    if (outcomes.has(column)) continue;
    if (role === "id" || role === "cost") wanted[role] = column;
    else if (role !== "auto") (wanted[role] ??= []).push(column);
  }
  return wanted;
}

/** A name that a study can have, from that of a file. */
const nameOf = (file) => file.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 64) || "study";

function fields(state, all, survey, name, { look, draw }) {
  const columns = all.preview.map(([column]) => column);
  const option = (value, text, chosen) => h("option", { value, selected: value === chosen }, text);
  const values = h(
    "select",
    { id: "value", onchange: () => {
      state.value = values.value;
      state.also = state.also.filter(({ name }) => name !== state.value && (!state.value || columns.includes(name)));
      look();
    } },
    option("", "no column: I type results in here", state.value),
    columns.map((column) => option(column, column, state.value)),
  );
  const good = (direction, text) =>
    h("label", {}, h("input", { type: "radio", name: "direction", id: `good-${direction}`, checked: state.direction === direction, onchange: () => { state.direction = direction; } }), text);
  const target = h("input.number", { inputmode: "decimal", autocomplete: "off", id: "target", "aria-label": "target", value: state.target, oninput: () => { state.target = target.value; state.direction = "target"; byId("good-target").checked = true; } });
  const notes = survey.notes.filter((note) => {
    // What is left out anyway need not be left out.
    const [, column] = /^column "(.*)" has dates/.exec(note) ?? [];
    return !column || survey.columns.some(([learned]) => learned === column);
  });
  return [
    h("fieldset", {}, h("legend", {}, "What is measured?"),
      h("p.line", {}, h("label", { for: "value" }, "column with results"), values),
      h("p.line", {}, "Good are ", good("maximize", "high values"), good("minimize", "low values"), h("span.line", {}, good("target", "values near"), target)),
      moreWishes(state, columns, draw, look)),
    h("fieldset", {}, h("legend", {}, "What do the columns mean?"), columnTable(state, all, survey, look)),
    h("p.line", {}, h("label", { for: "name" }, "name of the study"), h("input", { id: "name", value: name, required: true, maxlength: 64, pattern: "[A-Za-z0-9_\\-]+", autocomplete: "off" })),
    notes.length ? h("div.message", {}, h("ul", {}, notes.map((note) => h("li", {}, plainly(note))))) : null,
  ];
}

/** Ends of what can be measured, and what is measured besides. */
function moreWishes(state, columns, draw, look) {
  const end = (id, label) => {
    const box = h("input.number", { id, inputmode: "decimal", autocomplete: "off", value: state[id], oninput: () => { state[id] = box.value; } });
    return h("label", {}, label, box);
  };
  const outcome = (one, at) => {
    const told = { id: `also-name-${at}`, "aria-label": "further outcome", onchange: () => { one.name = name.value; look(); } };
    // Where results are filled in, all of them are.
    const name = state.value
      ? h("select", told, ["", ...columns.filter((column) => column !== state.value)].map((column) => h("option", { value: column, selected: column === one.name }, column || "which column?")))
      : h("input", { ...told, list: "also-columns", autocomplete: "off", size: 14, placeholder: "pH", value: one.name, oninput: () => { one.name = name.value; } });
    const wish = h("select", { id: `also-wish-${at}`, "aria-label": `what is wanted of further outcome ${at + 1}`, onchange: () => { one.wish = wish.value; draw(); } },
      WISHES.map(([sign, words]) => h("option", { value: sign, selected: sign === one.wish }, words)));
    const typed = h("input.number", { id: `also-number-${at}`, inputmode: "decimal", autocomplete: "off", "aria-label": "number", value: one.number, oninput: () => { one.number = typed.value; } });
    const away = h("button.plain", { type: "button", onclick: () => { state.also.splice(at, 1); look(); } }, "take away");
    return h("p.line", {}, name, wish, needsNumber(one.wish) ? typed : null, away);
  };
  const add = () => {
    state.also.push({ name: "", wish: "max", number: "" });
    draw();
    byId(`also-name-${state.also.length - 1}`).focus();
  };
  const details = h("details", { open: state.more || state.also.length > 0, ontoggle: () => { state.more = details.open; } },
    h("summary", {}, "limits, and what else is measured"),
    h("p.line", {}, "Results can only lie ", end("low", "from"), end("high", "to"), h("span.quiet", {}, "such as 0 to 100 for a yield in percent; either may be left empty")),
    h("datalist", { id: "also-columns" }, columns.map((column) => h("option", { value: column }))),
    state.also.length ? h("p", {}, "Wanted besides:") : null,
    state.also.map(outcome),
    state.also.length < OUTCOMES ? h("p", {}, h("button", { type: "button", onclick: add }, "Add a further outcome")) : null);
  return details;
}

/** What is said of columns that are taken for something else than what is learned from. */
const TAKEN = { id: "names the rows", cost: "says what a row costs" };

const brief = (cell) => (cell.length > 40 ? `${cell.slice(0, 39)}…` : cell);

function columnTable(state, all, survey, look) {
  const understood = new Map(survey.columns);
  const doubts = new Map(all.suspects.map(({ column, reason }) => [column, reason]));
  const row = ([column, cells], at) => {
    const role = state.roles[column] ?? "auto";
    const outcome = column === state.value || state.also.some(({ name }) => name.trim() === column);
    const what = outcome ? "what is measured" : TAKEN[role] ?? understood.get(column) ?? "not learned from";
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
      h("td.cells", { "data-name": "first rows" }, cells.some(Boolean) ? [cells.slice(0, 3).map((cell) => brief(cell) || "–").join(", "), cells.length > 3 ? " …" : ""] : h("span.quiet", {}, "empty")),
      h("td", { "data-name": "understood as" }, what, doubts.has(column) ? h("small.warm", {}, `It ${doubts.get(column)}.`) : null),
      h("td", { "data-name": "take as" }, outcome ? null : choose));
  };
  const head = ["column", "first rows", "understood as", "take as"].map((name) => h("th", { scope: "col" }, name));
  return h("div.table", {}, h("table.cards", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, all.preview.map(row))));
}
