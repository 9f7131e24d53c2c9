// Requests to the server that this page comes from: one path for each verb, sent again where the server is busy or the connection breaks.

const TOKEN = "icee-token";

/** For how long a request is sent again where nobody answers, in milliseconds. */
const UNANSWERED = 8_000;
/** The same where the server says that it is busy. */
const BUSY = 180_000;
/** The pause after the first failure; it doubles with each. */
const PAUSE = 250;
const LONGEST_PAUSE = 8_000;

/** A request that was refused: `words` for the reader, `problem` as data ({ code, … }; none where something in between has answered), and
 *  the status of the reply, 0 where there was none. */
export class Refused extends Error {
  constructor(words, status, problem = null) {
    super(words);
    this.words = words;
    this.status = status;
    this.problem = problem;
  }
}

/** The token of this tab; nothing where none is needed. */
export const token = () => sessionStorage.getItem(TOKEN) ?? "";
export const setToken = (text) => sessionStorage.setItem(TOKEN, text.trim());

/** Your name, where no token says it; this browser remembers it. */
const NAME = "icee-name";
export const myName = () => localStorage.getItem(NAME) ?? "";
export const setMyName = (text) => localStorage.setItem(NAME, text.trim());

/** Called with true while requests wait to be sent again, and with false when none does any more. */
let toldOfWaiting = () => {};
export const whenWaiting = (tell) => { toldOfWaiting = tell; };
let waiting = 0;

async function wait(milliseconds) {
  waiting += 1;
  toldOfWaiting(true);
  await new Promise((done) => setTimeout(done, milliseconds));
  waiting -= 1;
  toldOfWaiting(waiting > 0);
}

/** Where the verb is: of a study, or of the server where there is none. */
function pathOf(verb, study, query = {}) {
  const own = { list: "/studies", create: "/studies", show: "", delete: "" }[verb] ?? `/${verb}`;
  const said = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const behind = said.length ? `?${new URLSearchParams(said)}` : "";
  return `/api${study ? `/studies/${encodeURIComponent(study)}` : ""}${own}${behind}`;
}

function headers(more) {
  const all = { "icee-face": "page", ...more };
  if (token()) all.Authorization = `Bearer ${token()}`;
  return all;
}

async function refused(response) {
  const text = await response.text();
  let refusal = {};
  try {
    refusal = JSON.parse(text);
  } catch {
    // Something in between has answered, not the server.
  }
  const words = refusal.error ?? `The server answered with status ${response.status}.`;
  // Without a token the field for it says enough.
  return new Refused(response.status === 401 && !token() ? "" : words, response.status, refusal.problem);
}

/** For how many milliseconds the server wants to be left alone; null where it does not want the request again. */
function retryAfter(response) {
  const text = response.headers.get("Retry-After");
  if (text === null) return [429, 503].includes(response.status) ? 0 : null;
  const seconds = Number(text);
  return Math.max(0, Number.isFinite(seconds) ? 1000 * seconds : Date.parse(text) - Date.now()) || 0;
}

/** Sends a request until there is a reply, or it has been tried for long enough. Every request may be sent twice: looks change nothing,
 *  and what changes something has a key. */
async function send(path, request, read, isPatient = true) {
  const begun = performance.now();
  for (let pause = PAUSE; ; pause = Math.min(LONGEST_PAUSE, 2 * pause)) {
    let [error, retry, patience] = [new Refused("No answer from the server. Is it still running?", 0), 0, UNANSWERED];
    try {
      const response = await fetch(path, request);
      if (response.ok) return await read(response);
      [error, retry, patience] = [await refused(response), retryAfter(response), BUSY];
    } catch (broken) {
      if (broken.name === "AbortError") throw broken;
    }
    // Some time at random, so that not all come back at once who were sent away at once.
    const rest = retry === null ? 0 : Math.max(retry, pause / 2) + pause * Math.random();
    if (!isPatient || retry === null || performance.now() - begun + rest >= patience) throw error;
    await wait(rest);
  }
}

const json = (response) => response.json();

/** Looks at something of a study, or of the server where there is none. */
export const get = (verb, study, query) => send(pathOf(verb, study, query), { headers: headers({}) }, json);

function change(method, path, body) {
  const key = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return send(path, { method, headers: headers({ "Content-Type": "application/json", "Idempotency-Key": key }), body }, json);
}

/** Changes something, once, however often it is sent. */
export const post = (verb, study, request) => change("POST", pathOf(verb, study), JSON.stringify(request));

/** Deletes a study. One that is not there is deleted: perhaps the first reply was lost. */
export const remove = (study) => change("DELETE", pathOf("delete", study)).catch((error) => {
  if (error.status !== 404) throw error;
});

/** The file that a reply is, as the browser saves it. */
export async function download(verb, study, name) {
  const blob = await send(pathOf(verb, study), { headers: headers({}) }, (response) => response.blob());
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A file as requests have it: text where it is text, in UTF-8 or as older programs write it, else its bytes in base64. */
export async function sheetOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const starts = (...first) => first.every((byte, at) => bytes[at] === byte);
  try {
    return { sheet: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    // Excel's "CSV" is in the code page of Windows, its "Unicode Text" in UTF-16. Tables of other kinds have bytes that no text has.
    if (starts(0xff, 0xfe) || starts(0xfe, 0xff)) return { sheet: new TextDecoder(bytes[0] === 0xff ? "utf-16le" : "utf-16be").decode(bytes) };
    if (!bytes.includes(0)) return { sheet: new TextDecoder("windows-1252").decode(bytes), guessed: true };
    let binary = "";
    for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return { sheet: { base64: btoa(binary) } };
  }
}

/** Server-sent events, one after another, as { event, data }, until the signal says that nobody listens any more. They
 *  are asked for once: who listens decides what to do where there are none. (The browser's own EventSource cannot send a token.) */
export async function* events(verb, study, query, signal) {
  const body = await send(pathOf(verb, study, query), { headers: headers({}), signal }, (response) => response.body, false);
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value.replaceAll("\r", "");
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const of = (name) => lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim());
      const data = of("data").join("\n");
      if (data) yield { event: of("event")[0] ?? "message", data: JSON.parse(data) };
    }
  }
}
