// The page about studies: which of its views is shown, what is said above it, and who one is.

import { byId, fill, h } from "/pages/dom.js";
import { Refused, setToken } from "/pages/server.js";
import { allStudies } from "/pages/list.js";
import { newStudy } from "/pages/new.js";
import { oneStudy } from "/pages/study.js";

let leaving = new AbortController();

/** Says something above the page, for everybody to see and hear; nothing takes away what was said. */
function say(words, wrong = false) {
  const lines = [words].flat().filter(Boolean);
  const message = h(wrong ? "div.message.wrong" : "div.message", {}, lines.map((line) => h("p", {}, line)));
  fill(byId("messages"), lines.length ? message : null);
  if (wrong) byId("messages").scrollIntoView({ block: "nearest" });
}

/** Does something and says what went wrong; asks for a token where one is needed. */
async function attempt(work) {
  try {
    say([]);
    return await work();
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    if (error instanceof Refused && error.status === 401) {
      byId("door").hidden = false;
      byId("token").focus();
    }
    if (!(error instanceof Refused)) console.error(error);
    say(error.message, true);
    return undefined;
  }
}

function show() {
  leaving.abort();
  leaving = new AbortController();
  const place = { main: byId("main"), say, attempt, left: leaving.signal };
  const [view, name] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  fill(place.main, h("p.quiet", {}, "One moment …"));
  attempt(() => {
    if (view === "new") return newStudy(place);
    if (view === "study" && name) return oneStudy(place, name);
    return allStudies(place);
  });
}

byId("door").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(byId("token").value);
  byId("token").value = "";
  byId("door").hidden = true;
  show();
});
window.addEventListener("hashchange", show);
show();
