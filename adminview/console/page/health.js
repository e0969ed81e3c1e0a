// Whether the sync keeps up, per source, and what is in progress.
import { duration } from "./format.js";
import { html } from "./html.js";
import { Link, patternUrl } from "./router.js";
import { Failure, Loading, Prose, Table, Text, Time, Title, useRoute } from "./ui.js";

/** @import { Apply, Measure, Progress, SourceStatus, Status, Target } from "./types.d.ts" */

const STATES = {
  healthy: ["ok", "healthy"],
  quiet: ["ok", "quiet"],
  attention: ["attention", "needs attention"],
  problem: ["problem", "problem"],
  unknown: ["unknown", "unknown"],
};

const KINDS = {
  backfill: "backfill",
  sweep: "sweep",
  migrate: "migration",
  verify: "verification of the items",
  "verify-rows": "verification of the rows",
  "daily-verify": "scheduled verification of the items",
  "daily-verify-rows": "scheduled verification of the rows",
};

/** Split the name of a run into its task and its subject.
 * @param {string} run @returns {[string, string]} */
function halves(run) {
  const [kind = "", ...subject] = run.split("/");
  return [kind, subject.join("/")];
}

/** Return what a run does, in words. @param {string} kind @param {string} subject */
function named(kind, subject) {
  const task = KINDS[/** @type {keyof typeof KINDS} */ (kind)] ?? kind;
  return `${task} of ${subject === "*" ? "the whole view" : subject}`;
}

/** @param {{target: Target}} props */
export function Health({ target }) {
  const { data, error, reload, cancel } = /** @type {ReturnType<typeof useRoute<Status>>} */ (
    useRoute("/status", 15)
  );
  return html`<${Title}>Health<//>
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Reading metrics and tables" cancel=${cancel} />`}
    ${data && html`<${Overview} status=${data} target=${target} />`}
    <${Runs} stage=${target.kind === "stage"} />`;
}

/** @param {{state: string}} props */
function State({ state }) {
  const [look, text] = STATES[/** @type {keyof typeof STATES} */ (state)] ?? ["unknown", state];
  return html`<span class=${`state ${look}`}>${text}</span>`;
}

/** Say what is known although the lag is not.
 * @param {{sources: SourceStatus[], target: Target}} props */
function Doubt({ sources, target }) {
  const equal = sources.every(
    ({ drift, verified }) => drift.value === 0 && verified.complete && verified.share === 1,
  );
  const since = sources.map(({ verified }) => verified.at ?? "").sort()[0];
  if (equal && since)
    return html`<p>Nothing is known to be wrong: the verification of <${Time} at=${since} /> found no difference between the view and its sources. It is unknown whether the sync has kept up since.</p>`;
  const options = `${target.stage ? ` --stage ${target.stage}` : ""}${target.prefix ? ` --prefix ${target.prefix}` : ""}`;
  return html`<p>Nothing is known to be wrong, but it is unknown whether the sync keeps up. To find out whether the view is equal to its sources, run <code>adminview verify${options}</code>.</p>`;
}

/** @param {{status: Status, target: Target}} props */
function Overview({ status, target }) {
  const { alarms, pending, model } = status;
  const hidden = (status.deadLetters?.received ?? 0) + (status.deadLetters?.delayed ?? 0);
  const waiting = status.sources.filter((source) => source.deadLetters.value);
  // Unreadable ones have no source, and those of a deployment are counted by source once listed.
  const named = waiting.reduce((sum, source) => sum + (source.deadLetters.value ?? 0), 0);
  const others = Math.max(0, (status.deadLetters?.ready ?? 0) - named);
  return html`
    <p class="lead" role="status"><${State} state=${status.state} /> <span class="muted">as of <${Time} at=${status.at} /></span></p>
    ${
      status.problems.length + waiting.length + others > 0 &&
      html`<ul class="problems">${status.problems.map((problem) => html`<li><${Text} text=${problem} /></li>`)}
        ${waiting.map(({ name, deadLetters }) => html`<li><${Text} text=${name} /> has ${deadLetters.value?.toLocaleString()} ${deadLetters.value === 1 ? "dead letter" : "dead letters"}. <${Link} href="/dead-letters">Show dead letters<//></li>`)}
        ${others > 0 && html`<li>The queue has ${others.toLocaleString()} ${named > 0 ? "more " : ""}${others === 1 ? "dead letter" : "dead letters"}. <${Link} href="/dead-letters">Show dead letters<//></li>`}</ul>`
    }
    ${hidden > 0 && html`<p>${hidden.toLocaleString()} ${hidden === 1 ? "dead letter is" : "dead letters are"} invisible for now. <${Link} href="/dead-letters">Show when they are visible again<//></p>`}
    ${status.state === "unknown" && html`<${Doubt} sources=${status.sources} target=${target} />`}
    <h2>Sources</h2>
    <${Table} label="Sources" head=${["source", "state", ...["lag", `records${status.window ? ` ${status.window}` : ""}`, "rows written", "dead letters", "drift"].map((title) => ({ title, number: true })), "last verification"]}>
      ${status.sources.map((source) => html`<${SourceRow} key=${source.name} source=${source} />`)}
    <//>
    ${[...unknowns(status.sources)].map(([reason, names]) => html`<p class="muted">The ${new Intl.ListFormat("en").format(names)} ${names.size > 1 ? "are" : "is"} unknown: <${Prose} text=${reason} />.</p>`)}
    <h2>Alarms</h2>
    ${
      alarms.known
        ? html`<p>${alarms.ringing.length ? "" : "No alarm rings. "}${alarms.ok} are OK, ${alarms.noData} have no data.</p>
          <ul class="problems">${alarms.ringing.map((alarm) => html`<li><strong><${Text} text=${alarm.name} /></strong> since <${Time} at=${alarm.since} />: <${Text} text=${alarm.description} /></li>`)}</ul>`
        : html`<p class="muted">Unknown: <${Prose} text=${alarms.reason ?? ""} />.</p>`
    }
    ${
      pending.length > 0 &&
      html`<h2>Access patterns that are not ready</h2>
      <ul>${pending.map((one) => html`<li><${Link} href=${patternUrl(one.pattern)}>${one.pattern}<//> ${one.servedBy && html`<span class="muted">served by index ${one.servedBy} meanwhile</span>`}</li>`)}</ul>`
    }
    <h2>Model</h2>
    <p>${model.same === null ? "The deployed model is unknown." : model.same ? "The view files here are the deployed model." : html`The view files here differ from the deployed model <code>${model.deployed}</code>. Run <code>adminview model diff</code>.`} <code>${model.local}</code></p>`;
}

/** Return why measures are unknown: for each reason, what it concerns.
 * @param {SourceStatus[]} sources */
function unknowns(sources) {
  /** @type {Map<string, Set<string>>} */
  const reasons = new Map();
  for (const { lag, records, writes, deadLetters, drift, verified } of sources) {
    const measures = { lag, records, "rows written": writes, "dead letters": deadLetters, drift };
    for (const [name, { value, reason }] of Object.entries(measures))
      if (value === null && reason) reasons.set(reason, (reasons.get(reason) ?? new Set()).add(name));
    const { at, reason } = verified;
    if (!at && reason) reasons.set(reason, (reasons.get(reason) ?? new Set()).add("last verification"));
  }
  return reasons;
}

/** @param {{source: SourceStatus}} props */
function SourceRow({ source }) {
  const { verified } = source;
  return html`<tr>
    <th scope="row"><${Text} text=${source.name} /></th>
    <td><${State} state=${source.state} /></td>
    ${[source.lag, source.records, source.writes, source.deadLetters, source.drift].map((measure) => html`<td class="number"><${Number_} measure=${measure} /></td>`)}
    <td>${verified.at ? html`<${Time} at=${verified.at} />${verified.complete === false && " (not finished)"}${verified.share !== null && verified.share < 1 && ` (a sample of ${(verified.share * 100).toLocaleString()} %)`}` : html`<span class="muted" title=${verified.reason ?? ""}>${verified.reason ? "unknown" : "never"}</span>`}</td>
  </tr>`;
}

/** @param {{measure: Measure}} props */
function Number_({ measure }) {
  if (measure.value === null)
    return html`<span class="muted" title=${measure.reason ?? ""}>unknown</span>`;
  const text =
    measure.unit === "seconds" ? duration(measure.value) : measure.value.toLocaleString();
  return html`<span title=${`${measure.value}${measure.at ? ` at ${measure.at}` : ""}`}>${text}</span>`;
}

/** @param {{apply: Apply}} props */
function Steps({ apply }) {
  const done = apply.steps.filter((step) => step.state === "done").length;
  return html`<section class="job" aria-label="Plan">
    <h3>plan <span class="muted">${apply.state}</span></h3>
    <progress aria-label="Steps of the plan" value=${done} max=${apply.steps.length}></progress>
    <p>${done} of ${apply.steps.length} steps done; ${apply.state === "running" ? "this step began" : "it ended"} <${Time} at=${apply.at} />.</p>
    <ol class="steps">${apply.steps.map((step) => html`<li aria-current=${step.state === "running" ? "step" : undefined}><${Text} text=${step.title} /> <span class="muted">${step.state}</span></li>`)}</ol>
    ${apply.state === "running" ? html`<p class="muted">If its command was ended, <code>adminview apply</code> continues here.</p>` : html`<p class="verdict attention">It did not complete. <code>adminview apply</code> continues here.</p>`}
  </section>`;
}

/** @param {{stage: boolean}} props */
function Runs({ stage }) {
  const { data, error, reload } = /** @type {ReturnType<typeof useRoute<Progress>>} */ (
    useRoute("/progress", 4)
  );
  if (error && !data)
    return html`<h2>Work in progress</h2><${Failure} error=${error} retry=${reload} />`;
  if (!data) return null;
  const { plan } = data;
  return html`<h2>Work in progress</h2>
    ${!data.known && html`<p class="muted">Unknown: <${Prose} text=${data.reason ?? ""} />.</p>`}
    ${plan.apply && plan.apply.state !== "done" && html`<${Steps} apply=${plan.apply} />`}
    ${data.known && !data.runs.length && html`<p class="empty">No backfill, sweep, migration or verification is running.</p>`}
    ${data.runs.map(
      (run) => html`<section class="job" key=${run.run}>
        <h3>${named(run.kind, run.subject)} <span class="muted">${run.state === "waiting" ? "waiting for a worker" : run.state}</span></h3>
        <progress aria-label=${named(run.kind, run.subject)} value=${run.segmentsDone} max=${run.segments}></progress>
        <p>${run.segmentsDone} of ${run.segments} segments${Object.entries(run.counts).map(([name, number]) => `, ${number.toLocaleString()} ${name}`)}</p>
      </section>`,
    )}
    ${
      (plan.unbuilt.length > 0 || plan.stale.length > 0) &&
      html`<p class=${stage ? "verdict attention" : "muted"}>No backfill with these view files is recorded for ${[...new Set([...plan.unbuilt, ...plan.stale])].join(", ")}. ${stage ? html`Run <code>adminview plan</code>, then <code>adminview apply</code>.` : html`Items from before the sync began need one: <code>adminview backfill</code>.`}</p>`
    }
    ${
      data.completed.length > 0 &&
      html`<details><summary>Completed</summary><ul>${data.completed.map((run) => html`<li>${named(...halves(run.run))}${run.at && html`, <${Time} at=${run.at} />`}${!run.current && " (by an older model)"}</li>`)}</ul></details>`
    }`;
}
