// Access patterns: a list to search, and a form with the results of each.
import { useLayoutEffect, useState } from "preact/hooks";
import { address, call } from "./api.js";
import { Chart } from "./chart.js";
import { columns, csv, member, shell } from "./format.js";
import { html } from "./html.js";
import { Link, navigate, patternUrl, rowUrl } from "./router.js";
import { CopyButton, Failure, Loading, Table, Text, Title, useRoute, Value } from "./ui.js";

/** @import { Page, Parameter, Pattern, Row, Target, Value as AttributeValue } from "./types.d.ts" */

// Options of every query: a parameter of such a name has another option.
const RESERVED = new Set(
  "all columns count csv csv-raw cursor explain help json limit order prefix stage".split(" "),
);
// Names that are no keyword arguments in Python.
const KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);
const SHORT = 24; // characters of a text that is not wrapped
const LIMITS = ["20", "50", "200", "1000"];
const PICKED = { date: /^\d{4}-\d{2}-\d{2}$/, month: /^\d{4}-\d{2}$/ };
const PLACEHOLDERS = { date: "YYYY-MM-DD", month: "YYYY-MM", datetime: "YYYY-MM-DDThh:mm:ssZ" };

export function Patterns() {
  const { data, error, loading, reload, cancel } =
    /** @type {ReturnType<typeof useRoute<{patterns: Pattern[]}>>} */ (useRoute("/patterns"));
  const [text, setText] = useState("");
  const words = text.toLowerCase().split(/\s+/);
  const found = (data?.patterns ?? []).filter((pattern) => {
    const names = pattern.parameters.map((parameter) => parameter.name);
    const content = [pattern.name, pattern.about, pattern.total ?? "", ...names]
      .join(" ")
      .toLowerCase();
    return words.every((word) => content.includes(word));
  });
  /** @param {Event} event */
  const openFirst = (event) => {
    event.preventDefault();
    if (text.trim() && found[0]) navigate(patternUrl(found[0].name));
  };
  return html`<${Title}>Access patterns<//>
    <p>What do you want to look up? Each access pattern is a query that the view files declare.</p>
    <search><form onSubmit=${openFirst}><label class="search">Search <input type="search" value=${text} placeholder="order, customer, status …"
      onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label></form></search>
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${loading && !data && html`<${Loading} what="Loading the access patterns" cancel=${cancel} />`}
    ${data && !data.patterns.length && html`<p class="empty">The views declare no access pattern yet. Declare one in a view file: <code>AccessPattern("orders-by-status", …)</code>.</p>`}
    ${data && data.patterns.length > 0 && !found.length && html`<p class="empty" role="status">No access pattern contains “${text}”. The search reads the names and descriptions of access patterns, not the rows. <button type="button" class="small" onClick=${() => setText("")}>Show all</button></p>`}
    <ul class="patterns">${found.map(
      (pattern) => html`<li key=${pattern.name}>
        <${Link} href=${patternUrl(pattern.name)}>${pattern.name}<//>
        ${pattern.total && html`<span class="badge">total</span>`}
        ${!pattern.ready && html`<span class="badge attention">not ready</span>`}
        <p>${pattern.about}</p>
        <p class="muted small-text">${pattern.parameters.map((parameter) => parameter.name).join(", ") || "no parameters"}</p>
      </li>`,
    )}</ul>`;
}

/** @param {{name: string, url: URL, target: Target}} props */
export function PatternScreen({ name, url, target }) {
  const { data, error, reload, cancel } =
    /** @type {ReturnType<typeof useRoute<{patterns: Pattern[]}>>} */ (useRoute("/patterns"));
  if (error) return html`<${Title}>${name}<//><${Failure} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Loading the access pattern" cancel=${cancel} />`;
  const pattern = data.patterns.find((one) => one.name === name);
  if (!pattern)
    return html`<${Title}>No such access pattern<//>
      <p>The model has no access pattern <code>${name}</code>. It may have been renamed. <${Link} href="/patterns">Show all<//></p>`;
  return html`<${Query} pattern=${pattern} url=${url} target=${target} />`;
}

/** @param {{pattern: Pattern, url: URL, target: Target}} props */
function Query({ pattern, url, target }) {
  /** @type {Record<string, string>} */
  const given = Object.assign(Object.create(null), Object.fromEntries(url.searchParams));
  const [fields, setFields] = useState(given);
  // Back and Forward fill in the form again; at once, so that nothing typed is lost.
  useLayoutEffect(() => setFields(given), [url.search]);
  const missing = pattern.parameters.filter((one) => one.required && !given[one.name]);
  const path = missing.length ? null : queryPath(pattern, given);
  /** @param {Record<string, string>} values @param {unknown} [state] */
  const open = (values, state) => {
    const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
    navigate(patternUrl(pattern.name, filled), { state });
  };
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    open({ ...fields, cursor: "" });
  };
  /** @param {string} name @param {string} value */
  const set = (name, value) => setFields((before) => ({ ...before, [name]: value }));
  return html`<${Title}>${pattern.name}<//>
    <p>${pattern.about}</p>
    <form class="fields" onSubmit=${submit}>
      ${pattern.parameters.map((one) => html`<${Field} key=${one.name} parameter=${one} value=${member(fields, one.name) ?? ""} set=${set} />`)}
      <label>Sort order <select value=${fields.order ?? ""} onChange=${(/** @type {any} */ event) => set("order", event.target.value)}>
        <option value="">${pattern.order === "desc" ? "descending" : "ascending"} (as declared)</option>
        <option value="asc">ascending</option><option value="desc">descending</option></select></label>
      <label>Rows per page <select value=${fields.limit ?? "50"} onChange=${(/** @type {any} */ event) => set("limit", event.target.value)}>
        ${LIMITS.map((limit) => html`<option value=${limit}>${limit}</option>`)}</select></label>
      <button class="primary">Query</button>
    </form>
    ${path === null ? html`<p class="empty">Fill in ${missing.map((one) => one.name).join(", ")}, then query. <span class="muted">It finds the rows with ${pattern.conditions.join(" and ")}.</span></p>` : html`<${Results} pattern=${pattern} given=${given} path=${path} open=${open} target=${target} />`}`;
}

/** @param {{parameter: Parameter, value: string, set: (name: string, value: string) => void}} props */
function Field({ parameter, value, set }) {
  const { name, type, required, hint } = parameter;
  const id = `field-${name}`;
  /** @param {any} event */
  const input = (event) => set(name, event.target.value);
  return html`<div class="field">
    <label for=${id}>${name}${!required && html` <span class="muted">optional</span>`}</label>
    <input id=${id} name=${name} value=${value} required=${required} onInput=${input} autocomplete="off" spellcheck=${false}
      inputmode=${type === "number" ? "decimal" : undefined}
      pattern=${type === "number" ? "\\s*[+\\-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+\\-]?\\d+)?\\s*" : undefined}
      title=${type === "number" ? "a number" : parameter.condition}
      placeholder=${hint ? PLACEHOLDERS[hint] : type === "number" ? "a number" : type === "base64" ? "base64" : undefined} />
    ${(hint === "date" || hint === "month") && html`<input class="picker" type=${hint} value=${PICKED[hint].test(value) ? value : ""} onInput=${input} aria-label=${`pick ${name}`} tabindex="-1" />`}
  </div>`;
}

/** Return the route of a query. @param {Pattern} pattern @param {Record<string, string>} given */
function queryPath(pattern, given, suffix = "") {
  const names = pattern.parameters.map((parameter) => parameter.name);
  const paging = suffix ? [] : ["limit", "order", "cursor"];
  const query = new URLSearchParams();
  for (const name of [...names, ...paging]) if (given[name]) query.set(name, given[name]);
  const text = query.toString();
  return `/patterns/${encodeURIComponent(pattern.name)}${suffix}${text && `?${text}`}`;
}

/** @param {{pattern: Pattern, given: Record<string, string>, path: string, target: Target,
 *   open: (values: Record<string, string>, state?: unknown) => void}} props */
function Results({ pattern, given, path, open, target }) {
  const { data, error, loading, reload, cancel } =
    /** @type {ReturnType<typeof useRoute<Page>>} */ (useRoute(path));
  const rows = data?.rows ?? [];
  /** @type {string[]} */
  const before = history.state?.before ?? [];
  const next = () =>
    open({ ...given, cursor: data?.cursor ?? "" }, { before: [...before, given.cursor ?? ""] });
  const previous = () =>
    open({ ...given, cursor: before.at(-1) ?? "" }, { before: before.slice(0, -1) });
  return html`
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${loading && !data && html`<${Loading} what="Querying" cancel=${cancel} />`}
    ${
      data &&
      html`<div class="tools">
        <span role="status">${rows.length === 1 ? "1 row" : `${rows.length} rows`}${data.cursor || given.cursor ? " on this page" : ""}</span>
        ${(data.cursor || given.cursor) && html`<${Count} key=${path} pattern=${pattern} given=${given} />`}
        <${Copies} pattern=${pattern} given=${given} path=${path} rows=${rows} page=${data} target=${target} />
      </div>
      ${
        rows.length
          ? html`
            ${pattern.total && rows.length > 1 && html`<${Chart} rows=${rows} pattern=${pattern} />`}
            <${Rows} rows=${rows} pattern=${pattern} />`
          : html`<p class="empty">No rows. ${formats(pattern, given)}${given.cursor ? "This page is past the end." : "A value must match exactly, also in upper and lower case; a name finds nothing where an ID is asked for. A change takes about a second to appear."}</p>`
      }
      <nav class="pages" aria-label="Pages">
        ${given.cursor && html`<button type="button" onClick=${() => open({ ...given, cursor: "" })}>First page</button>`}
        ${given.cursor && before.length > 0 && html`<button type="button" onClick=${previous}>Previous page</button>`}
        ${data.cursor && html`<button type="button" onClick=${next}>Next page</button>`}
      </nav>`
    }`;
}

/** Say how dates are written that do not look like one. Other texts are allowed: a range may begin
 * with the beginning of a date.
 * @param {Pattern} pattern @param {Record<string, string>} given */
function formats(pattern, given) {
  return pattern.parameters
    .filter(({ name, hint }) => hint && given[name] && !/^\d{4}/.test(given[name]))
    .map(({ name, hint }) => `${name} is no date: write it as ${hint && PLACEHOLDERS[hint]}. `)
    .join("");
}

/** Return the attributes of a total in the order in which people read them. @param {Pattern} pattern */
function ofTotal(pattern) {
  if (!pattern.total) return [];
  return [
    ...pattern.group,
    "count",
    ...pattern.sums,
    ...pattern.sums.map((sum) => `average_${sum}`),
  ];
}

/** Return whether a value is a short text, and not an empty one.
 * @param {AttributeValue | undefined} value */
function isShort(value) {
  return typeof value === "string" && value.length > 0 && value.length <= SHORT;
}

/** Numbers are on the right, and short texts such as dates on one line.
 * @param {AttributeValue | undefined} value */
function look(value) {
  if (typeof value === "number") return "number";
  return isShort(value) ? "short" : undefined;
}

/** @param {{rows: Row[], pattern: Pattern}} props */
function Rows({ rows, pattern }) {
  const shown = columns(rows, ofTotal(pattern));
  const linked = !pattern.total;
  const head = [
    ...shown.map((column) => ({
      title: html`<${Text} text=${column.title} />`,
      number: rows.some((row) => typeof column.value(row) === "number"),
    })),
    ...(linked ? ["key"] : []),
  ];
  return html`<${Table} label="Results" head=${head}>
    ${rows.map(
      (row) => html`<tr key=${`${row.key.PK}\n${row.key.SK}`}>
        ${shown.map((column, place) => {
          const value = column.value(row);
          const cell = html`<${Value} value=${value} />`;
          const opens = place === 0 && linked && isShort(value);
          return html`<td class=${look(value)}>${opens ? html`<${Link} href=${rowUrl(row.key)} title="Show this row">${cell}<//>` : cell}</td>`;
        })}
        ${linked && html`<td><${Link} class="key" href=${rowUrl(row.key)}><${Text} text=${row.key.PK} /> <span class="muted">/</span> <${Text} text=${row.key.SK} /><//></td>`}
      </tr>`,
    )}
  <//>`;
}

/** @param {{pattern: Pattern, given: Record<string, string>}} props */
function Count({ pattern, given }) {
  const [state, setState] = useState(/** @type {number | Error | "counting" | null} */ (null));
  const count = () => {
    setState("counting");
    call(queryPath(pattern, given, "/count")).then(
      ({ count: number }) => setState(number),
      setState,
    );
  };
  if (state instanceof Error) return html`<${Failure} error=${state} retry=${count} />`;
  if (typeof state === "number")
    return html`<span role="status">${state.toLocaleString()} in all</span>`;
  return html`<button type="button" class="small" disabled=${state === "counting"} onClick=${count}>${state === "counting" ? "Counting …" : "Count all"}</button>`;
}

/** Return the option of a parameter on the command line. @param {string} name */
function option(name) {
  const word = name.replaceAll("_", "-");
  return RESERVED.has(word) ? `--parameter-${word}` : `--${word}`;
}

/** @param {{pattern: Pattern, given: Record<string, string>, path: string, rows: Row[], page: Page, target: Target}} props */
function Copies({ pattern, given, path, rows, page, target }) {
  const values = pattern.parameters
    .filter((one) => given[one.name])
    .map((one) => /** @type {const} */ ([one, given[one.name] ?? ""]));
  const order = given.order;
  const command = () =>
    [
      "adminview query",
      shell(pattern.name),
      ...values.map(([one, value]) => `${option(one.name)} ${shell(value)}`),
      ...(order ? [`--order ${shell(order)}`] : []),
      ...(target.stage ? [`--stage ${shell(target.stage)}`] : []),
      ...(target.prefix ? [`--prefix ${shell(target.prefix)}`] : []),
    ].join(" ");
  const python = () => {
    const place = [
      ...(target.stage ? [`stage=${JSON.stringify(target.stage)}`] : []),
      ...(target.prefix ? [`prefix=${JSON.stringify(target.prefix)}`] : []),
    ];
    const parameters = values.map(([one, value]) => {
      const text = JSON.stringify(one.type === "number" ? value.trim() : value);
      const literal = one.type === "number" ? `Decimal(${text})` : text;
      return KEYWORDS.has(one.name) ? `, **{"${one.name}": ${literal}}` : `, ${one.name}=${literal}`;
    });
    const imports = values.some(([one]) => one.type === "number")
      ? "from decimal import Decimal\n\n"
      : "";
    const rest = order ? `, order=${JSON.stringify(order)}` : "";
    const query = `${JSON.stringify(pattern.name)}${parameters.join("")}${rest}`;
    return `${imports}from adminview import connect\n\nfor row in connect(${place.join(", ")}).query(${query}):\n    print(row)\n`;
  };
  const curl = () => `curl --header "Authorization: Bearer $TOKEN" ${shell(address(path))}`;
  return html`<span class="copies"><span class="muted" id="copy-as">Copy as</span>
    <${CopyButton} text=${() => csv(rows, ofTotal(pattern), !pattern.total)}>CSV<//>
    <${CopyButton} text=${() => JSON.stringify(page, null, 2)}>JSON<//>
    <${CopyButton} text=${command}>command<//>
    <${CopyButton} text=${curl}>curl<//>
    <${CopyButton} text=${python}>Python<//>
    <${CopyButton} text=${() => location.href}>link<//>
  </span>`;
}
