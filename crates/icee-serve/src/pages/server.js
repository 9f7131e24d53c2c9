// Requests to the server that this page comes from.

const TOKEN = "icee-token";

/** What the server says no to, in its own words. */
export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** The token of this tab; nothing where none is needed. */
export const token = () => sessionStorage.getItem(TOKEN) ?? "";
export const setToken = (text) => sessionStorage.setItem(TOKEN, text.trim());

function headers(more) {
  const all = { ...more };
  if (token()) all.Authorization = `Bearer ${token()}`;
  return all;
}

async function refused(response) {
  const text = await response.text();
  let words = text;
  try {
    words = JSON.parse(text).error ?? text;
  } catch {
    // Something in between has answered, not the server.
  }
  return new Refused(response.status, words || `the server answered ${response.status}`);
}

async function send(path, request) {
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new Refused(0, "the server cannot be reached; is it still running?");
  }
  if (!response.ok) throw await refused(response);
  return response;
}

/** Looks: an answer as JSON. */
export async function get(path) {
  return (await send(path, { headers: headers({}) })).json();
}

/** Does something, once: if the connection breaks, the same request is sent again with the same key. */
export async function post(path, body) {
  const key = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const request = {
    method: "POST",
    headers: headers({ "Content-Type": "application/json", "Idempotency-Key": key }),
    body: JSON.stringify(body),
  };
  try {
    return await (await send(path, request)).json();
  } catch (error) {
    if (error.status !== 0 && error.status !== 503) throw error;
    await new Promise((wait) => setTimeout(wait, 1000));
    return (await send(path, request)).json();
  }
}

/** Takes something away. */
export async function remove(path) {
  return (await send(path, { method: "DELETE", headers: headers({}) })).json();
}

/** The file that an answer is, as the browser saves it. */
export async function download(path, name) {
  const blob = await (await send(path, { headers: headers({}) })).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Server-sent events, one after another, as { event, data }, until the signal says that nobody listens any more. (The browser's own
 *  EventSource cannot send a token.) */
export async function* events(path, signal) {
  const response = await send(path, { headers: headers({}), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
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
