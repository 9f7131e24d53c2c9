// The page about studies: which of its views is shown, what is said above it, and the token.

import { byId, fill, h } from "/pages/dom.js";
import { Refused, setToken, token, whenWaiting } from "/pages/server.js";
import { allStudies } from "/pages/list.js";
import { dropZone, newStudy } from "/pages/new.js";
import { oneStudy } from "/pages/study.js";

let leaving = new AbortController();

/** Says something above the page, for everybody to see and hear; nothing takes away what was said. */
function say(words, wrong = false) {
  const lines = [words].flat().filter(Boolean);
  const message = h(wrong ? "div.message.wrong" : "div.message", {}, lines.map((line) => h("p", {}, line)));
  fill(byId("messages"), lines.length ? message : null);
  if (wrong) byId("messages").scrollIntoView({ block: "nearest" });
}

/** Does something and says what went wrong, unless you have left the view meanwhile; asks for a token where one is needed, or another. */
async function attempt(work, otherwise = () => {}) {
  const { signal } = leaving;
  try {
    say([]);
    return await work();
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return undefined;
    if (error.status === 401 || (error.status === 403 && token())) {
      byId("door").hidden = false;
      if (error.status === 401) byId("token").focus();
    }
    if (!(error instanceof Refused)) console.error(error);
    say(error.message, true);
    otherwise(error);
    return undefined;
  }
}

/** A part of an address as text; what is none stands there as it is. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function show() {
  leaving.abort();
  leaving = new AbortController();
  const place = { main: byId("main"), say, attempt, left: leaving.signal };
  const [, view, name] = location.hash.split("/").map(decoded);
  byId("other").hidden = !token();
  byId("door").hidden = true;
  fill(place.main, h("p.quiet", {}, "One moment …"));
  const work = () => {
    if (view === "new") return newStudy(place);
    if (view === "study" && name) return oneStudy(place, name);
    return allStudies(place);
  };
  // Nobody is left standing before a page that goes nowhere.
  const otherwise = (error) => {
    if (error.status === 401) fill(place.main);
    else if (view === "new" || view === "study") fill(place.main, view === "new" ? [h("h1", {}, "New study"), dropZone(attempt)] : null, h("p", {}, h("a", { href: "#" }, "All studies")));
  };
  attempt(work, otherwise);
}

whenWaiting((isWaiting) => { byId("waiting").hidden = !isWaiting; });

byId("other").addEventListener("click", () => {
  byId("door").hidden = !byId("door").hidden;
  byId("token").focus();
});

byId("door").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(byId("token").value);
  byId("token").value = "";
  byId("door").hidden = true;
  show();
});
window.addEventListener("hashchange", show);
show();
