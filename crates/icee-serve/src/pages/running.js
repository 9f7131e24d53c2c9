// Rows that are being tried, and forms for what comes out of them.

import { byId, fill, h, percent, short } from "/pages/dom.js";

/** A list that is kept up to date. Cards of rows that go on running stay as they are: somebody may be typing there. */
export function runningRows(study) {
  const list = h("ol.rows");
  const none = h("p.quiet", {}, "Nothing is running. Ask which row to try next.");
  const cards = new Map();
  const update = (rows) => {
    none.hidden = rows.length > 0;
    const running = new Set(rows.map((row) => row.id));
    let left = false;
    for (const [id, { element }] of cards) {
      if (running.has(id)) continue;
      left ||= element.contains(document.activeElement);
      element.remove();
      cards.delete(id);
    }
    for (const row of rows) {
      if (!cards.has(row.id)) {
        cards.set(row.id, card(study, row));
        list.append(cards.get(row.id).element);
      }
      cards.get(row.id).update(row);
    }
    // Whoever was at work on a row that is done finds the next one at hand.
    if (left) (list.querySelector("input") ?? byId("ask"))?.focus();
  };
  return { element: h("div", {}, none, list), update };
}

function card(study, { id, cells, repeat }) {
  const further = study.summary.goals.slice(1).map(([name]) => name);
  const main = study.summary.value_column ?? "value";
  const draft = {};
  const input = (name, at) => {
    const box = h("input.number", {
      id: at ? `value-${id}-${at}` : `value-${id}`,
      inputmode: "decimal",
      autocomplete: "off",
      "aria-label": `${name} of row ${id}`,
      placeholder: name,
      oninput: () => { draft[name] = box.value; },
    });
    return box;
  };
  const tell = (outcome) => study.change("tell", { row: id, ...outcome });
  const save = (event) => {
    event.preventDefault();
    const numbers = [main, ...further].map((name) => number(draft[name]));
    const wrong = numbers.findIndex((value, at) => value !== null && !Number.isFinite(value) || at === 0 && value === null);
    if (wrong >= 0) {
      const name = [main, ...further][wrong];
      study.say(`"${draft[name] ?? ""}" is no number; type what came out as ${name} of row ${id}, like 1200.5, or say that it failed.`, true);
      byId(wrong ? `value-${id}-${wrong}` : `value-${id}`).focus();
      return;
    }
    const measured = further.flatMap((name, at) => (numbers[at + 1] === null ? [] : [[name, numbers[at + 1]]]));
    tell({ value: numbers[0], further: Object.fromEntries(measured) });
  };
  const about = h("small");
  const expected = h("p");
  const why = h("small");
  const update = ({ until, by, forecast, reasons }) => {
    const facts = [by ? `${by} has it` : null, until ? `to be told until ${new Date(until * 1000).toLocaleString()}` : null, repeat ? "once more" : null];
    fill(about, facts.filter(Boolean).map((text) => ` · ${text}`));
    fill(expected, forecast ? prediction(main, forecast) : "A first look, or picked by chance: nothing is predicted of it.");
    fill(why, reasons.join("; "));
  };
  const element = h("li.card", { "data-row": id },
    h("h3", {}, `Row ${id}`, about),
    h("p", {}, Object.entries(cells).map(([name, cell], at) => [at ? ", " : "", h("span.quiet", {}, `${name} `), cell])),
    expected,
    h("p", {}, why),
    h("form.line", { onsubmit: save },
      input(main, 0), further.map((name, at) => input(name, at + 1)),
      h("button.main", {}, "Save"),
      h("button", { type: "button", onclick: () => tell({ failed: true }) }, "Failed"),
      h("button", { type: "button", onclick: () => tell({ impossible: true }) }, "Cannot be made"),
      h("button.plain", { type: "button", onclick: () => study.change("withdraw", { rows: [id] }) }, "Give back")));
  return { element, update };
}

/** A number as people type it, with a decimal point or comma; null where there is nothing. A comma before three digits may separate
    thousands as well, so that is none. */
export function number(text) {
  const plain = (text ?? "").trim();
  if (/,\d{3}$/.test(plain)) return NaN;
  return plain === "" ? null : Number(plain.replace(/^([+-]?\d+),(\d+)$/, "$1.$2"));
}

function prediction(main, { mean, low, high, beats_best, further = [] }) {
  const one = (name, { mean, low, high }) => `${name} about ${short(mean)}, with 95 % between ${short(low)} and ${short(high)}`;
  const all = [one(main, { mean, low, high }), ...further.map((other) => one(other.name, other))];
  return `Expected: ${all.join("; ")}. It beats the best so far with a chance of ${percent(beats_best)}.`;
}
