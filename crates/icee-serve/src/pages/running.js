// Rows that are being tried, and forms for what comes out of them.

import { byId, fill, h, noNumber, number, percent, short } from "/pages/dom.js";

/** A list that is kept up to date. Cards of rows that go on running stay as they are: somebody may be typing there. What was typed into one
    that somebody else has finished meanwhile stays, too, until it is clear what is to become of it. */
export function runningRows(study) {
  const list = h("ol.rows");
  const none = h("p.quiet", {}, "Nothing is running. Ask which row to try next.");
  const cards = new Map();
  const left = (id, typed) => {
    if (list.querySelector(`li.left[data-row="${CSS.escape(id)}"]`)) return;
    const card = leftOver(study, id, typed, () => card.remove());
    list.prepend(card);
  };
  let latest = [];
  // Somebody's time may be up while nothing else happens.
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
    // Whoever was at work on a row that is done finds the next one at hand.
    if (focused) (list.querySelector("input, button") ?? byId("ask"))?.focus();
  };
  return { element: h("div", {}, none, list), update };
}

/** The names of what is measured, the main one first. */
export function outcomes({ goals, value_column }) {
  return [value_column ?? "value", ...goals.slice(1).map(([name]) => name)];
}

/** Fields for what came out of a row. `read` gives it as a request has it; nothing where that is no number, which it says. */
export function outcomeFields(study, prefix, row) {
  const names = outcomes(study.summary);
  const id = (at) => (at ? `${prefix}-${at}` : prefix);
  const fields = names.map((name, at) => h("input.number", { id: id(at), inputmode: "decimal", autocomplete: "off", "aria-label": `${name} of ${row}`, placeholder: name }));
  const typed = () => fields.map((field) => field.value.trim()).filter(Boolean).join(", ");
  const read = () => {
    const numbers = fields.map((field) => number(field.value));
    const wrong = numbers.findIndex((value, at) => Number.isNaN(value) || (at === 0 && value === null));
    if (wrong >= 0) {
      study.say(`${names[wrong]}: ${noNumber(fields[wrong].value)} Or say that it failed.`, true);
      fields[wrong].focus();
      return null;
    }
    const further = names.flatMap((name, at) => (at === 0 || numbers[at] === null ? [] : [[name, numbers[at]]]));
    return { value: numbers[0], further: Object.fromEntries(further) };
  };
  const clear = () => fields.forEach((field) => { field.value = ""; });
  return { fields, typed, read, clear };
}

function card(study, { id, cells, repeat }, lost) {
  const outcome = outcomeFields(study, `value-${id}`, `row ${id}`);
  let saving = false;
  let holder = null;
  const tell = async (body) => {
    saving = true;
    const answer = await study.change("tell", { row: id, ...body });
    saving = false;
    // Somebody else was faster.
    if (!answer) lost(outcome);
  };
  const save = (event) => {
    event.preventDefault();
    const body = outcome.read();
    if (body) tell(body);
  };
  const giveBack = async () => {
    saving = true;
    // In the name of whoever has it, as the card says: where that is somebody else by now, it is refused.
    await study.change("withdraw", { rows: [id], by: holder });
    saving = false;
  };
  const about = h("small");
  const expected = h("p");
  const why = h("small");
  const update = ({ until, by, forecast, reasons }) => {
    holder = by;
    const late = until && until * 1000 < Date.now();
    const time = until ? new Date(until * 1000).toLocaleString() : null;
    const facts = [
      by ? `${by} has it` : null,
      late ? h("span.warm", {}, `its time was up ${time}: whoever asks next may get it`) : time ? `to be told until ${time}` : null,
      repeat ? "once more" : null,
    ];
    fill(about, facts.filter(Boolean).map((fact) => [" · ", fact]));
    fill(expected, forecast ? prediction(study.summary, forecast) : "A first look, or picked by chance: nothing is predicted of it.");
    fill(why, reasons.join("; "));
  };
  const element = h("li.card", { "data-row": id },
    h("h3", {}, `Row ${id}`, about),
    h("p", {}, Object.entries(cells).map(([name, cell], at) => [at ? ", " : "", h("span.quiet", {}, `${name} `), cell])),
    expected,
    h("p", {}, why),
    h("form.line", { onsubmit: save },
      outcome.fields,
      h("button.main", {}, "Save"),
      h("button", { type: "button", onclick: () => tell({ failed: true }) }, "Failed"),
      h("button", { type: "button", onclick: () => tell({ impossible: true }) }, "Cannot be made"),
      h("button.plain", { type: "button", onclick: giveBack }, "Give back")));
  return { element, update, outcome, saving: () => saving };
}

/** What was typed for a row that has been told or taken back meanwhile. */
function leftOver(study, id, outcome, close) {
  const told = study.summary.told.find((row) => row.id === id);
  const said = told?.value === null ? "failed" : short(told?.value);
  const words = told ? `It has been told meanwhile: ${said}.` : "It is not running any more.";
  const send = (how) => async () => {
    const body = outcome.read();
    if (body && (await study.change("tell", { row: id, ...body, ...how }))) close();
  };
  const ways = told
    ? [h("button", { type: "button", onclick: send({ again: true }) }, "Add mine as another measurement"), h("button", { type: "button", onclick: send({ replace: true }) }, "Take mine instead")]
    : [h("button", { type: "button", onclick: send({}) }, "Save it all the same")];
  return h("li.card.left", { "data-row": id, role: "alert" },
    h("h3", {}, `Row ${id}`),
    h("p", {}, words, " You had typed:"),
    h("div.line", {}, outcome.fields, ways, h("button.plain", { type: "button", onclick: close }, "Leave it")));
}

/** How many outcomes are to be made as good as they can be; limits are to be kept. */
export const objectives = ({ goals }) => goals.filter(([, wish]) => !/^at (least|most) /.test(wish)).length;

function prediction(summary, { mean, low, high, beats_best, further = [] }) {
  const one = (name, { mean, low, high }) => `${name} about ${short(mean)}, with 95 % between ${short(low)} and ${short(high)}`;
  const all = [one(outcomes(summary)[0], { mean, low, high }), ...further.map((other) => one(other.name, other))];
  const limited = further.some(({ holds }) => holds !== null);
  let chance = "It beats the best so far";
  if (!summary.best && !summary.front.length) chance = limited ? "It keeps all limits" : "It is better than what the earlier study has found";
  else if (objectives(summary) > 1) chance = "It is beaten by no row so far";
  else if (limited) chance = "It beats the best so far within all limits";
  return `Expected: ${all.join("; ")}. ${chance} with a chance of ${percent(beats_best)}.`;
}
