// The pictures beside the room: what the agent will do, what it has earned, and what the signs mean.

import { h, percent, s, short } from "./dom.js";
import { shade } from "./room-board.js";

const ARROWS = { left: "←", right: "→", up: "↑", down: "↓", stay: "•" };

/** The probability of each action; the one that is taken stands out. */
export function chances(names, probabilities, taken) {
  const line = (name, index) => {
    const p = probabilities[index] / 1000;
    const mark = index === taken ? "text.taken" : "text";
    return s(
      "g",
      { transform: `translate(0 ${index * 24})` },
      s(mark, { x: 0, y: 16 }, `${ARROWS[name] ?? ""} ${name}`),
      s("rect.back", { x: 62, y: 4, width: 130, height: 16, rx: 3 }),
      s("rect.bar", { x: 62, y: 4, width: (130 * p).toFixed(1), height: 16, rx: 3 }),
      s(mark, { x: 200, y: 16 }, index === taken ? `${percent(p)} ← takes it` : percent(p)),
    );
  };
  const words = names.map((name, index) => `${name} ${percent(probabilities[index] / 1000)}`).join(", ");
  const label = `${words}; it takes ${names[taken]}`;
  return s("svg.chances", { viewBox: `0 0 340 ${names.length * 24}`, role: "img", "aria-label": label }, names.map(line));
}

/** The return of each episode so far, out of so many episodes. */
export function bars(returns, episodes, most) {
  const [width, height, left] = [320, 110, 26];
  const slot = (width - left) / episodes;
  const bar = (value, index) => {
    const tall = Math.max(1, (value / most) * height);
    const kind = index === returns.length - 1 ? "rect.bar.running" : "rect.bar";
    const x = left + index * slot + slot * 0.1;
    return s(kind, { x, y: height - tall, width: slot * 0.8, height: tall }, s("title", {}, `episode ${index + 1}: ${short(value)}`));
  };
  const every = Math.ceil(episodes / 10);
  const labels = [...Array(episodes).keys()].filter((index) => (index + 1) % every === 0 || index === 0);
  const label = `Return by episode so far: ${returns.map(short).join(", ")}`;
  return s(
    "svg.returns",
    { viewBox: `0 -10 ${width} ${height + 30}`, role: "img", "aria-label": label },
    s("line.grid", { x1: left, x2: width, y1: 0, y2: 0 }),
    s("text", { x: left - 5, y: 4, "text-anchor": "end" }, short(most)),
    s("line.axis", { x1: left, x2: width, y1: height, y2: height }),
    s("text", { x: left - 5, y: height + 4, "text-anchor": "end" }, "0"),
    returns.map(bar),
    labels.map((index) => s("text", { x: left + (index + 0.5) * slot, y: height + 16, "text-anchor": "middle" }, index + 1)),
  );
}

/** What the signs mean. */
export function legend() {
  const key = (...inside) => s("svg.key", { viewBox: "0 0 10 10", "aria-hidden": "true" }, s("rect.floor", { width: 10, height: 10 }), inside);
  const square = (thousandths) => key(s("rect.belief", { width: 10, height: 10, "fill-opacity": shade(thousandths) }));
  const line = (signs, words) => h("li", {}, signs, h("span", {}, words));
  return h(
    "ul",
    {},
    line(key(s("circle.agent", { cx: 5, cy: 5, r: 2.6 })), "The agent, with the way it came in this episode."),
    line(key(s("circle.goal", { cx: 5, cy: 5, r: 3.8 })), "The goal. You see it; the agent does not."),
    line(key(s("circle.seen", { cx: 5, cy: 5, r: 0.9 })), "A cell it has visited."),
    line(
      [square(10), square(100), square(1000)],
      "Where it expects to earn something: 1 %, 10 %, 100 %. It is asked at every step what moving into each cell would earn.",
    ),
  );
}
