// A game as it arrives: a list of moments, each of which can be shown by itself.

/** The steps of a game as moments: one before each action, and one at the end of each episode. */
export class Game {
  constructor(room) {
    this.room = room;
    this.moments = [];
    this.over = false;
    this.returns = [];
    /** The moment at which something was earned for the first time. */
    this.found = null;
  }

  /** A step that was played. */
  add(step) {
    if (this.last && this.last.episode !== step.episode) this.endEpisode();
    const { episode, cell } = step;
    this.returns[episode] ??= 0;
    this.meet();
    this.moments.push({ ...step, at: cell, earned: this.returns[episode] });
    this.returns[episode] += step.reward;
    this.last = step;
  }

  /** The last step of an episode has led somewhere, too. */
  endEpisode() {
    if (!this.last) return;
    const { episode, step, to, beliefs } = this.last;
    this.meet();
    this.moments.push({ episode, step: step + 1, at: to, earned: this.returns[episode], beliefs, actions: null });
    this.last = null;
  }

  /** The next moment is the first after something was earned, if it is. */
  meet() {
    if (this.found === null && this.last?.reward > 0) this.found = this.moments.length;
  }

  end() {
    this.endEpisode();
    this.over = true;
  }

  /** What is to be seen at a moment. */
  view(index) {
    const now = this.moments[index];
    const before = this.moments.slice(0, index + 1);
    const visited = new Set(before.map((moment) => moment.at));
    const trail = before.filter((moment) => moment.episode === now.episode).map((moment) => moment.at);
    return { ...now, cell: now.at, goal: this.room.goal, visited, trail };
  }

  /** The returns as they are known at a moment; the last is that of the running episode. */
  returnsAt(index) {
    const { episode, earned } = this.moments[index];
    return [...this.returns.slice(0, episode), earned];
  }
}
