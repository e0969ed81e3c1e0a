// Values as people read them. The exact value stays available: on hover, in copies, in the JSON.

/** @import { Row, Value } from "./types.d.ts" */

// Characters that are invisible, or change the direction or the place of other text. The joiner
// within an emoji is none of them.
const HIDDEN =
  /(?![\n\t]|(?<=\p{Extended_Pictographic}\ufe0f?)\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** Split a text into visible parts and the code points of hidden characters.
 * @param {string} text
 * @returns {(string | {code: string})[]} */
export function visible(text) {
  /** @type {(string | {code: string})[]} */
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    parts.push({ code: `U+${code}` });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** Return how a scalar looks in this locale, and its exact text if that differs.
 * @param {string | number} value
 * @returns {{text: string, exact?: string}} */
export function localized(value) {
  if (typeof value === "number") {
    const text = value.toLocaleString(undefined, { maximumSignificantDigits: 21 });
    return text === String(value) ? { text } : { text, exact: String(value) };
  }
  if (DAY.test(value) && isDate(value)) {
    const options = /** @type {const} */ ({ dateStyle: "medium", timeZone: "UTC" });
    return { text: new Date(value).toLocaleDateString(undefined, options), exact: value };
  }
  if (TIME.test(value) && isDate(value)) {
    const options = /** @type {const} */ ({ dateStyle: "medium", timeStyle: "medium" });
    return { text: new Date(value).toLocaleString(undefined, options), exact: value };
  }
  return { text: value };
}

/** Return a day without its year, as it fits below a bar; undefined for other texts.
 * @param {string} text */
export function dayOf(text) {
  if (!DAY.test(text) || !isDate(text)) return undefined;
  const options = /** @type {const} */ ({ day: "numeric", month: "short", timeZone: "UTC" });
  return new Date(text).toLocaleDateString(undefined, options);
}

/** @param {string} text */
function isDate(text) {
  const date = new Date(text);
  // A date such as 2025-02-30 is shown as it is.
  return !Number.isNaN(date.valueOf()) && (!DAY.test(text) || date.toISOString().startsWith(text));
}


/** Return how long ago something was, or how long it takes, in the largest unit that fits: with the
 * reader's digits, and in the language of the page.
 * @param {number} seconds */
export function duration(seconds) {
  const units = /** @type {const} */ ([
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
    ["second", 1],
  ]);
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? units[3];
  const number = seconds / size;
  const rounded = Number(number.toFixed(unit === "second" && number < 10 ? 1 : 0));
  return `${rounded.toLocaleString()} ${unit}${rounded === 1 ? "" : "s"}`;
}

/** Return a member of an object, and undefined for what every object inherits.
 * @template T
 * @param {{[name: string]: T} | null | undefined} object
 * @param {string} name
 * @returns {T | undefined} */
export function member(object, name) {
  return object && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Merge lists of names that are parts of one order: a new name follows the one before it, and a
 * list of new names follows all others.
 * @param {string[][]} lists */
export function merged(lists) {
  /** @type {string[]} */
  const all = [];
  const known = new Set();
  for (const list of lists) {
    const first = list.find((name) => known.has(name));
    let place = first === undefined ? all.length : all.indexOf(first);
    for (const name of list) {
      if (known.has(name)) place = all.indexOf(name) + 1;
      else {
        known.add(name);
        all.splice(place++, 0, name);
      }
    }
  }
  return all;
}

/** Return the columns of rows: attributes of `data` in the order of the API, then joined rows.
 * @param {Row[]} rows
 * @param {string[]} [first] attributes that come first
 * @returns {{title: string, value: (row: Row) => Value | undefined}[]} */
export function columns(rows, first = []) {
  /** @param {(Row | null | undefined)[]} some */
  const names = (some) => merged(some.map((row) => Object.keys(row?.data ?? {})));
  const all = names(rows);
  const ordered = [...new Set([...first.filter((name) => all.includes(name)), ...all])];
  const own = ordered.map((name) => ({
    title: name,
    value: /** @param {Row} row */ (row) => member(row.data, name),
  }));
  const joins = [...new Set(rows.flatMap((row) => Object.keys(row.joined ?? {})))];
  const joined = joins.flatMap((join) => {
    const attributes = names(rows.map((row) => member(row.joined, join)));
    if (!attributes.length) return [{ title: join, value: () => undefined }];
    return attributes.map((name) => ({
      title: `${join}.${name}`,
      value: /** @param {Row} row */ (row) => member(member(row.joined, join)?.data, name),
    }));
  });
  return [...own, ...joined];
}

/** Return rows as CSV that a spreadsheet opens without running formulas, as `adminview query --csv` does.
 * @param {Row[]} rows
 * @param {string[]} first attributes that come first
 * @param {boolean} keys whether the rows' keys are columns, too */
export function csv(rows, first, keys) {
  const shown = columns(rows, first);
  const head = [...(keys ? ["PK", "SK"] : []), ...shown.map((column) => column.title)];
  const lines = rows.map((row) => [
    ...(keys ? [row.key.PK, row.key.SK] : []),
    ...shown.map((column) => column.value(row)),
  ]);
  return [head, ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

// What spreadsheets take for the beginning of a formula, also behind blanks and hidden characters.
const FORMULA = /^[\s\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66]/u;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const CONTROL = /[^\P{Cc}\n]/gu;

/** @param {Value | undefined} value */
function cell(value) {
  if (value === null || value === undefined) return "";
  let text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const formula = typeof value !== "number" && FORMULA.test(text) && !NUMBER.test(text);
  text = text.replace(CONTROL, escaped);
  if (formula) text = `'${text}`;
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {string} character */
function escaped(character) {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

/** @param {string} character */
function bytes(character) {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`)
    .join("");
}

/** Quote a word for a shell. @param {string} word */
export function shell(word) {
  if (/\p{Cc}/u.test(word))
    return `$'${word.replace(/[\\']/g, "\\$&").replace(/\p{Cc}/gu, bytes)}'`;
  return /^[\w@%+:,./][\w@%+=:,./-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
