// Requests to the server that this page comes from.

import { plainly } from "/pages/dom.js";

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

/** What a person calls himself, where no token says it; this browser remembers it. */
const NAME = "icee-name";
export const myName = () => localStorage.getItem(NAME) ?? "";
export const setMyName = (text) => localStorage.setItem(NAME, text.trim());

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
  // The field for it is on the page.
  if (response.status === 401) words = token() ? "This token is not known here, or not any more." : "";
  else words ||= `the server answered ${response.status}`;
  return new Refused(response.status, plainly(words));
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

/** A file as requests have it: text where it is text, in UTF-8 or as older programs write it. */
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
    return { sheet_base64: btoa(binary) };
  }
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
