// A bar chart of totals: one bar per group, in the order of the rows.
import { useState } from "preact/hooks";
import { dayOf, localized } from "./format.js";
import { html } from "./html.js";

/** @import { Pattern, Row } from "./types.d.ts" */

const HEIGHT = 220;
const FOOT = 22; // below the bars, for their names
const HEAD = 18; // above the bars, for their values
const WIDEST = 70; // a bar
const NAME = 75; // of a bar, with some room
const NARROW = "(max-width: 40rem)";

/** @param {{rows: Row[], pattern: Pattern}} props */
export function Chart({ rows, pattern }) {
  const measures = [...pattern.sums, "count"];
  const [measure, setMeasure] = useState(pattern.rankedBy ?? measures[0] ?? "count");
  const group = pattern.group.at(-1) ?? "";
  const bars = rows.map((row) => ({
    name: String(row.data?.[group] ?? ""),
    value: Number(row.data?.[measure] ?? 0),
    exact: String(row.data?.[measure] ?? 0),
  }));
  const top = Math.max(0, ...bars.map((bar) => bar.value));
  const bottom = Math.min(0, ...bars.map((bar) => bar.value));
  const unit = (HEIGHT - FOOT - HEAD) / (top - bottom || 1);
  // A narrow window gets a narrow picture, not a wide one with tiny text.
  const width = matchMedia(NARROW).matches ? 360 : 900;
  const most = Math.floor(width / NAME); // names that fit side by side
  const step = width / bars.length;
  const highest = bars.findIndex((bar) => bar.value === top); // its number is the scale
  const every = Math.ceil(bars.length / most);
  return html`<figure class="chart">
    <figcaption><label>Bars show <select value=${measure} onChange=${(/** @type {any} */ event) => setMeasure(event.target.value)}>
      ${measures.map((name) => html`<option value=${name}>${name}</option>`)}</select></label> per ${group}</figcaption>
    <svg viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${`${measure} per ${group}, ${bars.length} bars; the table below has the numbers`}>
      ${bars.map((bar, place) => {
        const height = Math.abs(bar.value) * unit;
        const y = HEAD + (bar.value >= 0 ? (top - bar.value) * unit : top * unit);
        const thick = Math.min(step * 0.8, WIDEST);
        const middle = place * step + step / 2;
        return html`<g key=${place}>
          <title>${bar.name}: ${bar.exact}</title>
          <rect class="bar" x=${middle - thick / 2} y=${y} width=${thick} height=${Math.max(height, 1)} rx="2" />
          ${(bars.length <= most || place === highest) && html`<text x=${middle} y=${y - 5} text-anchor="middle">${localized(bar.value).text}</text>`}
          ${place % every === 0 && html`<text x=${middle} y=${HEIGHT - 6} text-anchor="middle">${nameOf(bar.name, every * step)}</text>`}
        </g>`;
      })}
      <line class="axis" x1="0" x2=${width} y1=${HEAD + top * unit} y2=${HEAD + top * unit} />
    </svg>
  </figure>`;
}

/** Return the name of a bar as it fits into a width. @param {string} name @param {number} width */
function nameOf(name, width) {
  const most = Math.max(3, Math.floor(width / 8));
  const text = localized(name).text;
  if (text.length <= most) return text;
  return dayOf(name) ?? `${text.slice(0, most - 1)}…`;
}
