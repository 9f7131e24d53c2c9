// The room page: somebody hides a goal, an agent looks for it. The game arrives as fast as it is played and is shown at leisure.

import { byId, fill, h, short } from "./dom.js";
import { Board } from "./room-board.js";
import { bars, chances, legend } from "./room-charts.js";
import { Game } from "./room-game.js";
import { events, get, setToken } from "./server.js";

/** How long a step is shown, in milliseconds. */
const SPEEDS = { slow: 700, normal: 220, fast: 70, fastest: 16 };
/** An episode's end is shown longer. */
const END = 3;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

/** What is shown: a game, which of its moments, and whether it goes on by itself. */
const now = { rooms: [], game: null, at: 0, playing: false, timer: 0, listening: null };
const board = new Board(byId("board"), (cell) => begin(cell), (words) => fill(byId("cell"), words));

const chosen = () => now.rooms.find((room) => room.model === byId("model").value);
const say = (words) => fill(byId("said"), words);

function complain(words) {
  fill(byId("messages"), words && h("div.message.wrong", {}, words));
}

/** Says what went wrong, or asks for a token where that is all. */
function wrong(error) {
  if (error.status === 401) {
    byId("door").hidden = false;
    byId("main").hidden = true;
    byId("token").focus();
  }
  complain(error.message);
}

/** A new game, its goal in this cell, or where chance hides it. */
async function begin(goal) {
  now.listening?.abort();
  const listening = (now.listening = new AbortController());
  stop();
  complain(null);
  const seed = crypto.getRandomValues(new Uint32Array(1))[0];
  const query = { model: byId("model").value, episodes: byId("episodes").value, seed, goal };
  now.game = null;
  enable();
  say("The agent begins …");
  try {
    for await (const { event, data } of events("room", null, query, listening.signal)) {
      if (listening !== now.listening) return;
      take(event, data);
    }
    if (now.game && !now.game.over) throw new Error("the server has stopped before the game was over; begin another one");
  } catch (error) {
    if (listening.signal.aborted) return;
    say("");
    now.game?.end();
    wrong(error);
  }
  enable();
}

/** Something of the game has arrived. */
function take(event, data) {
  if (event === "room") {
    now.game = new Game(data);
    now.at = 0;
    const next = STILL.matches ? " Press Play or Step." : "";
    say(`The goal is in ${board.name(data.goal)}. The agent has ${data.episodes} episodes of ${data.steps} steps.${next}`);
  } else if (event === "step") {
    now.game.add(data);
    // Who wants no motion says when it goes on.
    if (now.game.moments.length === 1) STILL.matches ? show(0) : play();
  } else if (event === "over") {
    now.game.end();
  } else if (event === "error") {
    throw new Error(data.error);
  }
  enable();
}

/** Shows a moment of the game. */
function show(at) {
  const { game } = now;
  const moment = game?.moments[at];
  if (!moment) return;
  now.at = at;
  board.show(game.view(at));
  const { episode, step, earned, actions, action } = moment;
  const { steps, episodes, actions: names, most } = game.room;
  fill(
    byId("now"),
    h("b", {}, `Episode ${episode + 1} of ${episodes}, step ${step} of ${steps}.`),
    ` It has earned ${short(earned)} in this episode. `,
    game.found !== null && at >= game.found ? "It has met the goal." : "It has not met the goal yet.",
  );
  fill(byId("actions"), actions ? chances(names, actions, action) : h("p.quiet", {}, "The episode is over."));
  fill(byId("returns"), bars(game.returnsAt(at), episodes, most));
  byId("at").value = at;
}

/** Goes on to the next moment; says what is worth saying. */
function advance() {
  const { game, at } = now;
  if (at + 1 >= (game?.moments.length ?? 0)) return false;
  show(at + 1);
  const { episode, earned, actions } = game.moments[now.at];
  if (now.at === game.found) say(`It has met the goal, in episode ${episode + 1}.`);
  if (game.over && now.at === game.moments.length - 1) {
    const returns = game.returns.map(short).join(", ");
    say(game.found === null ? "The game is over. It has not found the goal; let it play more episodes." : `The game is over. Returns: ${returns}.`);
  } else if (!actions && STILL.matches) {
    say(`Episode ${episode + 1} has earned ${short(earned)}.`);
  }
  return true;
}

function play() {
  now.playing = true;
  clearTimeout(now.timer);
  const next = () => {
    const { game, at } = now;
    const ended = game.over && at + 1 >= game.moments.length;
    if (ended) return stop();
    // Where nothing more has arrived, it waits for it.
    const moved = advance();
    const pause = SPEEDS[byId("speed").value];
    now.timer = setTimeout(next, moved && !game.moments[now.at].actions ? END * pause : pause);
  };
  if (now.at === 0) show(0);
  now.timer = setTimeout(next, SPEEDS[byId("speed").value]);
  enable();
}

function stop() {
  now.playing = false;
  clearTimeout(now.timer);
  enable();
}

/** Buttons can be used where they do something. */
function enable() {
  const count = now.game?.moments.length ?? 0;
  const ended = now.game?.over === true && now.at + 1 >= count;
  byId("play").disabled = count === 0 || ended;
  fill(byId("play"), now.playing ? "Pause" : "Play");
  byId("step").disabled = count === 0 || ended;
  byId("again").disabled = count === 0;
  byId("at").disabled = count === 0;
  byId("at").max = Math.max(0, count - 1);
}

/** Another room: nothing is played in it yet. */
function enter() {
  now.listening?.abort();
  now.listening = null;
  now.game = null;
  stop();
  const room = chosen();
  board.lay(room);
  const all = [5, 10, 20, room.episodes].filter((count, index, counts) => count <= room.episodes && counts.indexOf(count) === index);
  fill(byId("episodes"), all.map((count) => h("option", { value: count, selected: count === 10 }, count)));
  fill(byId("rules"), `${room.rules}. An episode has ${room.steps} steps.`);
  fill(byId("now"), h("b", {}, "Nothing is played yet."), " Click a cell to hide the goal there.");
  fill(byId("actions"), h("p.quiet", {}, "How likely each action is, at every step."));
  fill(byId("returns"), bars([], 10, room.most));
  say("");
}

async function open() {
  try {
    now.rooms = await get("rooms");
  } catch (error) {
    return wrong(error);
  }
  byId("door").hidden = true;
  byId("main").hidden = false;
  complain(null);
  fill(byId("model"), now.rooms.map(({ model, name }) => h("option", { value: model }, name)));
  enter();
}

byId("model").addEventListener("change", enter);
byId("anywhere").addEventListener("click", () => begin(null));
byId("play").addEventListener("click", () => (now.playing ? stop() : play()));
byId("step").addEventListener("click", () => {
  stop();
  advance();
  enable();
});
byId("again").addEventListener("click", () => {
  show(0);
  play();
});
byId("at").addEventListener("input", () => {
  stop();
  show(Number(byId("at").value));
  enable();
});
byId("door").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(byId("token").value);
  open();
});
fill(byId("speed"), Object.keys(SPEEDS).map((name) => h("option", { value: name, selected: name === "normal" }, name)));
fill(byId("legend"), legend());
open();
