// Calls of the console's API. The page knows only the API's base URL and how to obtain a token.

/** @import { Problem, Session } from "./types.d.ts" */

const SECONDS = 30;
const STORED = "adminview-session";
const TABS = "adminview-session";

/** A response that is an error, or none at all. */
export class ApiError extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    super(problem.detail || problem.title);
    this.problem = problem;
  }
}

/** @type {string} */
let base = "/api";
/** @type {string | null} */
let token = null;
/** @type {Promise<void> | null} */
let renewal = null;
/** @type {(signedIn: boolean) => Promise<void>} */
let renew = () => Promise.reject(new Error("no dialog"));

/** Set what is called when there is no session, or it has expired: whether the page was signed in
 * before. It resolves when `signIn` has succeeded.
 * @param {(signedIn: boolean) => Promise<void>} dialog */
export function onExpired(dialog) {
  renew = dialog;
}

/** Return the address of a route, for links and for curl.
 * @param {string} path */
export function address(path) {
  return new URL(base + path, location.href).href;
}

/** Read where the API is, and use the token of the URL, of this tab or of another tab. */
export async function start() {
  const response = await request("/console.json");
  if (!response.ok) throw new ApiError(await problemOf(response));
  base = (await response.json()).api;
  shareWithTabs();
  const url = new URL(location.href);
  const launch = url.searchParams.get("token");
  if (launch) {
    url.searchParams.delete("token");
    history.replaceState(null, "", url);
    await signIn(launch).catch(() => undefined);
  }
  token ??= sessionStorage.getItem(STORED) ?? (await tokenOfOtherTab());
}

/** Exchange the token that the terminal shows, or the whole URL, for a session.
 * @param {string} text */
export async function signIn(text) {
  const pasted = URL.canParse(text.trim()) ? new URL(text.trim()) : null;
  if (pasted && pasted.origin !== "null" && pasted.origin !== location.origin)
    throw new ApiError({
      type: "about:blank",
      title: "Another console",
      status: 0,
      detail: "This URL is of another console: open it in the address bar. Its token was not sent.",
    });
  const launch = (/[?&]token=([^&#\s]+)/.exec(text)?.[1] ?? text).trim();
  const response = await send("/session", { method: "POST", body: {}, bearer: launch });
  if (!response.ok) throw new ApiError(await problemOf(response));
  token = (await response.json()).token;
  if (token) sessionStorage.setItem(STORED, token);
}

/** Call a route and return its JSON. If the session has expired, ask for the token and repeat.
 * @param {string} path
 * @param {{method?: string, body?: unknown, signal?: AbortSignal}} [options]
 * @returns {Promise<any>} */
export async function call(path, options = {}) {
  for (;;) {
    const response = await send(path, { ...options, bearer: token });
    if (response.status === 401) {
      renewal ??= renew(token !== null).finally(() => {
        renewal = null;
      });
      await renewal;
    } else if (!response.ok) {
      throw new ApiError(await problemOf(response));
    } else {
      return response.status === 204 ? null : response.json();
    }
  }
}

/**
 * @param {string} path
 * @param {{method?: string, body?: unknown, signal?: AbortSignal, bearer: string | null}} options
 * @returns {Promise<Response>} */
function send(path, { method = "GET", body, signal, bearer }) {
  /** @type {Record<string, string>} */
  const headers = bearer ? { Authorization: `Bearer ${bearer}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const text = body === undefined ? undefined : JSON.stringify(body);
  return request(base + path, { method, headers, body: text, signal });
}

/** Fetch, within a time limit. @param {string} url @param {RequestInit} [options] */
async function request(url, options = {}) {
  const { signal } = options;
  const timeout = AbortSignal.timeout(SECONDS * 1000);
  try {
    return await fetch(url, {
      ...options,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    const late = timeout.aborted;
    throw new ApiError({
      type: "about:blank",
      title: "No response",
      status: 0,
      detail: late
        ? `The console did not respond within ${SECONDS} seconds. Is the table throttled, or the network slow?`
        : "The console does not respond. Check that `adminview console` is still running in its terminal.",
    });
  }
}

/** @param {Response} response @returns {Promise<Problem>} */
async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return { type: "about:blank", title: response.statusText || "Error", status: response.status };
  }
}

// A link opened in a new tab finds the session of the tabs that are open. Only pages of this origin
// can join the channel.
const tabs = new BroadcastChannel(TABS);

function shareWithTabs() {
  tabs.addEventListener("message", (event) => {
    if (event.data === "token?" && token) tabs.postMessage({ token });
  });
}

/** @returns {Promise<string | null>} */
function tokenOfOtherTab() {
  return new Promise((resolve) => {
    const end = setTimeout(() => resolve(null), 200);
    tabs.addEventListener("message", (event) => {
      if (typeof event.data?.token === "string") {
        clearTimeout(end);
        sessionStorage.setItem(STORED, event.data.token);
        resolve(event.data.token);
      }
    });
    tabs.postMessage("token?");
  });
}
