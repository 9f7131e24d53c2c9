// One study: what is running, what comes next, what came out. Live: whoever changes it, everybody sees it.

import { byId, fill, h, percent, short } from "/pages/dom.js";
import { download, events, get, myName, post, setMyName, token } from "/pages/server.js";
import { anyRow, deleteStudy, newSheet, undo } from "/pages/changes.js";
import { effects, progress, trust } from "/pages/plots.js";
import { objectives, runningRows } from "/pages/running.js";
import { frontRows, toldRows } from "/pages/told.js";

/** Milliseconds from which on loading the study is work that is not done at every change, and a look back one that is asked for. */
const LONG = 1000;

export async function oneStudy(place, name) {
  document.title = `${name} – icee`;
  const path = `/api/studies/${encodeURIComponent(name)}`;
  const parts = {
    facts: h("ul.facts"),
    lead: h("p"),
    front: h("div"),
    progress: h("div"),
    told: h("div"),
    state: h("p.bad", { role: "status" }),
  };
  const study = { ...place, path, name, parts, summary: null, remaining: null, lines: null, took: 0 };
  study.change = (route, body) => change(study, route, body);
  const more = details(study);
  const running = runningRows(study);
  const load = async () => {
    const begun = performance.now();
    const [summary, rows] = await Promise.all([get(path), get(`${path}/running`)]);
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
    h("h2", {}, "What came out"),
    parts.told,
    h("h2", {}, "More"),
    more.element,
    newSheet(study),
    toolbar(study),
  );
  listen(study);
}

/** The same work, never twice at once: whoever asks meanwhile gets what begins after it, all of them the same. */
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

/** Follows the study until somebody leaves the view; where the connection breaks, tries again. */
async function listen(study) {
  // The first message says how it stands, which is known.
  let first = true;
  let waiting = null;
  const trouble = (error) => {
    if (study.left.aborted) return;
    if ([401, 403, 404].includes(error.status)) study.attempt(() => { throw error; });
    else fill(study.parts.state, "The server cannot be reached: what stands here may be old. Trying again …");
  };
  // What was said to the person stays. Many changes, or those that nobody looks at, are loaded together.
  const load = () => {
    waiting = null;
    if (document.hidden) document.addEventListener("visibilitychange", soon, { once: true, signal: study.left });
    else if (!study.left.aborted) study.refresh().catch(trouble);
  };
  const soon = () => { waiting ??= setTimeout(load, study.took > LONG ? 3 * study.took : 0); };
  while (!study.left.aborted) {
    try {
      for await (const { event, data } of events(`${study.path}/events`, study.left)) {
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

/** Changes the study and draws it as it is then. */
function change(study, route, body) {
  return study.attempt(async () => {
    const answer = await post(`${study.path}/${route}`, body);
    study.say([answer.undone ? `Taken back: ${answer.undone}.` : null, ...(answer.notes ?? [])]);
    if (route !== "ask") study.remaining = null;
    await study.refresh();
    return answer;
  });
}

function draw(study) {
  const { summary, parts } = study;
  const wishes = summary.goals.map(([name, wish]) => (name ? `${name}: ${wish}` : wish)).join("; ");
  fill(parts.lead, `${summary.rows} rows; ${wishes}.`);
  const { best } = summary;
  const fact = (what, number, note) => h("li", {}, h("b", {}, number), what, note ? h("small", {}, h("br"), note) : null);
  const several = objectives(summary) > 1;
  fill(
    parts.facts,
    several
      ? fact(summary.front.length === 1 ? "row is beaten by none" : "rows are beaten by none", String(summary.front.length))
      : best
      ? fact("best so far", short(best.value), [`row ${best.id}`, best.sure ? `, the best of all tried with ${percent(best.sure)}` : ""].join(""))
      : fact("best so far", "–"),
    fact("tried", String(summary.told.length)),
    fact("running", String(summary.running.length)),
    fact("left", String(summary.left)),
    study.remaining ? fact("a better row is left", percent(study.remaining.any)) : null,
  );
  fill(parts.front, several ? frontRows(summary) : null);
  fill(parts.told, toldRows(study));
  const values = summary.told.map((row) => row.value);
  const drawing = progress(values, bestsOf(summary), summary.value_column ?? "value");
  fill(parts.progress, drawing);
}

/** The best value up to each experiment; with further outcomes the best value need not be the best row, so there is none. */
function bestsOf({ told, direction, goals }) {
  if (goals.length > 1) return told.map(() => null);
  const loss = (value) => (direction === "minimize" ? value : direction === "maximize" ? -value : Math.abs(value - direction.target));
  let best = null;
  return told.map(({ value }) => {
    if (value !== null && (best === null || loss(value) < loss(best))) best = value;
    return best;
  });
}

function askForm(study) {
  const field = (id, label, properties) => h("label", {}, label, h("input", { id, ...properties }));
  return h(
    "form",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        const button = event.submitter ?? byId("ask");
        button.disabled = true;
        const body = { count: Number(byId("count").value) || 1, more: true };
        for (const key of ["where", "within", "by"]) {
          const text = byId(key)?.value.trim();
          if (text) body[key] = text;
        }
        if (body.by) setMyName(body.by);
        const answer = await study.attempt(() => post(`${study.path}/ask`, body));
        if (answer) {
          study.remaining = answer.remaining;
          await study.attempt(study.refresh);
          study.say(answer.notes);
          byId(`value-${answer.suggestions[0].id}`)?.focus();
        }
        button.disabled = false;
      },
    },
    h("p.line", {},
      h("button.main", { id: "ask" }, "Which next?"),
      field("count", "rows ", { type: "number", min: 1, max: 1000, value: 1 }),
      // Whoever has a token has a name.
      token() ? null : field("by", "for ", { value: myName(), maxlength: 64, size: 12, autocomplete: "off", placeholder: "my name", "aria-label": "my name, for others to see who tries the row" })),
    h("details", {}, h("summary", {}, "wishes"),
      h("p.line", {},
        field("where", "only rows where ", { placeholder: "heat < 230 and flour != rye", autocomplete: "off" }),
        field("within", "to be told within ", { placeholder: "2d", size: 6, autocomplete: "off" }))),
  );
}

/** What takes a while to find out, and is asked for only while somebody looks. */
function details(study) {
  const trusted = h("div");
  const columns = h("div");
  const trustDetails = h("details", {}, h("summary", {}, "How far could its predictions be trusted?"), trusted);
  const effectDetails = h("details", {}, h("summary", {}, "What do the columns do?"), columns);
  const load = (details, into, work) => {
    let took = 0;
    let number = 0;
    const now = async () => {
      if (!details.open) return;
      const mine = (number += 1);
      if (!into.hasChildNodes()) fill(into, h("p.quiet", {}, "One moment …"));
      const begun = performance.now();
      const shown = await work().catch((error) => h("p.quiet", {}, error.message));
      took = performance.now() - begun;
      // What was asked for later knows more.
      if (mine === number) fill(into, shown);
    };
    const changed = async () => {
      if (!details.open || took < LONG) return now();
      if (!into.querySelector(".old")) into.prepend(h("p.old", {}, "The study has changed since. ", h("button", { type: "button", onclick: now }, "Look again")));
      return undefined;
    };
    details.addEventListener("toggle", now);
    return changed;
  };
  const loads = [
    load(trustDetails, trusted, async () => {
      const { steps, checked, held } = await get(`${study.path}/review`);
      return trust(steps, checked, held) ?? h("p.quiet", {}, "Too few values were told to look back at.");
    }),
    load(effectDetails, columns, async () => effects(await get(`${study.path}/effects`))),
  ];
  return { element: h("div", {}, trustDetails, effectDetails), refresh: () => loads.forEach((load) => load()) };
}

function toolbar(study) {
  const save = (route, file) => () => study.attempt(() => download(`${study.path}/${route}`, file));
  return h("p.line", {},
    h("button", { onclick: save("export", `${study.name}.csv`) }, "Save results as CSV"),
    h("button", { onclick: save("report", `${study.name}.html`) }, "Save a report"),
    h("button", { onclick: () => undo(study) }, "Undo the last change"),
    h("button.plain", { onclick: () => deleteStudy(study) }, "Delete the study"));
}
