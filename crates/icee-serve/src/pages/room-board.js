// The room as a drawing: cells that can be chosen, what is believed of them, where the agent was, is and earns.

import { fill, s } from "./dom.js";

/** The side of a cell in the drawing. */
const SIDE = 10;

/** How dark a belief is drawn. Its root: what is spread over eighty cells can be seen as well as what is certain. */
export const shade = (thousandths) => Math.sqrt(thousandths / 1000).toFixed(3);

export class Board {
  /** A board in an element. `choose` is told the cell that somebody picks, `look` the one that somebody points at. */
  constructor(home, choose, look) {
    Object.assign(this, { home, choose, look, cursor: 0 });
  }

  /** An empty room. */
  lay({ columns, rows, start }) {
    Object.assign(this, { columns, rows, cursor: start, pointed: null });
    const cells = [...Array(columns * rows).keys()];
    const square = (cell, name, more) => {
      const [x, y] = this.corner(cell);
      return s(`rect.${name}`, { x, y, width: SIDE, height: SIDE, ...more });
    };
    this.floor = cells.map((cell) => square(cell, "floor"));
    this.beliefs = cells.map((cell) => square(cell, "belief", { "fill-opacity": 0 }));
    this.seen = cells.map((cell) => {
      const [x, y] = this.middle(cell);
      return s("circle.seen", { cx: x, cy: y, r: 0.9, visibility: "hidden" });
    });
    this.trail = s("polyline.trail");
    // Its halo sets it off from the shade.
    this.goal = [s("circle.halo", { r: 3.8 }), s("circle.goal", { r: 3.8 })];
    this.agent = s("circle.agent.moving", { r: 2.6 });
    this.hits = cells.map((cell) =>
      square(cell, "hit", { role: "gridcell", tabindex: cell === start ? 0 : -1, "data-cell": cell }),
    );
    const lines = [...Array(rows).keys()].map((row) =>
      s("g", { role: "row" }, this.hits.slice(row * columns, (row + 1) * columns)),
    );
    const grid = s(
      "svg.board",
      {
        viewBox: `-1 -1 ${columns * SIDE + 2} ${rows * SIDE + 2}`,
        role: "grid",
        "aria-label": "The room. Arrow keys choose a cell, Enter hides the goal there.",
        onclick: (event) => this.pick(event.target),
        onkeydown: (event) => this.key(event),
        onpointerover: (event) => this.point(event.target),
        onfocusin: (event) => this.point(event.target),
      },
      s("g", { "aria-hidden": "true" }, this.floor, this.beliefs, this.trail, this.seen, this.goal, this.agent),
      lines,
    );
    fill(this.home, grid);
    this.show({ cell: start, goal: null, beliefs: [], visited: new Set(), trail: [] });
  }

  corner(cell) {
    return [(cell % this.columns) * SIDE, Math.floor(cell / this.columns) * SIDE];
  }

  middle(cell) {
    return this.corner(cell).map((at) => at + SIDE / 2);
  }

  /** A cell in words. */
  name(cell) {
    return `column ${(cell % this.columns) + 1}, row ${Math.floor(cell / this.columns) + 1}`;
  }

  /** What is known of a cell, in words. */
  words(cell) {
    const { goal, cell: agent, beliefs, visited } = this.view;
    const all = [this.name(cell)];
    if (cell === agent) all.push("the agent");
    if (cell === goal) all.push("the goal");
    if (visited.has(cell)) all.push("visited");
    if (beliefs.length) all.push(`it expects ${(beliefs[cell] / 10).toFixed(1)} %`);
    return all.join(", ");
  }

  /** A moment of a game. */
  show(view) {
    this.view = view;
    const { cell, goal, beliefs, visited, trail } = view;
    this.beliefs.forEach((square, index) => square.setAttribute("fill-opacity", shade(beliefs[index] ?? 0)));
    this.seen.forEach((dot, index) => dot.setAttribute("visibility", visited.has(index) ? "visible" : "hidden"));
    this.trail.setAttribute("points", trail.map((at) => this.middle(at).join(",")).join(" "));
    this.put(this.agent, cell);
    for (const circle of this.goal) {
      circle.setAttribute("visibility", goal === null ? "hidden" : "visible");
      if (goal !== null) this.put(circle, goal);
    }
    this.hits.forEach((hit, index) => hit.setAttribute("aria-label", this.words(index)));
    if (this.pointed !== null) this.look(this.words(this.pointed));
  }

  put(circle, cell) {
    const [x, y] = this.middle(cell);
    circle.setAttribute("cx", x);
    circle.setAttribute("cy", y);
  }

  cellOf(target) {
    return target.dataset?.cell === undefined ? null : Number(target.dataset.cell);
  }

  pick(target) {
    const cell = this.cellOf(target);
    if (cell === null) return;
    this.move(cell);
    this.choose(cell);
  }

  point(target) {
    const cell = this.cellOf(target);
    if (cell === null) return;
    this.pointed = cell;
    this.look(this.words(cell));
  }

  key(event) {
    const [x, y] = [this.cursor % this.columns, Math.floor(this.cursor / this.columns)];
    const [right, down] = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
      Home: [-x, 0],
      End: [this.columns - 1 - x, 0],
    }[event.key] ?? [0, 0];
    if (event.key === "Enter" || event.key === " ") this.pick(event.target);
    else if (right === 0 && down === 0) return;
    event.preventDefault();
    const within = (at, size) => Math.max(0, Math.min(size - 1, at));
    if (right || down) this.move(within(y + down, this.rows) * this.columns + within(x + right, this.columns));
  }

  /** One cell at a time can be reached by Tab. */
  move(cell) {
    this.hits[this.cursor].setAttribute("tabindex", -1);
    this.cursor = cell;
    this.hits[cell].setAttribute("tabindex", 0);
    this.hits[cell].focus();
  }
}
