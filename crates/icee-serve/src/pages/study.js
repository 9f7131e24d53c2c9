// One study: what is running, what comes next, what came out. Live: whoever changes it, everybody sees it.

import { byId, fill, h, percent, short } from "/pages/dom.js";
import { download, events, get, post, token } from "/pages/server.js";
import { effects, progress, trust } from "/pages/plots.js";
import { runningRows } from "/pages/running.js";
import { toldRows } from "/pages/told.js";

const NAME = "icee-name";

export async function oneStudy(place, name) {
  document.title = `${name} – icee`;
  const path = `/api/studies/${encodeURIComponent(name)}`;
  const parts = {
    facts: h("ul.facts"),
    lead: h("p"),
    progress: h("div"),
    told: h("div"),
  };
  const study = { ...place, path, name, parts, summary: null, remaining: null };
  study.change = (route, body) => change(study, route, body);
  const more = details(study);
  const running = runningRows(study);
  fill(
    place.main,
    h("h1", {}, name),
    parts.lead,
    parts.facts,
    h("h2", {}, "Next"),
    askForm(study),
    running.element,
    parts.progress,
    h("h2", {}, "What came out"),
    parts.told,
    h("h2", {}, "More"),
    more.element,
    toolbar(study),
  );
  study.refresh = async () => {
    const [summary, rows] = await Promise.all([get(path), get(`${path}/running`)]);
    study.summary = summary;
    draw(study);
    running.update(rows);
    await more.refresh();
  };
  await study.refresh();
  listen(study);
}

/** Follows the study until somebody leaves the view; where the connection breaks, tries again. */
async function listen(study) {
  let first = true;
  while (!study.left.aborted) {
    try {
      for await (const { event } of events(`${study.path}/events`, study.left)) {
        if (event === "deleted") {
          study.say("This study was deleted.", true);
          return;
        }
        // The first message says how it stands, which is known. What was said to the person stays.
        if (event === "change" && !first) await study.refresh();
        first = false;
      }
    } catch (error) {
      if (study.left.aborted || error.status === 401 || error.status === 403 || error.status === 404) return;
    }
    first = false;
    await new Promise((wait) => setTimeout(wait, 2000));
  }
}

/** Changes the study and draws it as it is then. */
function change(study, route, body) {
  return study.attempt(async () => {
    const answer = await post(`${study.path}/${route}`, body);
    study.say(answer.notes ?? []);
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
  fill(
    parts.facts,
    best
      ? fact("best so far", short(best.value), [`row ${best.id}`, best.sure ? `, the best of all tried with ${percent(best.sure)}` : ""].join(""))
      : fact("best so far", "–"),
    fact("tried", String(summary.told.length)),
    fact("running", String(summary.running.length)),
    fact("left", String(summary.left)),
    study.remaining ? fact("a better row is left", percent(study.remaining.any)) : null,
  );
  fill(parts.told, toldRows(study));
  const values = summary.told.map((row) => row.value);
  const drawing = progress(values, bestsOf(summary), summary.value_column ?? "value");
  fill(parts.progress, drawing);
}

/** The best value up to each experiment; with several outcomes the best value need not be the best row, so there is none. */
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
        for (const [id, key] of [["where", "where"], ["within", "within"], ["by", "by"]]) {
          const text = byId(id)?.value.trim();
          if (text) body[key] = text;
        }
        if (body.by) localStorage.setItem(NAME, body.by);
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
      field("count", "rows ", { type: "number", min: 1, max: 1000, value: 1 })),
    h("details", {}, h("summary", {}, "wishes"),
      h("p.line", {},
        field("where", "only rows where ", { placeholder: "heat < 230 and flour != rye", autocomplete: "off" }),
        field("within", "to be told within ", { placeholder: "2d", size: 6, autocomplete: "off" }),
        // Whoever has a token has a name.
        token() ? null : field("by", "my name ", { value: localStorage.getItem(NAME) ?? "", maxlength: 64, size: 12, autocomplete: "off" }))),
  );
}

/** What takes a while to find out, and is asked for only while somebody looks. */
function details(study) {
  const trusted = h("div");
  const columns = h("div");
  const trustDetails = h("details", {}, h("summary", {}, "How far could its predictions be trusted?"), trusted);
  const effectDetails = h("details", {}, h("summary", {}, "What do the columns do?"), columns);
  const load = (details, into, work) => async () => {
    if (!details.open) return;
    if (!into.hasChildNodes()) fill(into, h("p.quiet", {}, "One moment …"));
    try {
      fill(into, await work());
    } catch (error) {
      fill(into, h("p.quiet", {}, error.message));
    }
  };
  const loads = [
    load(trustDetails, trusted, async () => {
      const { steps, checked, held } = await get(`${study.path}/review`);
      return trust(steps, checked, held) ?? h("p.quiet", {}, "Too few values were told to look back at.");
    }),
    load(effectDetails, columns, async () => effects(await get(`${study.path}/effects`))),
  ];
  trustDetails.addEventListener("toggle", loads[0]);
  effectDetails.addEventListener("toggle", loads[1]);
  return { element: h("div", {}, trustDetails, effectDetails), refresh: () => Promise.all(loads.map((load) => load())) };
}

function toolbar(study) {
  const save = (route, file) => () => study.attempt(() => download(`${study.path}/${route}`, file));
  return h("p.line", {},
    h("button", { onclick: save("export", `${study.name}.csv`) }, "Save results as CSV"),
    h("button", { onclick: save("report", `${study.name}.html`) }, "Save a report"),
    h("button", { onclick: () => study.change("undo", { lines: study.summary.lines }) }, "Undo the last change"));
}
