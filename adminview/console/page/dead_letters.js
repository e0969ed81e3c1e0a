// Dead letters, grouped by source, view and error: look, preview, replay, discard.
import { useEffect, useState } from "preact/hooks";
import { ApiError, call } from "./api.js";
import { duration } from "./format.js";
import { html } from "./html.js";
import { navigate, useUrl } from "./router.js";
import { Diff } from "./row.js";
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

/** @import { AuditEntry, Job, Letter, LetterDetails, LetterGroup, Letters, Preview, Selection } from "./types.d.ts" */

/** @typedef {{action: "preview" | "replay" | "discard", select: Selection, what: string, count: number}} Action */

/** @param {{canRepair: boolean}} props */
export function DeadLetters({ canRepair }) {
  const url = useUrl();
  const { data, error, reload, cancel } = /** @type {ReturnType<typeof useRoute<Letters>>} */ (
    useRoute("/dead-letters", 10)
  );
  const jobs = /** @type {ReturnType<typeof useRoute<{jobs: Job[]}>>} */ (useRoute("/jobs"));
  const [action, setAction] = useState(/** @type {Action | null} */ (null));
  const [job, setJob] = useState(/** @type {Job | null} */ (null));
  const running =
    job ??
    jobs.data?.jobs.find((one) => one.state === "running" || one.state === "stopping") ??
    null;
  const [ended, setEnded] = useState(0);
  const opened = url.searchParams.get("id");
  /** @param {Job} started */
  const follow = (started) => {
    setAction(null);
    setJob(started);
  };
  const over = () => {
    reload();
    setEnded((before) => before + 1);
  };
  return html`<${Title}>Dead letters<//>
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Reading the queue" cancel=${cancel} />`}
    ${running && html`<${Work} key=${running.id} job=${running} ended=${over} />`}
    ${data && html`<${Queue} letters=${data} reload=${reload} />`}
    ${data?.groups.map(
      (group) =>
        html`<${Group} key=${JSON.stringify([group.source, group.view, group.error])} group=${group} letters=${data.letters} canRepair=${canRepair} act=${setAction} />`,
    )}
    ${opened && html`<${Details} id=${opened} canRepair=${canRepair} act=${setAction} close=${() => navigate("/dead-letters")} />`}
    ${action?.action === "preview" && html`<${PreviewDialog} action=${action} close=${() => setAction(null)} canRepair=${canRepair} act=${setAction} />`}
    ${action && action.action !== "preview" && html`<${Repair} action=${action} close=${() => setAction(null)} started=${follow} />`}
    <${Audit} turn=${`${running?.id} ${ended}`} />`;
}

/** @param {{letters: Letters, reload: () => void}} props */
function Queue({ letters, reload }) {
  const { queue, invisible, groups } = letters;
  const wait = Math.ceil((Date.parse(invisible.latest ?? "") - Date.now()) / 1000);
  return html`
    <p role="status">${queue.ready.toLocaleString()} ready${invisible.count > 0 && `, ${invisible.count.toLocaleString()} invisible`}${invisible.count > 0 && invisible.latest && html` until <${Time} at=${invisible.latest} /> at the latest${wait > 0 && ` (in ${duration(wait)})`}`}. ${" "}
      <button type="button" class="small" onClick=${reload}>Refresh</button></p>
    ${
      invisible.count > 0 &&
      html`<details><summary>Which are invisible, and why</summary>
        <p>A dead letter is invisible for some minutes after it was sent or tried, so that late writes and the owner index can settle. ${invisible.note}.</p>
        ${invisible.known.length > 0 && html`<ul>${invisible.known.map((one) => html`<li><${Text} text=${one.item} /> (<${Text} text=${one.error} />) until <${Time} at=${one.until} /></li>`)}</ul>`}
      </details>`
    }
    ${!groups.length && html`<p class="empty">${invisible.count ? "No dead letter is ready at the moment: all are invisible." : "No dead letters are waiting."}</p>`}
    ${!letters.complete && html`<p class="verdict attention">There are more dead letters than this list shows.</p>`}`;
}

/** @param {{group: LetterGroup, letters: Letter[], canRepair: boolean, act: (action: Action) => void}} props */
function Group({ group, letters, canRepair, act }) {
  const { source, view, error } = group;
  const own = letters.filter(
    (one) => one.source === source && one.view === view && one.error === error,
  );
  const items = own.flatMap((one) => one.items);
  const again = new Set(items).size < items.length;
  const select = { group: { source, view, error } };
  const what = `${group.count === 1 ? "1 dead letter" : `all ${group.count} dead letters`} with ${error}${source ? ` of ${source}` : ""}`;
  return html`<section class="group">
    <h2><${Text} text=${error} /> <span class="muted"><${Text} text=${[source, view && `view ${view}`].filter(Boolean).join(", ") || "unknown source"} /></span> <span class="badge">${group.count}</span></h2>
    <ul class="reasons">${group.reasons.map((one) => html`<li><${Value} value=${one.reason} /> <span class="muted">× ${one.count}</span></li>`)}</ul>
    ${again && html`<p class="muted">An item is here more than once. The fix of a bad item can send a dead letter too, because its old content was unreadable. A replay handles both.</p>`}
    ${!group.readable && html`<p class="muted">A replay cannot read these: look at each, and discard what AdminView did not send.</p>`}
    <div class="tools">
      ${group.readable && html`<button type="button" onClick=${() => act({ action: "preview", select, what, count: group.count })}>Preview a replay …</button>`}
      ${canRepair && group.readable && html`<button type="button" class="primary" onClick=${() => act({ action: "replay", select, what, count: group.count })}>Replay all …</button>`}
      ${canRepair && html`<button type="button" class="danger" onClick=${() => act({ action: "discard", select, what, count: group.count })}>Discard all …</button>`}
    </div>
    <${Table} label=${`Dead letters with ${error}`} head=${["item", "sent", { title: "tried", number: true }, "reason"]}>
      ${own.map(
        (letter) => html`<tr key=${letter.id}>
          <td><button type="button" class="link" onClick=${() => navigate(`/dead-letters?id=${encodeURIComponent(letter.id)}`)}>
            <${Text} text=${letter.items[0] ?? letter.id} />${letter.items.length > 1 && ` and ${letter.items.length - 1} more`}</button>
            ${letter.kind !== "record" && html` <span class="badge">${letter.kind}</span>`}</td>
          <td><${Time} at=${letter.sent} /></td>
          <td class="number">${letter.attempts}</td>
          <td><${Value} value=${letter.reason} /></td>
        </tr>`,
      )}
    <//>
  </section>`;
}

/** @param {{id: string, canRepair: boolean, act: (action: Action) => void, close: () => void}} props */
function Details({ id, canRepair, act, close }) {
  const { data, error, reload, cancel } =
    /** @type {ReturnType<typeof useRoute<LetterDetails>>} */ (
      useRoute(`/dead-letters/${encodeURIComponent(id)}`)
    );
  const select = { ids: [id] };
  /** @param {Action["action"]} action */
  const open = (action) => {
    close();
    act({ action, select, what: "this dead letter", count: 1 });
  };
  return html`<${Dialog} title="Dead letter" close=${close}>
    ${error && html`<${Failure} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Reading the dead letter" cancel=${cancel} />`}
    ${
      data &&
      html`<dl class="attributes">
        <div><dt>items</dt><dd>${data.items.map((item) => html`<div><${Text} text=${item} /></div>`)}</dd></div>
        <div><dt>error</dt><dd><${Text} text=${data.error} /></dd></div>
        <div><dt>reason</dt><dd><${Text} text=${data.reason} /></dd></div>
        <div><dt>sent</dt><dd><${Time} at=${data.sent} /></dd></div>
        <div><dt>tried</dt><dd>${data.attempts === 1 ? "once" : data.attempts ? `${data.attempts} times` : "never"}</dd></div>
        ${data.rows.length > 0 && html`<div><dt>rows it may have touched</dt><dd><ul>${data.rows.map((key) => html`<li><${RowLink} of=${key} /></li>`)}</ul></dd></div>`}
      </dl>
      <details><summary>The whole message</summary><pre><${Text} text=${data.text ?? ""} /></pre>
        ${data.truncated && html`<p class="muted">Only the beginning is shown.</p>`}
        <${CopyButton} text=${() => data.text ?? ""}>Copy<//></details>
      <div class="tools">
        ${data.kind !== "unreadable" && html`<button type="button" onClick=${() => open("preview")}>Preview a replay …</button>`}
        ${canRepair && data.kind !== "unreadable" && html`<button type="button" class="primary" onClick=${() => open("replay")}>Replay …</button>`}
        ${canRepair && html`<button type="button" class="danger" onClick=${() => open("discard")}>Discard …</button>`}
      </div>`
    }
  <//>`;
}

/** @param {{action: Action, close: () => void, canRepair: boolean, act: (action: Action) => void}} props */
function PreviewDialog({ action, close, canRepair, act }) {
  const [state, setState] = useState(/** @type {Preview | Error | null} */ (null));
  useEffect(() => {
    const controller = new AbortController();
    call("/dead-letters/preview", {
      method: "POST",
      body: action.select,
      signal: controller.signal,
    }).then(setState, (error) => controller.signal.aborted || setState(error));
    return () => controller.abort();
  }, []);
  return html`<${Dialog} title="What a replay would do now" close=${close}>
    ${state instanceof Error && html`<${Failure} error=${state} />`}
    ${state === null && html`<${Loading} what="Reading the source items" cancel=${close} />`}
    ${
      state &&
      !(state instanceof Error) &&
      html`
      ${!state.items.length && !state.unreadable.length && html`<p class="empty">Nothing: the dead letters are gone or invisible now.</p>`}
      ${state.items.map((item) => html`<${PreviewItem} key=${item.item} item=${item} />`)}
      ${state.unreadable.length > 0 && html`<p>${state.unreadable.length} cannot be read, and a replay leaves them in the queue: ${state.unreadable.map((one) => one.reason).join("; ")}</p>`}
      ${!state.complete && html`<p class="muted">There are more items than this preview shows.</p>`}
      ${canRepair && html`<div class="tools"><button type="button" class="primary" onClick=${() => act({ ...action, action: "replay" })}>Replay …</button></div>`}`
    }
  <//>`;
}

/** @param {{item: Preview["items"][number]}} props */
function PreviewItem({ item }) {
  const nothing = !item.put.length && !item.delete.length;
  return html`<section><h3><${Text} text=${item.item} /></h3>
    ${item.problem && html`<p class="verdict problem">It still fails: <${Text} text=${item.problem} /></p>
      <p>Fix the source item or the view file, then preview again. A replay would only send the dead letter again.</p>`}
    ${!item.problem && nothing && html`<p class="verdict ok">Its rows are already correct. The dead letter would be deleted.</p>`}
    ${item.put.map((put) => html`<h4>${put.before ? "change" : "write"} <${RowLink} of=${put.key} /></h4>${put.after && html`<${Diff} stored=${put.before ?? { key: put.key, data: null, index: {} }} expected=${put.after} />`}`)}
    ${item.delete.map((gone) => html`<h4>delete <${RowLink} of=${gone.key} /></h4>`)}
  </section>`;
}

/** @param {{action: Action, close: () => void, started: (job: Job) => void}} props */
function Repair({ action, close, started }) {
  const [reason, setReason] = useState("");
  const [rate, setRate] = useState("10");
  const [state, setState] = useState(/** @type {Error | "sending" | null} */ (null));
  const verb = action.action === "replay" ? "Replay" : "Discard";
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    setState("sending");
    const body = { select: action.select, reason, perSecond: Number(rate) };
    call(`/repairs/${action.action}`, { method: "POST", body }).then(
      ({ job }) => started(job),
      setState,
    );
  };
  const other = state instanceof ApiError ? state.problem.job : undefined;
  return html`<${Dialog} title=${`${verb} ${action.what}`} close=${close}>
    <p>${action.action === "replay" ? "Reads each source item again and makes its rows match. Newer data is never overwritten. Dead letters that still fail return to the queue." : "Deletes the dead letters. Their items stay as they are in the view until they change or are reconciled."}</p>
    <form onSubmit=${submit}>
      <${Reason} value=${reason} set=${setReason} />
      ${action.count > 1 && html`<label>Dead letters per second <input name="rate" type="number" min="1" max="100" required value=${rate} onInput=${(/** @type {any} */ event) => setRate(event.target.value)} /></label>`}
      <button class=${action.action === "replay" ? "primary" : "danger"} disabled=${state === "sending"}>${verb}</button>
    </form>
    ${state instanceof Error && html`<${Failure} error=${state} />`}
    ${other && html`<button type="button" onClick=${() => started(other)}>Show the one that is running</button>`}
  <//>`;
}

/** Follow a replay or discard until it has ended. @param {{job: Job, ended: () => void}} props */
function Work({ job, ended }) {
  const [now, setNow] = useState(job);
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const over = now.endedAt !== null;
  useEffect(() => {
    if (over) return undefined;
    const timer = setInterval(() => {
      call(`/jobs/${job.id}`).then((fresh) => {
        setNow(fresh);
        setError(null);
        if (fresh.endedAt !== null) ended();
      }, setError);
    }, 1000);
    return () => clearInterval(timer);
  }, [job.id, over]);
  const stop = () =>
    call(`/jobs/${job.id}/stop`, { method: "POST", body: {} }).then(setNow, setError);
  const outcomes = Object.entries(now.outcomes).filter(([, number]) => number);
  return html`<section class="job" aria-label="Repair in progress">
    <h2>${now.action === "replay" ? "Replay" : "Discard"} ${now.state}</h2>
    <progress aria-label="Progress" value=${over ? 1 : now.total === null ? undefined : now.handled} max=${over ? 1 : (now.total ?? undefined)}></progress>
    <p role="status">${now.handled}${now.total !== null && ` of ${now.total}`} handled${outcomes.map(([name, number]) => `, ${number} ${inWords(name)}`)}${now.rowsPut !== null && now.rowsDeleted !== null && `; ${now.rowsPut.toLocaleString()} rows written, ${now.rowsDeleted.toLocaleString()} deleted`}</p>
    ${Object.entries(now.reasons).map(([reason, number]) => html`<p class="verdict attention"><${Text} text=${reason} /> × ${number}</p>`)}
    ${now.problem && html`<p class="verdict problem"><${Text} text=${now.problem} /></p>`}
    ${error && html`<${Failure} error=${error} />`}
    ${now.state === "running" && html`<button type="button" onClick=${stop}>Stop</button>`}
    <p class="muted">Reason: <${Text} text=${now.reason} />. Started <${Time} at=${now.startedAt} />${over && `, took ${duration((Date.parse(now.endedAt ?? "") - Date.parse(now.startedAt)) / 1000)}`}.</p>
  </section>`;
}

/** Return what became of a dead letter. @param {string} outcome */
function inWords(outcome) {
  return outcome === "unchanged" ? "already correct" : outcome.replaceAll("_", " ");
}

/** @param {{turn: unknown}} props */
function Audit({ turn }) {
  const { data, error, reload } =
    /** @type {ReturnType<typeof useRoute<{file: string, entries: AuditEntry[]}>>} */ (
      useRoute("/audit?limit=20")
    );
  useEffect(reload, [turn]);
  if (error)
    return html`<section><h2>Audit trail</h2><${Failure} error=${error} retry=${reload} /></section>`;
  return html`<section><h2>Audit trail</h2>
    ${data && !data.entries.length && html`<p class="empty">No repairs yet. Each one is recorded with who, when and why.</p>`}
    ${
      data &&
      data.entries.length > 0 &&
      html`<${Table} label="Audit trail" head=${["time", "by", "action", "reason", "item or dead letter", "outcome"]}>
      ${data.entries.map(
        (
          entry,
        ) => html`<tr><td><${Time} at=${entry.at} /></td><td><${Text} text=${entry.by} /></td>
        <td>${entry.action}</td><td><${Text} text=${entry.reason} /></td><td><${Text} text=${entry.item ?? entry.id ?? ""} /></td><td>${inWords(entry.outcome ?? "")}</td></tr>`,
      )}<//><p class="muted">From <code>${data.file}</code>.</p>`
    }
  </section>`;
}
