// The address bar is the page's state: every screen can be reloaded, shared and left with Back.
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";

const MOVED = "adminview-moved";

/** Go to a screen.
 * @param {string} url
 * @param {{replace?: boolean, state?: unknown}} [options] */
export function navigate(url, { replace = false, state = null } = {}) {
  history[replace ? "replaceState" : "pushState"](state, "", url);
  dispatchEvent(new Event(MOVED));
}

/** Return the current URL, and render again when it changes. */
export function useUrl() {
  const [href, setHref] = useState(location.href);
  useEffect(() => {
    const moved = () => setHref(location.href);
    addEventListener("popstate", moved);
    addEventListener(MOVED, moved);
    return () => {
      removeEventListener("popstate", moved);
      removeEventListener(MOVED, moved);
    };
  }, []);
  return new URL(href);
}

/** A link to a screen of the console.
 * @param {{href: string, children?: any} & Record<string, unknown>} props */
export function Link({ href, children, ...rest }) {
  /** @param {MouseEvent} event */
  const follow = (event) => {
    const changed = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (event.button === 0 && !changed) {
      event.preventDefault();
      navigate(href);
    }
  };
  return html`<a href=${href} onClick=${follow} ...${rest}>${children}</a>`;
}

/** Return the screen of a row.
 * @param {{PK: string, SK: string}} key */
export function rowUrl({ PK, SK }) {
  return `/rows?${new URLSearchParams({ PK, SK })}`;
}

/** Return the screen of an access pattern with parameters filled in.
 * @param {string} name
 * @param {Record<string, string>} [parameters] */
export function patternUrl(name, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return `/patterns/${encodeURIComponent(name)}${query && `?${query}`}`;
}
