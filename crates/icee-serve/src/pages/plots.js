// Plots: results in the order recorded, predicted against measured, effects of columns.

import { h, s, short } from "/pages/dom.js";

const WIDTH = 460;
const HEIGHT = 260;
const LEFT = 56;
const BOTTOM = 40;
const TOP = 12;
const RIGHT = 12;

/** Round numbers that divide a range, and the range they span. */
function ticks(low, high, wanted = 5) {
  if (!(high > low)) [low, high] = [low - 0.5 * (Math.abs(low) || 1), high + 0.5 * (Math.abs(high) || 1)];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= rough);
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, at) => (first + at) * step);
}

/** The least and the greatest, however many there are. */
const ends = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

/** Points that are drawn at most; of more, every so many. */
const POINTS = 1000;

function scale(values, from, to) {
  const all = ticks(...ends(values));
  const [low, high] = [all[0], all[all.length - 1]];
  return { ticks: all, at: (value) => from + ((value - low) / (high - low)) * (to - from) };
}

function frame(title, x, y, xName, yName, inside) {
  const lines = [
    y.ticks.map((tick) => [
      s("line.grid", { x1: LEFT, x2: WIDTH - RIGHT, y1: y.at(tick), y2: y.at(tick) }),
      s("text", { x: LEFT - 6, y: y.at(tick) + 4, "text-anchor": "end" }, short(tick)),
    ]),
    x.ticks.map((tick) => s("text", { x: x.at(tick), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, short(tick))),
    s("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, xName),
    s("text", { x: 0, y: 0, transform: `translate(11 ${HEIGHT / 2 - 10}) rotate(-90)`, "text-anchor": "middle" }, cut(yName)),
  ];
  return s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title }, lines, inside);
}

const cut = (text) => (text.length > 28 ? `${text.slice(0, 27)}…` : text);

/** Every experiment in the order recorded, and the best up to there. */
export function progress(values, bests, name) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const x = scale([1, values.length], LEFT, WIDTH - RIGHT);
  const y = scale(known, HEIGHT - BOTTOM, TOP);
  x.ticks = x.ticks.filter((tick) => tick >= 1 && tick <= values.length && Number.isInteger(tick));
  const every = Math.max(1, Math.ceil(values.length / POINTS));
  const dots = values.map((value, at) => (value === null || (values.length - 1 - at) % every ? null : s("circle.dot", { cx: x.at(at + 1), cy: y.at(value), r: 3.5 }, s("title", {}, short(value)))));
  let path = "";
  bests.forEach((best, at) => {
    if (best === null || (best === bests[at - 1] && at < bests.length - 1)) return;
    path += path ? `H${x.at(at + 1)}V${y.at(best)}` : `M${x.at(at + 1)} ${y.at(best)}`;
  });
  const title = `${known.length} results from ${ends(known).map(short).join(" to ")}, in the order recorded`;
  return figure(frame(title, x, y, "experiment", name, [path ? s("path.line", { d: path }) : null, dots]), `Points: every ${every > 1 ? `${every}th ` : ""}experiment.${path ? " Line: the best so far." : ""}`);
}

/** What was predicted of each row before it was measured, against its result. */
export function trust(steps, checked, held) {
  const points = steps.filter((step) => step.forecast && step.value !== null);
  if (points.length < 2) return null;
  const measured = points.map((point) => point.value);
  const x = scale(measured, LEFT, WIDTH - RIGHT);
  const y = scale([...measured, ...points.flatMap(({ forecast }) => [forecast.low, forecast.high])], HEIGHT - BOTTOM, TOP);
  const [low, high] = ends(measured);
  const marks = points.map(({ id, value, forecast }) => [
    s("line.range", { x1: x.at(value), x2: x.at(value), y1: y.at(forecast.low), y2: y.at(forecast.high) }),
    s("circle.dot", { cx: x.at(value), cy: y.at(forecast.mean), r: 3.5 }, s("title", {}, `row ${id}: predicted ${short(forecast.mean)}, measured ${short(value)}`)),
  ]);
  const ideal = s("line.dash", { x1: x.at(low), x2: x.at(high), y1: y.at(low), y2: y.at(high) });
  const words = `Of ${checked} results, ${held[2]} lay in their 95 % intervals, ${held[1]} in those of 80 %, ${held[0]} in those of 50 %.`;
  return figure(frame(words, x, y, "measured", "predicted", [ideal, marks]), words);
}

/** The effect of each column: the mean prediction by its words or numbers. */
export function effects(all) {
  const means = all.flatMap((effect) => effect.levels.map((level) => level.mean));
  const [low, high] = ends(means);
  // A place says nothing about how many times one is another, as the length of a bar would.
  const place = (mean) => (high > low ? 6 + (108 * (mean - low)) / (high - low) : 60);
  const row = (effect) => effect.levels.slice(0, 12).map((level, at) =>
    h("tr", {},
      at === 0 ? h("th", { scope: "row", rowspan: Math.min(effect.levels.length, 12) }, effect.column) : null,
      h("td", {}, level.label),
      h("td.number", {}, short(level.mean)),
      h("td", {}, s("svg", { width: 120, height: 12, viewBox: "0 0 120 12", "aria-hidden": "true" }, s("line.grid", { x1: 6, x2: 114, y1: 6, y2: 6 }), s("circle.place", { cx: place(level.mean), cy: 6, r: 5 })))));
  const range = high > low ? `${short(low)} to ${short(high)}` : "";
  const head = ["column", "cell", "mean prediction", range].map((name) => h("th", { scope: "col" }, name));
  return h("div.table", {}, h("table", {}, h("thead", {}, h("tr", {}, head)), all.map((effect) => h("tbody", {}, row(effect)))));
}

function figure(drawing, caption) {
  return h("figure", {}, drawing, h("figcaption", {}, caption));
}
