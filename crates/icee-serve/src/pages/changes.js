// What is done with a study now and then: any row, a changed sheet, other goals, undo, delete.

import { byId, fill, h, when } from "/pages/dom.js";
import { get, remove, sheetOf } from "/pages/server.js";
import { explained, outcomeFields } from "/pages/running.js";

const tick = (id, words) => h("label", {}, h("input", { type: "checkbox", id }), words);
const isTicked = (id) => byId(id).checked;

/** A form for any row: its result, or what is predicted of it. */
export function anyRow(study) {
  const row = h("input.number", { id: "any-row", autocomplete: "off", required: true });
  const outcome = outcomeFields(study, "any-value", "the row");
  const about = h("div", { role: "status" });
  const named = () => row.reportValidity() && row.value.trim();
  const record = async (result) => {
    if (!named()) return;
    const how = { replace: isTicked("any-replace"), again: isTicked("any-again") };
    if (!(await study.change("tell", { row: row.value.trim(), ...result, ...how }, outcome.refused))) return;
    row.form.reset();
    fill(about);
    row.focus();
  };
  const save = (event) => {
    event.preventDefault();
    record(outcome.read());
  };
  const predict = () => named() && study.attempt(async () => fill(about, explained(study, await get("why", study.name, { row: row.value.trim() }))));
  return h("details", {}, h("summary", {}, "Record or predict another row"),
    h("form", { onsubmit: save },
      h("p.line", {},
        h("label", {}, "Row", row), outcome.fields,
        h("button.main", { id: "any-save" }, "Record"),
        h("button", { type: "button", onclick: () => record({ failed: true }) }, "Failed"),
        h("button", { type: "button", onclick: () => record({ impossible: true }) }, "Impossible"),
        h("button", { type: "button", onclick: predict }, "Predict")),
      h("p.line", {}, tick("any-replace", "Correct earlier results"), tick("any-again", "Add a replicate"))),
    about);
}

/** A form for the sheet as it is now. */
export function newSheet(study) {
  const file = h("input", { type: "file", id: "new-sheet", accept: ".csv,.tsv,.txt,.xlsx,.xlsm", required: true });
  const send = async (event) => {
    event.preventDefault();
    const { sheet } = await sheetOf(file.files[0]);
    const reply = await study.change("update", { sheet, keep: isTicked("keep"), replace: isTicked("replace") });
    if (!reply) return;
    const { changed, rows_before, rows, told } = reply;
    const results = told.new + told.again + told.replaced;
    const words = `Sheet updated: ${rows_before} rows before, ${rows} now; ${results === 1 ? "1 result" : `${results} results`}.`;
    study.say([changed || results ? words : "The sheet has not changed.", ...reply.notes.map((note) => note.words)]);
    event.target.reset();
  };
  return h("details", {}, h("summary", {}, "Update from a sheet"),
    h("form", { onsubmit: send },
      h("p", {}, "If you have added rows, corrected cells or filled in results, send the whole sheet as it is now. If that would lose a result, nothing is changed."),
      h("p.line", {}, h("label", {}, "Sheet", file)),
      h("p.line", {}, tick("keep", "Keep results of corrected rows")),
      h("p.line", {}, tick("replace", "Correct earlier results")),
      h("p", {}, h("button", { id: "update" }, "Update"))));
}

/** A form for other goals. */
export function newGoals(study) {
  const bounds = h("input", { id: "goal-bounds", autocomplete: "off", size: 10, placeholder: "0..100" });
  const also = h("input", { id: "goal-also", autocomplete: "off", size: 20, placeholder: "purity >= 97" });
  const send = async (event) => {
    event.preventDefault();
    const request = {};
    if (bounds.value.trim()) request.bounds = bounds.value.trim();
    if (also.value.trim()) request.also = [also.value.trim()];
    if (await study.change("goals", request)) event.target.reset();
  };
  return h("details", {}, h("summary", {}, "Change the goals"),
    h("form", { onsubmit: send },
      h("p", {}, "The range is like 0..100, 0.. or ..100, or none. A goal is like purity >= 97, pH = 7 or price min; the goal of the main result stays."),
      h("p.line", {}, h("label", {}, "Range of results", bounds), h("label", {}, "Additional goals", also), h("button", { id: "change-goals" }, "Change"))));
}

/** Undoes the last step, after you have seen which it is. */
export async function undo(study) {
  const { last, lines } = study.summary;
  if (!last) {
    study.say("There is nothing to undo.");
    return;
  }
  const facts = [last.words, last.by ? `by ${last.by}` : null, last.at ? when(last.at) : null].filter(Boolean).join(", ");
  if (confirm(`The last step: ${facts}.\n\nUndo it?`)) await study.change("undo", { lines });
}

/** Deletes the study. */
export async function deleteStudy(study) {
  const results = study.summary.told.length;
  const lost = results ? ` with its ${results === 1 ? "result" : `${results} results`}` : "";
  if (!confirm(`Delete the study "${study.name}"${lost}, for everybody? The person who runs the server can bring it back.`)) return;
  await study.attempt(async () => {
    await remove(study.name);
    location.hash = "#";
  });
}
