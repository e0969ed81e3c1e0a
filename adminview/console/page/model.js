// The model as a diagram: sources, views, the table with its indexes and totals, access patterns.
import { useState } from "preact/hooks";
import { localized } from "./format.js";
import { html } from "./html.js";
import { Link, patternUrl } from "./router.js";
import { Failure, Loading, Text, Title, useRoute, Value } from "./ui.js";

/** @import { Model, ModelNode } from "./types.d.ts" */

const COLUMNS = [
  { title: "Sources", kinds: ["source"] },
  { title: "Views", kinds: ["view"] },
  { title: "Table, indexes, totals", kinds: ["table", "index", "total"] },
  { title: "Access patterns", kinds: ["pattern"] },
];
// What an edge means, seen from its start and from its end.
const WORDS = {
  derives: { out: "is read by view", back: "reads source" },
  writes: { out: "writes rows to", back: "is filled by view" },
  enters: { out: "writes entries to", back: "is filled by view" },
  "adds-to": { out: "adds to total", back: "sums up the rows of" },
  serves: { out: "answers", back: "queries" },
  joins: { out: "joins rows of", back: "is joined by" },
};
const WIDTH = 222; // of a node
const GAP = 70; // between columns
const LINE = 34; // from node to node
const TOP = 30; // for the titles
const HEIGHT = 26; // of a node

export function ModelScreen() {
  const { data, error, reload, cancel } = /** @type {ReturnType<typeof useRoute<Model>>} */ (
    useRoute("/model")
  );
  const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
  return html`<${Title}>Model<//>
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Loading the model" cancel=${cancel} />`}
    ${
      data &&
      html`<p>From the source tables on the left to the queries on the right. Choose a part to see what it is connected with. <span class="muted">Fingerprint of the model: <code>${data.fingerprint}</code></span>${data.locked === false && html` <span class="badge attention">differs from the lock file</span>`}</p>
      <${Diagram} model=${data} chosen=${chosen} choose=${setChosen} />
      ${chosen && html`<${Part} model=${data} id=${chosen} choose=${setChosen} />`}
      <h2>Recent changes</h2>
      ${!data.changes.length && html`<p class="empty">No recorded changes. <code>adminview model lock --reason "…"</code> records one.</p>`}
      <ol class="changes">${data.changes.map(
        (
          change,
        ) => html`<li><strong title=${change.day}>${localized(change.day).text}</strong> <${Text} text=${change.reason} /> <code>${change.model}</code>
        ${change.lines.length > 0 && html`<ul>${change.lines.map((line) => html`<li><${Text} text=${line} /></li>`)}</ul>`}</li>`,
      )}</ol>`
    }`;
}

/** Return the parts that are connected with one, in the direction of the data and against it.
 * @param {Model} model @param {string | null} id */
function connected(model, id) {
  const all = new Set(id ? [id] : []);
  for (const [from, to] of /** @type {const} */ ([
    ["from", "to"],
    ["to", "from"],
  ])) {
    const reached = new Set(id ? [id] : []);
    for (const start of reached)
      for (const edge of model.edges)
        if (edge.kind !== "joins" && edge[from] === start) reached.add(edge[to]);
    for (const part of reached) all.add(part);
  }
  return all;
}

/** Place the nodes in columns; each as near as possible to those it is connected with on its left.
 * @param {Model} model */
function layout(model) {
  /** @type {Map<string, {x: number, y: number, node: ModelNode}>} */
  const places = new Map();
  COLUMNS.forEach((column, number) => {
    const nodes = model.nodes.filter((node) => column.kinds.includes(node.kind));
    /** @param {ModelNode} node */
    const middle = (node) => {
      const left = model.edges
        .filter((edge) => edge.to === node.id)
        .flatMap((edge) => places.get(edge.from)?.y ?? []);
      return left.length ? left.reduce((sum, y) => sum + y, 0) / left.length : 0;
    };
    const ordered = nodes.map((node) => ({ node, y: middle(node) })).sort((a, b) => a.y - b.y);
    ordered.forEach(({ node }, line) => {
      places.set(node.id, { x: number * (WIDTH + GAP), y: TOP + line * LINE, node });
    });
  });
  return places;
}

/** @param {{model: Model, chosen: string | null, choose: (id: string | null) => void}} props */
function Diagram({ model, chosen, choose }) {
  const places = layout(model);
  const lit = connected(model, chosen);
  const width = COLUMNS.length * (WIDTH + GAP) - GAP;
  const height = Math.max(...[...places.values()].map((place) => place.y)) + LINE;
  /** @param {string} id */
  const dim = (id) => (chosen && !lit.has(id) ? "dim" : "");
  return html`<div class="scroll diagram" role="region" aria-label="Diagram of the model" tabindex="0">
    <svg viewBox=${`-1 0 ${width + 2} ${height}`} width=${width} height=${height}>
      ${COLUMNS.map((column, number) => html`<text class="column" x=${number * (WIDTH + GAP)} y="16">${column.title}</text>`)}
      ${model.edges.map((edge) => {
        const from = places.get(edge.from);
        const to = places.get(edge.to);
        if (!from || !to || edge.kind === "joins") return null;
        const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
        const look = chosen && !(lit.has(edge.from) && lit.has(edge.to)) ? "dim" : "";
        return html`<path class=${`edge ${look}`} d=${`M${x1} ${y1} C${x1 + GAP / 2} ${y1} ${x2 - GAP / 2} ${y2} ${x2} ${y2}`} />`;
      })}
      ${[...places.values()].map(
        ({
          x,
          y,
          node,
        }) => html`<g class=${`node ${node.kind} ${dim(node.id)}`} role="button" tabindex="0"
          aria-label=${`${node.kind} ${node.name}`} aria-pressed=${chosen === node.id ? "true" : "false"}
          onClick=${() => choose(chosen === node.id ? null : node.id)}
          onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
            if (event.key === "Enter" || event.key === " ") {
              event.preventDefault();
              choose(chosen === node.id ? null : node.id);
            }
          }}>
          <title>${node.name}</title>
          <rect x=${x} y=${y} width=${WIDTH} height=${HEIGHT} rx="5" />
          <text x=${x + 8} y=${y + 17}>${node.name.length > 30 ? `${node.name.slice(0, 29)}…` : node.name}</text>
        </g>`,
      )}
    </svg>
  </div>`;
}

/** Return the details with lists of names as texts.
 * @param {ModelNode["detail"]} detail */
function onOneLine(detail) {
  return Object.fromEntries(
    Object.entries(detail).map(([name, value]) => [
      name,
      Array.isArray(value) && value.every((one) => typeof one === "string")
        ? value.join(", ")
        : value,
    ]),
  );
}

/** @param {{model: Model, id: string, choose: (id: string | null) => void}} props */
function Part({ model, id, choose }) {
  const node = model.nodes.find((one) => one.id === id);
  if (!node) return null;
  /** @param {string} other */
  const name = (other) => model.nodes.find((one) => one.id === other)?.name ?? other;
  /** @type {Map<string, string[]>} */
  const others = new Map();
  for (const { from, to, kind } of model.edges) {
    if (from !== id && to !== id) continue;
    const { out, back } = WORDS[/** @type {keyof typeof WORDS} */ (kind)];
    const words = from === id ? out : back;
    others.set(words, [...(others.get(words) ?? []), from === id ? to : from]);
  }
  return html`<section class="part" aria-live="polite"><h2>${node.kind} <${Text} text=${node.name} /></h2>
    ${node.about && html`<p><${Text} text=${node.about} /></p>`}
    ${node.place && html`<p>Declared at <code>${node.place}</code>.</p>`}
    ${Object.keys(node.detail).length > 0 && html`<${Value} value=${onOneLine(node.detail)} />`}
    ${node.kind === "pattern" && html`<p><${Link} href=${patternUrl(node.name)}>Query it<//></p>`}
    <ul>${[...others].map(
      ([words, parts]) => html`<li>${words} ${parts.map((other, place) => html`${place > 0 && ", "}<button type="button" class="link" onClick=${() => choose(other)}>${name(other)}</button>`)}</li>`,
    )}</ul>
    <p><button type="button" class="small" onClick=${() => choose(null)}>Show the whole model</button></p>
  </section>`;
}
