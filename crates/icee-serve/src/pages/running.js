// Rows in progress, with forms for their results.

import { byId, fill, h, percent, short, when, wordsOf } from "/pages/dom.js";

/** A list that is kept up to date. Cards of rows that stay in progress stay as they are: you may be typing there. What you typed into one
    that someone else has finished meanwhile stays, too, until you say what to do with it. */
export function runningRows(study) {
  const list = h("ol.rows");
  const none = h("p.quiet", {}, "No row is in progress.");
  const cards = new Map();
  const left = (id, typed) => {
    if (list.querySelector(`li.left[data-row="${CSS.escape(id)}"]`)) return;
    const card = leftOver(study, id, typed, () => card.remove());
    list.prepend(card);
  };
  let latest = [];
  // A reservation may expire while nothing else happens.
  const clock = setInterval(() => latest.forEach((row) => cards.get(row.id)?.update(row)), 30_000);
  study.left.addEventListener("abort", () => clearInterval(clock));
  const update = (rows) => {
    latest = rows;
    none.hidden = rows.length > 0;
    const running = new Set(rows.map((row) => row.id));
    let focused = false;
    for (const [id, { element, outcome, saving }] of cards) {
      if (running.has(id)) continue;
      focused ||= element.contains(document.activeElement);
      element.remove();
      cards.delete(id);
      if (outcome.typed() && !saving()) left(id, outcome);
    }
    for (const row of rows) {
      if (!cards.has(row.id)) {
        const lost = (outcome) => { if (!cards.has(row.id) && outcome.typed()) left(row.id, outcome); };
        cards.set(row.id, card(study, row, lost));
        list.append(cards.get(row.id).element);
      }
      cards.get(row.id).update(row);
    }
    // If you were at work on a row that is done, the next one is at hand.
    if (focused) (list.querySelector("input, button") ?? byId("ask"))?.focus();
  };
  return { element: h("div", {}, none, list), update };
}

/** The names of the results, the main one first. */
export function outcomes({ goals, value_column }) {
  return [value_column ?? "result", ...goals.slice(1).map(({ name }) => name)];
}

/** Fields for the results of a row. `read` gives them as a request has them, as they were typed. `refused` goes to the field that a problem
    is about. */
export function outcomeFields(study, prefix, row) {
  const names = outcomes(study.summary);
  const id = (at) => (at ? `${prefix}-${at}` : prefix);
  const fields = names.map((name, at) => h("input.number", { id: id(at), inputmode: "decimal", autocomplete: "off", "aria-label": `${name} of ${row}`, placeholder: name }));
  const typed = () => fields.map((field) => field.value.trim()).filter(Boolean).join(", ");
  const read = () => {
    const all = fields.flatMap((field, at) => (field.value.trim() ? [[names[at], field.value.trim()]] : []));
    const further = Object.fromEntries(all.filter(([name]) => name !== names[0]));
    return fields[0].value.trim() ? { value: fields[0].value.trim(), further } : { further };
  };
  const refused = ({ problem }) => (fields.find((field) => field.value.trim() === problem?.text) ?? fields[0]).focus();
  const clear = () => fields.forEach((field) => { field.value = ""; });
  return { fields, typed, read, refused, clear };
}

function card(study, { id, cells, repeat }, lost) {
  const outcome = outcomeFields(study, `value-${id}`, `row ${id}`);
  let saving = false;
  let holder = null;
  const change = async (verb, request, refused) => {
    saving = true;
    const reply = await study.change(verb, request, refused);
    saving = false;
    return reply;
  };
  const record = async (result) => {
    // Someone else was faster.
    if (!(await change("tell", { row: id, ...result }, outcome.refused))) lost(outcome);
  };
  const save = (event) => {
    event.preventDefault();
    record(outcome.read());
  };
  // In the name that the card says: if someone else has the row by now, it is refused.
  const release = () => change("withdraw", { rows: [id], by: holder });
  const renew = () => {
    const within = prompt(`Reserve row ${id} from now for (90m, 8h, 3d):`, "8h");
    if (within?.trim()) change("renew", { rows: [id], within: within.trim(), by: holder });
  };
  const extend = h("button.plain", { type: "button", onclick: renew }, "Extend");
  const about = h("small");
  const expected = h("p");
  const why = h("small");
  const update = ({ until, by, forecast, reasons }) => {
    holder = by;
    extend.hidden = !until;
    const isLate = until && until * 1000 < Date.now();
    const facts = [
      by ? `reserved by ${by}` : null,
      isLate ? h("span.warm", {}, `Reservation expired ${when(until)}`) : until ? `until ${when(until)}` : null,
      repeat ? "replicate" : null,
    ];
    fill(about, facts.filter(Boolean).map((fact) => [" · ", fact]));
    fill(expected, forecast ? prediction(study.summary, forecast) : "No prediction yet.");
    fill(why, reasons.join("; "));
  };
  const element = h("li.card", { "data-row": id },
    h("h3", {}, `Row ${id}`, about),
    h("p", {}, inWords(cells)),
    expected,
    h("p", {}, why),
    h("form.line", { onsubmit: save },
      outcome.fields,
      h("button.main", {}, "Record"),
      h("button", { type: "button", onclick: () => record({ failed: true }) }, "Failed"),
      h("button", { type: "button", onclick: () => record({ impossible: true }) }, "Impossible"),
      extend,
      h("button.plain", { type: "button", onclick: release }, "Release")));
  return { element, update, outcome, saving: () => saving };
}

/** What you typed for a row that was recorded or released meanwhile. */
function leftOver(study, id, outcome, close) {
  const measured = study.summary.told.find((row) => row.id === id);
  const known = measured && (measured.value === null ? measured.status : short(measured.value));
  const words = measured ? `Someone has recorded a result meanwhile: ${known}.` : "This row is not in progress any more.";
  const send = (how) => async () => {
    if (await study.change("tell", { row: id, ...outcome.read(), ...how }, outcome.refused)) close();
  };
  const ways = measured
    ? [h("button", { type: "button", onclick: send({ again: true }) }, "Add a replicate"), h("button", { type: "button", onclick: send({ replace: true }) }, "Correct the result")]
    : [h("button", { type: "button", onclick: send({}) }, "Record")];
  return h("li.card.left", { "data-row": id, role: "alert" },
    h("h3", {}, `Row ${id}`),
    h("p", {}, words, " You had typed:"),
    h("div.line", {}, outcome.fields, ways, h("button.plain", { type: "button", onclick: close }, "Discard")));
}

/** How many results are to be as good as possible; constraints are to be kept. */
export const objectives = ({ goals }) => goals.filter((goal) => goal.is_objective).length;

const inWords = (cells) => Object.entries(cells).map(([name, cell], at) => [at ? ", " : "", h("span.quiet", {}, `${name} `), cell]);

function prediction(summary, { mean, low, high, beats_best, further = [] }) {
  const one = (name, { mean, low, high }) => `${name} ${short(mean)} (95 %: ${short(low)} to ${short(high)})`;
  const all = [one(outcomes(summary)[0], { mean, low, high }), ...further.map((other) => one(other.name, other))];
  const isLimited = further.some(({ holds }) => holds !== null);
  let chance = "of a new best";
  if (!summary.best && !summary.front.length) chance = isLimited ? "of keeping all constraints" : "of beating the earlier study";
  else if (objectives(summary) > 1) chance = "of joining the Pareto front";
  else if (isLimited) chance = "of a new best within all constraints";
  return `Predicted ${all.join(", ")}. ${percent(beats_best)} chance ${chance}.`;
}

/** What is predicted of a row, why, and the measured rows most like it. */
export function explained({ summary }, { id, cells, forecast, reasons, nearest, notes }) {
  const like = ({ id, value, differs }) => {
    const different = Object.keys(differs).length ? [", with ", inWords(differs)] : ", with the same cells";
    return h("li", {}, `Row ${id}: ${short(value)}`, different);
  };
  return h("div.message", {},
    h("p", {}, h("b", {}, `Row ${id}`), " ", inWords(cells)),
    h("p", {}, forecast ? prediction(summary, forecast) : "No prediction yet."),
    h("p", {}, h("small", {}, reasons.join("; "))),
    nearest.length ? [h("p", {}, "The measured rows most like it:"), h("ul", {}, nearest.map(like))] : null,
    wordsOf(notes).map((words) => h("p.quiet", {}, words)));
}
