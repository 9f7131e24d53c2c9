// One study: rows in progress, what to try next, results. Live: a change by anyone is seen by everybody.

import { byId, fill, h, percent, short, wordsOf } from "/pages/dom.js";
import { download, events, get, myName, post, setMyName, token } from "/pages/server.js";
import { anyRow, deleteStudy, newGoals, newSheet, undo } from "/pages/changes.js";
import { effects, progress, trust } from "/pages/plots.js";
import { objectives, outcomes, runningRows } from "/pages/running.js";
import { frontRows, promisingRows, resultRows } from "/pages/results.js";

/** Milliseconds from which on loading the study is work that is not done at every change, and a look back one that is asked for. */
const LONG = 1000;
/** Most promising rows that are shown. */
const PROMISING = 10;

/** The field that a problem of asking is about. */
const FIELDS = {
  "condition": "where",
  "none-satisfies": "where",
  "count": "count",
  "not-a-time": "within",
  "person-name": "by",
  "no-model": "sampler",
  "other-model": "accept-model",
};

export async function oneStudy(place, name) {
  document.title = `${name} – icee`;
  const parts = {
    facts: h("ul.facts"),
    lead: h("p"),
    front: h("div"),
    progress: h("div"),
    results: h("div"),
    state: h("p.bad", { role: "status" }),
  };
  const study = { ...place, name, parts, summary: null, remaining: null, lines: null, took: 0 };
  study.change = (verb, request, refused) => change(study, verb, request, refused);
  const more = details(study);
  const running = runningRows(study);
  const load = async () => {
    const begun = performance.now();
    const [summary, { running: rows }] = await Promise.all([get("show", name), get("running", name)]);
    study.summary = summary;
    draw(study);
    running.update(rows);
    study.took = performance.now() - begun;
    more.refresh();
  };
  study.refresh = oneAtATime(load);
  // Where there is no such study, nothing is shown of it.
  await study.refresh();
  fill(
    place.main,
    h("h1", {}, name),
    parts.state,
    parts.lead,
    parts.facts,
    h("h2", {}, "Next"),
    askForm(study),
    running.element,
    anyRow(study),
    parts.front,
    parts.progress,
    h("h2", {}, "Results"),
    parts.results,
    h("h2", {}, "More"),
    more.element,
    newSheet(study),
    newGoals(study),
    toolbar(study),
  );
  listen(study);
}

/** The same work, never twice at once: if it is wanted meanwhile, it begins once more after it. */
function oneAtATime(work) {
  let current = null;
  let next = null;
  const begin = () => {
    if (!current) {
      current = work().finally(() => { current = null; });
      return current;
    }
    next ??= current.catch(() => {}).then(() => {
      next = null;
      return begin();
    });
    return next;
  };
  return begin;
}

/** Follows the study until you leave the view; if the connection breaks, tries again. */
async function listen(study) {
  // The first message says how it stands, which is known.
  let first = true;
  let waiting = null;
  const trouble = (error) => {
    if (study.left.aborted) return;
    if ([401, 403, 404].includes(error.status)) study.attempt(() => { throw error; });
    else fill(study.parts.state, "No answer from the server. This page may be out of date. Trying again …");
  };
  // What was said stays. Many changes, or those that nobody looks at, are loaded together.
  const load = () => {
    waiting = null;
    if (document.hidden) document.addEventListener("visibilitychange", soon, { once: true, signal: study.left });
    else if (!study.left.aborted) study.refresh().catch(trouble);
  };
  const soon = () => { waiting ??= setTimeout(load, study.took > LONG ? 3 * study.took : 0); };
  while (!study.left.aborted) {
    try {
      for await (const { event, data } of events("events", study.name, {}, study.left)) {
        fill(study.parts.state, event === "error" ? data.error : null);
        if (event === "deleted") {
          study.say("This study was deleted.", true);
          return;
        }
        if (event !== "change") continue;
        study.lines = data.lines;
        // What has been loaded since, perhaps by a change from here, is known.
        if (!first && data.lines !== study.summary.lines) soon();
        first = false;
      }
    } catch (error) {
      trouble(error);
      if (study.left.aborted || [401, 403, 404].includes(error.status)) return;
    }
    first = false;
    await new Promise((wait) => setTimeout(wait, 2000));
  }
}

/** Changes the study and draws it as it is then; `refused` gets the error where it was refused. */
function change(study, verb, request, refused) {
  return study.attempt(async () => {
    const reply = await post(verb, study.name, request);
    study.say([reply.undone ? `Undone: ${reply.undone.words}.` : null, ...wordsOf(reply.notes)]);
    study.remaining = null;
    await study.refresh();
    return reply;
  }, refused);
}

function draw(study) {
  const { summary, parts } = study;
  const goals = summary.goals.map(({ name, words }) => (name ? `${name}: ${words}` : words)).join("; ");
  fill(parts.lead, `${summary.rows} rows; ${goals}.`);
  const { best } = summary;
  const fact = (what, number, note) => h("li", {}, h("b", {}, number), what, note ? h("small", {}, h("br"), note) : null);
  const several = objectives(summary) > 1;
  fill(
    parts.facts,
    several
      ? fact(summary.front.length === 1 ? "Pareto-optimal row" : "Pareto-optimal rows", String(summary.front.length))
      : best
      ? fact("best so far", short(best.value), [`row ${best.id}`, best.sure ? `; ${percent(best.sure)} probability that it is the best measured row` : ""].join(""))
      : fact("best so far", "–"),
    fact("measured", String(summary.told.length)),
    fact("in progress", String(summary.running.length)),
    fact("left", String(summary.left)),
    study.remaining ? fact("probability that a better row is left", percent(study.remaining.any)) : null,
  );
  fill(parts.front, several ? frontRows(summary) : null);
  fill(parts.results, resultRows(study));
  const values = summary.told.map((row) => row.value);
  fill(parts.progress, progress(values, bestsOf(summary), outcomes(summary)[0]));
}

/** The best result up to each experiment; with further goals the best result need not be the best row, so there is none. */
function bestsOf({ told, goals }) {
  if (goals.length > 1) return told.map(() => null);
  const [{ wanted, number }] = goals;
  const loss = (value) => (wanted === "minimize" ? value : wanted === "maximize" ? -value : Math.abs(value - number));
  let best = null;
  return told.map(({ value }) => {
    if (value !== null && (best === null || loss(value) < loss(best))) best = value;
    return best;
  });
}

function askForm(study) {
  const field = (id, label, properties) => h("label", {}, label, h("input", { id, autocomplete: "off", ...properties }));
  const request = () => {
    const ask = { count: Number(byId("count").value) || 1, more: true, accept_model: byId("accept-model").checked };
    for (const key of ["where", "within", "by", "sampler"]) {
      const text = byId(key)?.value.trim();
      if (text) ask[key] = text;
    }
    return ask;
  };
  const refused = ({ problem }) => {
    const about = byId(FIELDS[problem?.code]);
    about?.closest("details")?.setAttribute("open", "");
    about?.focus();
  };
  const send = async (event) => {
    event.preventDefault();
    const button = byId("ask");
    button.disabled = true;
    const ask = request();
    if (ask.by) setMyName(ask.by);
    const answer = await study.attempt(() => post("ask", study.name, ask), refused);
    if (answer) {
      study.remaining = answer.remaining;
      await study.attempt(study.refresh);
      study.say(wordsOf(answer.notes));
      byId(`value-${answer.suggestions[0].id}`)?.focus();
    }
    button.disabled = false;
  };
  const samplers = ["", "learned", "gp-ei", "random"].map((name) => h("option", { value: name }, name || "the study's choice"));
  return h("form", { onsubmit: send },
    h("p.line", {},
      h("button.main", { id: "ask" }, "Suggest rows"),
      field("count", "How many", { type: "number", min: 1, max: 1000, value: 1 }),
      // With a token you have a name.
      token() ? null : field("by", "Your name", { value: myName(), maxlength: 64, size: 12 })),
    h("details", {}, h("summary", {}, "Options"),
      h("p.line", {},
        field("where", "Only rows where", { placeholder: "heat < 230 and flour != rye" }),
        field("within", "Reserve for", { placeholder: "8h", size: 6 }),
        h("label", {}, "Picked by", h("select", { id: "sampler" }, samplers)),
        h("label", {}, h("input", { type: "checkbox", id: "accept-model" }), "Go on with this model"))));
}

/** What takes a while to find out, and is asked for only while it is open. */
function details(study) {
  const load = (title, work) => {
    const into = h("div");
    const element = h("details", {}, h("summary", {}, title), into);
    let took = 0;
    let number = 0;
    const now = async () => {
      if (!element.open) return;
      const mine = (number += 1);
      if (!into.hasChildNodes()) fill(into, h("p.quiet", {}, "One moment …"));
      const begun = performance.now();
      const shown = await work().catch((error) => h("p.quiet", {}, error.message));
      took = performance.now() - begun;
      // What was asked for later knows more.
      if (mine === number) fill(into, shown);
    };
    const refresh = async () => {
      if (!element.open || took < LONG) return now();
      if (!into.querySelector(".old")) into.prepend(h("p.old", {}, "The study has changed. ", h("button", { type: "button", onclick: now }, "Look again")));
      return undefined;
    };
    element.addEventListener("toggle", now);
    return { element, refresh };
  };
  const few = () => h("p.quiet", {}, "Too few results yet.");
  const all = [
    load("Most promising rows", async () => promisingRows(await get("predict", study.name, { top: PROMISING }))),
    load("Predicted and measured", async () => {
      const { steps, checked, held } = await get("review", study.name);
      return trust(steps, checked, held) ?? few();
    }),
    load("Effects of the columns", async () => {
      const found = await get("effects", study.name);
      return found.effects.length ? effects(found.effects) : few();
    }),
  ];
  return { element: h("div", {}, all.map(({ element }) => element)), refresh: () => all.forEach(({ refresh }) => refresh()) };
}

function toolbar(study) {
  const save = (verb, file) => () => study.attempt(() => download(verb, study.name, file));
  return h("p.line", {},
    h("button", { onclick: save("export", `${study.name}.csv`) }, "Save results as CSV"),
    h("button", { onclick: save("report", `${study.name}.html`) }, "Save a report"),
    h("button", { onclick: () => undo(study) }, "Undo"),
    h("button.plain", { onclick: () => deleteStudy(study) }, "Delete the study"));
}
