// The frame of the console: navigation, theme, keyboard, session.
import { render } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect, useState } from "preact/hooks";
import { call, onExpired, signIn, start } from "./api.js";
import { DeadLetters } from "./dead_letters.js";
import { Health } from "./health.js";
import { html } from "./html.js";
import { ModelScreen } from "./model.js";
import { PatternScreen, Patterns } from "./patterns.js";
import { Link, navigate, useUrl } from "./router.js";
import { RowScreen } from "./row.js";
import { Dialog, Failure, Text, Title } from "./ui.js";

/** @import { Session } from "./types.d.ts" */

const SCREENS = [
  { url: "/patterns", name: "Access patterns", feature: "queries", key: "p" },
  { url: "/dead-letters", name: "Dead letters", feature: "dead-letters", key: "d" },
  { url: "/health", name: "Health", feature: "status", key: "h" },
  { url: "/model", name: "Model", feature: "model", key: "m" },
];
const THEMES = ["system", "light", "dark"];

function App() {
  const [session, setSession] = useState(/** @type {Session | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [expired, setExpired] = useState(
    /** @type {{signedIn: boolean, resolve: () => void} | null} */ (null),
  );
  const [help, setHelp] = useState(false);
  useEffect(() => {
    onExpired((signedIn) => new Promise((resolve) => setExpired({ signedIn, resolve })));
    load();
  }, []);
  useEffect(() => listenToKeys(() => setHelp(true)), []);
  const load = () => {
    setError(null);
    start()
      .then(() => call("/session"))
      .then(setSession, setError);
  };
  const signedIn = () => {
    expired?.resolve();
    setExpired(null);
  };
  return html`
    ${session ? html`<${Frame} session=${session} help=${() => setHelp(true)} />` : html`<main class="starting">${error ? html`<${Failure} error=${error} retry=${load} />` : html`<p role="status">Connecting to the console …</p>`}</main>`}
    ${expired && html`<${SignIn} signedIn=${expired.signedIn} done=${signedIn} />`}
    ${help && html`<${Help} close=${() => setHelp(false)} />`}`;
}

/** @param {{session: Session, help: () => void}} props */
function Frame({ session, help }) {
  const url = useUrl();
  const screens = SCREENS.filter((screen) => session.features.includes(screen.feature));
  return html`
    <a class="skip" href="#content">Skip to the content</a>
    <header class="bar">
      <${Link} class="brand" href="/patterns">AdminView<//>
      <nav aria-label="Screens">${screens.map(
        (screen) =>
          html`<${Link} href=${screen.url} aria-current=${(url.pathname === "/" ? "/patterns" : url.pathname).startsWith(screen.url) ? "page" : undefined}>${screen.name}<//>`,
      )}</nav>
      <span class="target" title=${`${session.target.viewTable}${session.target.region ? ` in ${session.target.region}` : ""}`}>
        ${session.target.kind === "stage" ? "stage " : ""}<${Text} text=${session.target.name} />
      </span>
      <${Theme} />
      <button type="button" class="small" aria-label="Keyboard shortcuts" title="Keyboard shortcuts" onClick=${help}>?</button>
    </header>
    <main id="content"><${Guarded} key=${url.pathname} url=${url} session=${session} /></main>`;
}

/** A screen, or the error that kept it from being shown.
 * @param {{url: URL, session: Session}} props */
function Guarded({ url, session }) {
  const [error, reset] = useErrorBoundary();
  if (error) return html`<${Failure} error=${error} retry=${reset} />`;
  return html`<${Screen} url=${url} session=${session} />`;
}

/** @param {{url: URL, session: Session}} props */
function Screen({ url, session }) {
  const path = url.pathname;
  if (path === "/" || path === "/patterns") return html`<${Patterns} />`;
  if (path.startsWith("/patterns/")) {
    const name = decode(path.slice("/patterns/".length));
    return html`<${PatternScreen} key=${name} name=${name} url=${url} target=${session.target} />`;
  }
  if (path === "/rows") {
    const key = { PK: url.searchParams.get("PK") ?? "", SK: url.searchParams.get("SK") ?? "" };
    const canRepair = session.features.includes("repairs");
    return html`<${RowScreen} key=${JSON.stringify(key)} of=${key} canRepair=${canRepair} />`;
  }
  if (path.startsWith("/dead-letters"))
    return html`<${DeadLetters} canRepair=${session.features.includes("repairs")} />`;
  if (path === "/health") return html`<${Health} target=${session.target} />`;
  if (path === "/model") return html`<${ModelScreen} />`;
  return html`<${Title}>No such screen<//>
    <p>There is nothing at <code>${path}</code>. <${Link} href="/patterns">Show all access patterns<//></p>`;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {{signedIn: boolean, done: () => void}} props */
function SignIn({ signedIn, done }) {
  const [text, setText] = useState("");
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    signIn(text).then(done, setError);
  };
  return html`<${Dialog} title="Sign in" required>
    <p>${signedIn ? "The session has ended. Nothing on this page is lost." : "A link to this console has no token."} Paste the URL, or the token, that the terminal of <code>adminview console</code> shows.</p>
    <form onSubmit=${submit}>
      <label>URL or token <input name="token" type="password" autocomplete="off" required value=${text}
        onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
      <button class="primary">Continue</button>
    </form>
    ${error && html`<${Failure} error=${error} />`}
  <//>`;
}

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem("adminview-theme") ?? "system");
  useLayoutEffect(() => { // at once: somebody may leave the page next
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("adminview-theme", theme);
  }, [theme]);
  return html`<label class="theme"><span>Theme </span><select aria-label="Theme" value=${theme}
    onChange=${(/** @type {any} */ event) => setTheme(event.target.value)}>
    ${THEMES.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`;
}

/** @param {{close: () => void}} props */
function Help({ close }) {
  return html`<${Dialog} title="Keyboard" close=${close}>
    <dl class="keys">
      <div><dt><kbd>/</kbd></dt><dd>search</dd></div>
      <div><dt><kbd>Enter</kbd></dt><dd>open the first access pattern found</dd></div>
      ${SCREENS.map((screen) => html`<div><dt><kbd>g</kbd> <kbd>${screen.key}</kbd></dt><dd>${screen.name}</dd></div>`)}
      <div><dt><kbd>Esc</kbd></dt><dd>close a dialog</dd></div>
      <div><dt><kbd>?</kbd></dt><dd>this list</dd></div>
    </dl>
  <//>`;
}

/** Listen to shortcuts outside of fields. @param {() => void} help */
function listenToKeys(help) {
  let afterG = 0;
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.closest("input, textarea, select, dialog")) return;
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const screen = SCREENS.find(({ key }) => key === event.key);
    if (event.key === "/") {
      const search = /** @type {HTMLElement | null} */ (
        document.querySelector("input[type=search]")
      );
      if (search) search.focus();
      else navigate("/patterns");
    } else if (event.key === "?") help();
    else if (screen && Date.now() - afterG < 1500) navigate(screen.url);
    else if (event.key !== "g") return;
    afterG = event.key === "g" ? Date.now() : 0;
    event.preventDefault();
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}

const root = /** @type {HTMLElement} */ (document.getElementById("app"));
root.replaceChildren();
render(html`<${App} />`, root);
