// What is done with a study now and then: a result of any row, a sheet that has changed, taking back, deleting.

import { h } from "/pages/dom.js";
import { get, remove, sheetOf } from "/pages/server.js";
import { outcomeFields } from "/pages/running.js";

/** Told rows up to which all that ever happened is looked at to say what came last. */
const FEW_TOLD = 5000;
/** Rows that are named. */
const NAMED = 5;

/** A form for what came out of a row that nobody has asked for. */
export function anyRow(study) {
  const row = h("input.number", { id: "any-row", autocomplete: "off", required: true });
  const outcome = outcomeFields(study, "any-value", "the row");
  const tell = async (body) => {
    if (!row.value.trim()) {
      study.say("Which row? Type its number or its name.", true);
      row.focus();
      return;
    }
    if (body && (await study.change("tell", { row: row.value.trim(), ...body }))) {
      row.value = "";
      outcome.clear();
      row.focus();
    }
  };
  const save = (event) => {
    event.preventDefault();
    tell(outcome.read());
  };
  return h("details", {}, h("summary", {}, "Type in the result of another row"),
    h("form.line", { onsubmit: save },
      h("label", {}, "row ", row), outcome.fields,
      h("button.main", { id: "any-save" }, "Save"),
      h("button", { type: "button", onclick: () => tell({ failed: true }) }, "Failed"),
      h("button", { type: "button", onclick: () => tell({ impossible: true }) }, "Cannot be made")));
}

/** A form for the sheet as it is now. */
export function newSheet(study) {
  const file = h("input", { type: "file", id: "new-sheet", accept: ".csv,.tsv,.txt,.xlsx,.xlsm", required: true });
  const tick = (id, words) => h("label", {}, h("input", { type: "checkbox", id }), words);
  const keep = tick("keep", "rows whose cells have changed keep their results");
  const replace = tick("replace", "results in the sheet take the place of those in the study");
  const send = async (event) => {
    event.preventDefault();
    const { sheet, sheet_base64 } = await sheetOf(file.files[0]);
    const answer = await study.change("update", { sheet, sheet_base64, keep: keep.firstChild.checked, replace: replace.firstChild.checked });
    if (!answer) return;
    const { changed, rows_before, rows, told } = answer;
    const results = told.new + told.again + told.replaced;
    const words = `The sheet was taken in: ${rows_before} rows before, ${rows} now; ${results === 1 ? "one result" : `${results} results`} from it.`;
    study.say([changed || results ? words : "That is the sheet as it was: nothing has changed.", ...(answer.notes ?? [])]);
    event.target.reset();
  };
  return h("details", {}, h("summary", {}, "The sheet has changed"),
    h("form", { onsubmit: send },
      h("p", {}, "New rows, corrected cells, results filled in: give the whole sheet as it is now. Nothing is taken in where that could lose a result."),
      h("p.line", {}, file), h("p.line", {}, keep), h("p.line", {}, replace),
      h("p", {}, h("button", { id: "take-in" }, "Take it in"))));
}

/** Takes back the last change, when it is clear whose it is and what. */
export async function undo(study) {
  const last = await study.attempt(() => lastChange(study));
  if (!last) return;
  if (!last.words) study.say("Nothing has happened yet: there is nothing to take back.");
  else if (confirm(`The last change: ${last.words}.\n\nTake it back?`)) await study.change("undo", { lines: last.lines });
}

/** What happened last, in words, and the number of lines that the study has then. */
async function lastChange({ path, summary }) {
  if (summary.told.length > FEW_TOLD) return { words: "whatever came last, also if somebody else has done it", lines: summary.lines };
  const { journal } = await get(`${path}/journal`);
  const all = journal.trimEnd().split("\n");
  const counting = [];
  for (const line of all.slice(1)) {
    if (line.startsWith('{"undo"')) counting.pop();
    else counting.push(line);
  }
  const entries = counting.map((line) => JSON.parse(line));
  return { words: entries.length ? described(entries) : null, lines: all.length };
}

const called = ({ row, id }) => id ?? String(row);

/** The last of some entries, in words. */
function described(entries) {
  const last = entries[entries.length - 1];
  const list = (names) => `${names.length === 1 ? "row" : "rows"} ${names.slice(0, NAMED).join(", ")}${names.length > NAMED ? ` and ${names.length - NAMED} more` : ""}`;
  if (last.ask) return `${list(last.ask.rows.map(called))} asked for${last.ask.by ? ` by ${last.ask.by}` : ""}`;
  if (last.withdraw) return `${list(last.withdraw.rows.map(called))} given back`;
  if (last.forget) return `${list(last.forget.rows.map(called))} forgotten`;
  if (last.sheet) return "the changed sheet taken in";
  if (!last.tell) return "going on with another model";
  const { outcomes, late } = last.tell;
  const whose = new Set([late, ...outcomes.map(({ row }) => holder(entries, row))].filter(Boolean));
  const told = outcomes.map(({ row, value, impossible }) => `${called(row)} (${value ?? (impossible ? "cannot be made" : "failed")})`);
  return `the result of ${list(told)}${whose.size ? `, which ${[...whose].join(", ")} had` : ""}`;
}

/** Who had asked for a row. */
function holder(entries, row) {
  for (let at = entries.length - 2; at >= 0 && !entries[at].sheet; at -= 1) {
    if (entries[at].ask?.rows.some((other) => called(other) === called(row))) return entries[at].ask.by;
  }
  return undefined;
}

/** Puts the study away. */
export async function deleteStudy(study) {
  const told = study.summary.told.length;
  const lost = told ? ` with its ${told === 1 ? "result" : `${told} results`}` : "";
  if (!confirm(`Delete the study "${study.name}"${lost}, for everybody? Whoever runs the server can bring it back.`)) return;
  if (await study.attempt(() => remove(study.path))) location.hash = "#";
}
