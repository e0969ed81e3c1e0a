// Parts that every screen uses.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, call } from "./api.js";
import { localized, visible } from "./format.js";
import { html } from "./html.js";

/** @import { Key, Value as AttributeValue } from "./types.d.ts" */
import { Link, rowUrl } from "./router.js";

const LONG = 200; // characters of a text that are shown at once
const MANY = 20; // elements of a list or map that are shown at once

/** Text that somebody else wrote: hidden characters are shown, and its direction stays its own.
 * @param {{text: string, exact?: string}} props */
export function Text({ text, exact }) {
  return html`<bdi class="text" title=${exact}>${visible(text).map((part) =>
    typeof part === "string"
      ? part
      : html`<span class="hidden-character" title="a hidden character">${part.code}</span>`,
  )}</bdi>`;
}

/** A sentence of the server; what is between backticks is code.
 * @param {{text: string}} props */
export function Prose({ text }) {
  return text
    .split("`")
    .map((part, index) => (index % 2 ? html`<code>${part}</code>` : html`<${Text} text=${part} />`));
}

/** A time as the reader writes it, with the exact one on hover.
 * @param {{at: string | null}} props */
export function Time({ at }) {
  if (at === null) return html`<span class="muted">unknown</span>`;
  return html`<time datetime=${at} title=${at}>${localized(at).text}</time>`;
}

/** A value of an attribute.
 * @param {{value: AttributeValue | undefined}} props */
export function Value({ value }) {
  if (value === undefined) return html`<span class="none" title="no such attribute"></span>`;
  if (value === null) return html`<span class="muted">null</span>`;
  if (typeof value === "boolean") return html`<span>${value ? "true" : "false"}</span>`;
  if (typeof value === "string" && value.length > LONG) return html`<${LongText} text=${value} />`;
  if (typeof value !== "object") return html`<${Text} ...${localized(value)} />`;
  const entries = Object.entries(value);
  if (!entries.length)
    return html`<span class="muted">${Array.isArray(value) ? "[]" : "{}"}</span>`;
  return html`<${Nested} entries=${entries} list=${Array.isArray(value)} />`;
}

/** @param {{text: string}} props */
function LongText({ text }) {
  const [open, setOpen] = useState(false);
  return html`<span>
    <${Text} text=${open ? text : text.slice(0, LONG)} />${open ? "" : " … "}
    <button type="button" class="small" onClick=${() => setOpen(!open)}>
      ${open ? "Show less" : `Show all ${text.length.toLocaleString()} characters`}
    </button>
  </span>`;
}

/** @param {{entries: [string, AttributeValue][], list: boolean}} props */
function Nested({ entries, list }) {
  const [open, setOpen] = useState(false);
  const shown = open ? entries : entries.slice(0, MANY);
  const more = entries.length - shown.length;
  return html`<div class="nested">
    ${
      list
        ? html`<ol>${shown.map(([, value]) => html`<li><${Value} value=${value} /></li>`)}</ol>`
        : html`<dl>${shown.map(
            ([name, value]) =>
              html`<div><dt><${Text} text=${name} /></dt><dd><${Value} value=${value} /></dd></div>`,
          )}</dl>`
    }
    ${more > 0 && html`<button type="button" class="small" onClick=${() => setOpen(true)}>Show ${more.toLocaleString()} more</button>`}
  </div>`;
}

/** A link to the screen of a row.
 * @param {{of: Key}} props */
export function RowLink({ of }) {
  return html`<${Link} class="key" href=${rowUrl(of)}><${Text} text=${of.PK} /> <span class="muted">/</span> <${Text} text=${of.SK} /><//>`;
}

/** @param {{error: Error, retry?: () => void}} props */
export function Failure({ error, retry }) {
  const problem = error instanceof ApiError ? error.problem : null;
  return html`<div class="failure" role="alert">
    <strong>${problem?.title ?? "Error"}</strong>
    <p><${Prose} text=${error.message} /></p>
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
  </div>`;
}

/** What waits says so after a moment, and can be cancelled.
 * @param {{what: string, cancel?: () => void}} props */
export function Loading({ what, cancel }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<p class="loading" role="status">
    ${what} … ${seconds > 1 && html`<span class="muted">${seconds} s</span>`}
    ${seconds > 1 && cancel && html` <button type="button" class="small" onClick=${cancel}>Cancel</button>`}
  </p>`;
}

/** Load a route, again when it changes, and every *seconds* while the page is visible.
 * @template T
 * @param {string | null} path
 * @param {number} [seconds]
 * @returns {{data: T | null, error: Error | null, loading: boolean, reload: () => void, cancel: () => void}} */
export function useRoute(path, seconds = 0) {
  const [state, setState] = useState(
    /** @type {{path: string | null, data: T | null, error: Error | null, loading: boolean}} */ ({
      path: null,
      data: null,
      error: null,
      loading: true,
    }),
  );
  const [turn, setTurn] = useState(0);
  const abort = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    abort.current = controller;
    setState((before) => ({
      path,
      data: before.path === path ? before.data : null,
      error: null,
      loading: true,
    }));
    call(path, { signal: controller.signal }).then(
      (data) => setState({ path, data, error: null, loading: false }),
      (error) => {
        if (!controller.signal.aborted)
          setState((before) => ({ path, data: before.data, error, loading: false }));
      },
    );
    return () => controller.abort();
  }, [path, turn]);
  useEffect(() => {
    if (!seconds || path === null) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setTurn((before) => before + 1);
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [path, seconds]);
  const current = state.path === path ? state : { data: null, error: null, loading: path !== null };
  return {
    ...current,
    reload: () => setTurn((before) => before + 1),
    cancel: () => {
      abort.current?.abort();
      const error = new Error("Cancelled.");
      setState((before) => ({ path, data: before.data, error, loading: false }));
    },
  };
}

/** A modal dialog. Escape and the close button close it, unless *required*.
 * @param {{title: string, close?: () => void, required?: boolean, children?: any}} props */
export function Dialog({ title, close, required = false, children }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = element.current;
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog?.showModal();
    return () => {
      dialog?.close();
      before?.focus();
    };
  }, []);
  /** @param {Event} event */
  const cancelled = (event) => {
    event.preventDefault();
    if (!required) close?.();
  };
  // A second Escape closes a dialog whatever the first one did.
  const closed = () => {
    if (required) element.current?.showModal();
  };
  return html`<dialog ref=${element} aria-label=${title} onCancel=${cancelled} onClose=${closed}>
    <header><h2><${Text} text=${title} /></h2>
      ${!required && html`<button type="button" class="small" onClick=${close} aria-label="Close">✕</button>`}
    </header>
    ${children}
  </dialog>`;
}

/** The field for the reason of a repair. The server demands as many words.
 * @param {{value: string, set: (text: string) => void}} props */
export function Reason({ value, set }) {
  return html`<label>Reason, two words or more <input name="reason" required maxlength="500"
    pattern="\\s*\\S+(\\s+\\S+){1,}\\s*" title="two words or more" value=${value}
    onInput=${(/** @type {any} */ event) => set(event.target.value)} /></label>`;
}

/** A table that scrolls sideways in its own box. A title of numbers is above them.
 * @param {{label: string, head: (string | {title: any, number: boolean})[], children?: any}} props */
export function Table({ label, head, children }) {
  return html`<div class="scroll" role="region" aria-label=${label} tabindex="0">
    <table>
      <thead><tr>${head.map((column) => (typeof column === "string" ? html`<th scope="col">${column}</th>` : html`<th scope="col" class=${column.number ? "number" : undefined}>${column.title}</th>`))}</tr></thead>
      <tbody>${children}</tbody>
    </table>
  </div>`;
}

/** A button that copies a text, and shows it if the browser refuses.
 * @param {{text: () => string, children?: any}} props */
export function CopyButton({ text, children }) {
  const [state, setState] = useState(/** @type {"idle" | "copied" | "refused"} */ ("idle"));
  const copy = () =>
    navigator.clipboard.writeText(text()).then(
      () => {
        setState("copied");
        setTimeout(() => setState("idle"), 1500);
      },
      () => setState("refused"),
    );
  return html`
    <button type="button" class="small" onClick=${copy}>${state === "copied" ? "Copied" : children}</button>
    ${
      state === "refused" &&
      html`<${Dialog} title="Copy this text" close=${() => setState("idle")}>
        <p>The browser did not allow access to the clipboard.</p>
        <textarea readonly rows="10" aria-label="Text to copy">${text()}</textarea>
      <//>`
    }`;
}

/** A heading that takes the focus when its screen opens, so that a screen reader announces it.
 * @param {{children?: any}} props */
export function Title({ children }) {
  const heading = useRef(/** @type {HTMLHeadingElement | null} */ (null));
  useEffect(() => {
    const text = heading.current?.textContent;
    document.title = text ? `${text} · AdminView` : "AdminView";
    heading.current?.focus();
  }, []);
  return html`<h1 ref=${heading} tabindex="-1">${children}</h1>`;
}
