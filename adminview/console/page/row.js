// One row: its attributes, where it comes from, whether it is up to date, and what belongs to it.
import { useState } from "preact/hooks";
import { ApiError, call } from "./api.js";
import { duration } from "./format.js";
import { html } from "./html.js";
import { Link, patternUrl } from "./router.js";
import {
  CopyButton,
  Dialog,
  Failure,
  Loading,
  Reason,
  RowLink,
  Table,
  Text,
  Time,
  Title,
  useRoute,
  Value,
} from "./ui.js";

/** @import { Explanation, Key, Related, Row, Value as AttributeValue } from "./types.d.ts" */

const VERDICTS = {
  equal: ["ok", "Yes: equal to what the source item derives now"],
  different: ["attention", "No: different from what the source item derives now"],
  orphaned: ["attention", "No: the source item no longer derives this row"],
  failing: ["problem", "Unknown: the view fails for the source item"],
  unowned: ["problem", "Unknown: no source item owns this row"],
};

/** @param {{of: Key, canRepair: boolean}} props */
export function RowScreen({ of, canRepair }) {
  const query = new URLSearchParams({ PK: of.PK, SK: of.SK });
  const { data, error, reload, cancel } = /** @type {ReturnType<typeof useRoute<Explanation>>} */ (
    useRoute(`/explain?${query}`)
  );
  if (error instanceof ApiError && error.problem.status === 404)
    return html`<${Title}>No such row<//>
      <p class="key"><${Text} text=${of.PK} /> <span class="muted">/</span> <${Text} text=${of.SK} /></p>
      <p class="empty">There is no row with this key now. Its source item may have been changed or deleted.</p>
      <div class="tools"><button type="button" onClick=${reload}>Look again</button> <${Link} href="/patterns">Show all access patterns<//></div>`;
  return html`<${Title}>Row<//>
    <p class="key"><${Text} text=${of.PK} /> <span class="muted">/</span> <${Text} text=${of.SK} /></p>
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Reading the row and its source item" cancel=${cancel} />`}
    ${
      data &&
      html`<section><h2>Data</h2><${Attributes} of=${data.row.data ?? {}} empty="This row has no data. It exists to be found by its keys." />
        <p><${CopyButton} text=${() => JSON.stringify(data.row, null, 2)}>Copy as JSON<//></p></section>
      <${Verdict} explanation=${data} canRepair=${canRepair} reload=${reload} />
      <${Provenance} explanation=${data} />`
    }
    <${RelatedRows} query=${query.toString()} />`;
}

/** @param {{of: Record<string, AttributeValue>, empty: string}} props */
function Attributes({ of, empty }) {
  const entries = Object.entries(of);
  if (!entries.length) return html`<p class="empty">${empty}</p>`;
  return html`<dl class="attributes">${entries.map(
    ([name, value]) =>
      html`<div><dt><${Text} text=${name} /></dt><dd><${Value} value=${value} /></dd></div>`,
  )}</dl>`;
}

/** @param {{explanation: Explanation, canRepair: boolean, reload: () => void}} props */
function Verdict({ explanation, canRepair, reload }) {
  const { verdict, row, expected, problem, repair } = explanation;
  const [state, text] = VERDICTS[verdict] ?? ["unknown", explanation.explanation];
  const [asking, setAsking] = useState(false);
  const wrong = verdict === "different" || verdict === "orphaned";
  return html`<section><h2>Is it up to date?</h2>
    <p class=${`verdict ${state}`} role="status">${text}.</p>
    ${problem && html`<p><${Text} text=${problem} /></p>`}
    ${wrong && html`<${Diff} stored=${row} expected=${expected} />`}
    ${wrong && canRepair && html`<p><button type="button" class="primary" onClick=${() => setAsking(true)}>Reconcile this item …</button></p>`}
    ${verdict !== "equal" && repair && html`<p class="muted">On the command line: <code>${repair}</code> <${CopyButton} text=${() => repair}>Copy<//></p>`}
    ${asking && html`<${Reconcile} of=${explanation.key} close=${() => setAsking(false)} done=${reload} />`}
  </section>`;
}

/** @param {{stored: Row, expected: Row | null}} props */
export function Diff({ stored, expected }) {
  const left = flat({ ...stored.index, ...stored.data });
  const right = expected ? flat({ ...expected.index, ...expected.data }) : new Map();
  const names = [...new Set([...left.keys(), ...right.keys()])];
  return html`<${Table} label="Stored row and expected row" head=${["attribute", "stored", "expected from the source"]}>
    ${names.map((name) => {
      const changed = JSON.stringify(left.get(name)) !== JSON.stringify(right.get(name));
      return html`<tr class=${changed ? "changed" : undefined}>
        <th scope="row"><${Text} text=${name} />${changed && html` <span class="badge attention">differs</span>`}</th>
        <td>${left.has(name) ? html`<${Value} value=${left.get(name)} />` : html`<span class="muted">absent</span>`}</td>
        <td>${right.has(name) ? html`<${Value} value=${right.get(name)} />` : html`<span class="muted">absent</span>`}</td>
      </tr>`;
    })}
  <//>`;
}

/** Return the attributes of nested maps under their paths.
 * @param {Record<string, AttributeValue>} value
 * @returns {Map<string, AttributeValue>} */
function flat(value, prefix = "") {
  const all = new Map();
  for (const [name, inner] of Object.entries(value)) {
    if (inner && typeof inner === "object" && !Array.isArray(inner) && Object.keys(inner).length)
      for (const [path, leaf] of flat(inner, `${prefix}${name}.`)) all.set(path, leaf);
    else all.set(prefix + name, inner);
  }
  return all;
}

/** @param {{of: Key, close: () => void, done: () => void}} props */
function Reconcile({ of, close, done }) {
  const [reason, setReason] = useState("");
  const [state, setState] = useState(/** @type {Error | "running" | null} */ (null));
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    setState("running");
    call("/repairs/reconcile", { method: "POST", body: { ...of, reason } }).then(() => {
      close();
      done();
    }, setState);
  };
  return html`<${Dialog} title="Reconcile this item" close=${close}>
    <p>Reads the source item again and makes all its rows match. The audit trail keeps the reason.</p>
    <form onSubmit=${submit}>
      <${Reason} value=${reason} set=${setReason} />
      <button class="primary" disabled=${state === "running"}>Reconcile</button>
    </form>
    ${state instanceof Error && html`<${Failure} error=${state} />`}
  <//>`;
}

/** @param {{explanation: Explanation}} props */
function Provenance({ explanation }) {
  const { item, change, view, model, row, contributions } = explanation;
  return html`<section><h2>Where it comes from</h2>
    <dl class="attributes">
      <div><dt>source item</dt><dd>${item ? html`${item.source}: <${Value} value=${item.key} />${!item.exists && html` <span class="badge attention">deleted</span>`}` : "none"}</dd></div>
      <div><dt>change</dt><dd>${change.reconciled ? "written by a reconcile, not by the stream" : html`sequence number <${Text} text=${change.sequence ?? "unknown"} />`}</dd></div>
      <div><dt>time</dt><dd>${change.time ? html`<${Time} at=${change.time} />${change.ageSeconds !== null && ` (${duration(change.ageSeconds)} ago)`}` : "unknown"}</dd></div>
      <div><dt>view</dt><dd>${view ? html`<code>${view.name}</code> in <code>${view.file}:${view.line}</code>` : "none derives this row"}</dd></div>
      <div><dt>model</dt><dd><code><${Text} text=${model.row ?? "unknown"} /></code> ${model.same ? "(current)" : html`(current: <code>${model.current}</code>; rows whose content did not change keep the older model)`}</dd></div>
      ${Object.keys(row.index).length > 0 && html`<div><dt>index entries</dt><dd><${Value} value=${row.index} /></dd></div>`}
      ${contributions.length > 0 && html`<div><dt>totals</dt><dd><${Value} value=${contributions} /></dd></div>`}
    </dl>
  </section>`;
}

/** @param {{query: string}} props */
function RelatedRows({ query }) {
  const { data, error, reload, cancel } = /** @type {ReturnType<typeof useRoute<Related>>} */ (
    useRoute(`/related?${query}`)
  );
  if (error)
    return html`<section><h2>Related</h2><${Failure} error=${error} retry=${reload} /></section>`;
  if (!data) return html`<${Loading} what="Looking for related rows" cancel=${cancel} />`;
  return html`<section class="related">
    <h2>Related</h2>
    ${
      data.links.length > 0 &&
      html`<h3>Queries with this row's values</h3>
      <ul>${data.links.map((link) => html`<li><${Link} href=${patternUrl(link.pattern, link.parameters)}>${link.pattern}<//> <span class="muted">${link.about}${link.missing.length > 0 && `; also needs ${link.missing.join(", ")}`}</span></li>`)}</ul>`
    }
    ${data.joins.length > 0 && html`<h3>Joined rows</h3><ul>${data.joins.map((join) => html`<li>${join.name}: <${RowLink} of=${join.key} /></li>`)}</ul>`}
    <${Keys} title="Rows of the same source item" of=${data.item} empty="The source item derives no other row." />
    <${Keys} title="Rows with the same partition key" of=${data.partition} empty="No other row has this partition key." />
  </section>`;
}

/** @param {{title: string, of: {rows: Key[], more: boolean}, empty: string}} props */
function Keys({ title, of, empty }) {
  return html`<h3>${title}</h3>
    ${of.rows.length ? html`<ul>${of.rows.map((key) => html`<li><${RowLink} of=${key} /></li>`)}</ul>` : html`<p class="empty">${empty}</p>`}
    ${of.more && html`<p class="muted">There are more.</p>`}`;
}
