// The shapes of the API's responses that the page reads; /api/openapi.json describes them all.

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string;
  job?: Job;
}

export interface Target {
  kind: "local" | "stage";
  name: string;
  stage: string | null;
  prefix: string;
  viewTable: string;
  region: string | null;
}

export interface Session {
  token?: string;
  user: string;
  target: Target;
  features: string[];
}

export interface Parameter {
  name: string;
  type: "string" | "number" | "base64";
  required: boolean;
  hint: "date" | "month" | "datetime" | null;
  condition: string;
}

export interface Pattern {
  name: string;
  about: string;
  parameters: Parameter[];
  conditions: string[];
  joins: string[];
  total: string | null;
  ranked: boolean;
  group: string[];
  sums: string[];
  rankedBy: string | null;
  index: string | null;
  order: "asc" | "desc";
  consistent: boolean;
  ready: boolean;
}

export type Value = null | boolean | number | string | Value[] | { [name: string]: Value };

export interface Key {
  PK: string;
  SK: string;
}

export interface Row {
  key: Key;
  data: { [name: string]: Value } | null;
  index: { [name: string]: Value };
  joined?: { [name: string]: Row | null };
}

export interface Page {
  pattern: string;
  rows: Row[];
  cursor: string | null;
}

export interface Explanation {
  key: Key;
  row: Row;
  expected: Row | null;
  verdict: "equal" | "different" | "orphaned" | "failing" | "unowned";
  explanation: string;
  item: {
    owner: string;
    source: string;
    table: string;
    key: { [name: string]: Value };
    exists: boolean;
  } | null;
  change: {
    sequence: string | null;
    reconciled: boolean;
    time: string | null;
    ageSeconds: number | null;
  };
  view: { name: string; module: string; file: string; line: number } | null;
  model: { row: string | null; current: string; same: boolean };
  contributions: Value[];
  repair: string | null;
  problem: string | null;
}

export interface Link {
  pattern: string;
  about: string;
  parameters: { [name: string]: string };
  missing: string[];
  because: string;
  basis: "key" | "name";
}

export interface Related {
  partition: { rows: Key[]; more: boolean };
  item: { owner: string | null; rows: Key[]; more: boolean };
  joins: { name: string; pattern: string; key: Key }[];
  links: Link[];
}

export interface Letter {
  id: string;
  source: string | null;
  view: string | null;
  error: string;
  reason: string;
  items: string[];
  changed: string | null;
  sent: string;
  received: number;
  attempts: number;
  kind: "record" | "in-doubt" | "batch" | "unreadable";
}

export interface LetterDetails extends Letter {
  rows: Key[];
  model: string | null;
  sequence: string | null;
  table: string | null;
  text: string | null;
  truncated: boolean;
}

export interface LetterGroup {
  source: string | null;
  view: string | null;
  error: string;
  count: number;
  oldest: string;
  newest: string;
  attempts: number;
  reasons: { reason: string; count: number }[];
  readable: boolean;
}

export interface Letters {
  queue: { ready: number; received: number; delayed: number; at: string };
  invisible: {
    count: number;
    latest: string | null;
    note: string;
    known: { item: string; source: string; error: string; until: string }[];
  };
  groups: LetterGroup[];
  letters: Letter[];
  complete: boolean;
}

export type Selection =
  | { ids: string[] }
  | { group: { source: string | null; view: string | null; error: string } }
  | { all: true };

export interface Preview {
  items: {
    item: string;
    letters: number;
    problem: string | null;
    put: { key: Key; before: Row | null; after: Row | null }[];
    delete: { key: Key; before: Row | null }[];
  }[];
  unreadable: { id: string; reason: string }[];
  letters: number;
  complete: boolean;
  truncated?: boolean;
}

export interface Job {
  id: string;
  action: "replay" | "discard";
  reason: string;
  state: "running" | "stopping" | "done" | "stopped" | "failed";
  startedAt: string;
  endedAt: string | null;
  total: number | null;
  handled: number;
  outcomes: { [outcome: string]: number };
  rowsPut: number | null;
  rowsDeleted: number | null;
  reasons: { [reason: string]: number };
  problem: string | null;
}

export interface AuditEntry {
  at: string;
  by: string;
  action: string;
  reason: string;
  id: string | null;
  item: string | null;
  outcome: string | null;
}

export interface Measure {
  value: number | null;
  unit: "seconds" | "count";
  at: string | null;
  reason: string | null;
}

export interface SourceStatus {
  name: string;
  table: string;
  state: string;
  lag: Measure;
  records: Measure;
  writes: Measure;
  deadLetters: Measure;
  drift: Measure;
  verified: {
    at: string | null;
    complete: boolean | null;
    share: number | null;
    checked: Measure;
    reason: string | null;
  };
}

export interface Status {
  target: Target;
  at: string;
  model: { local: string; deployed: string | null; same: boolean | null };
  state: string;
  problems: string[];
  sources: SourceStatus[];
  window: string | null;
  deadLetters: { ready: number; received: number; delayed: number } | null;
  alarms: {
    known: boolean;
    reason: string | null;
    ringing: { name: string; since: string; description: string }[];
    ok: number;
    noData: number;
  };
  pending: { pattern: string; servedBy: string | null }[];
}

export interface Apply {
  state: "running" | "done" | "stopped" | "failed";
  model: string;
  startedAt: string;
  at: string;
  steps: { title: string; state: "done" | "running" | "stopped" | "failed" | "waiting" }[];
}

export interface Progress {
  runs: {
    run: string;
    kind: string;
    subject: string;
    segmentsDone: number;
    segments: number;
    counts: { [name: string]: number };
    state: string;
  }[];
  completed: {
    run: string;
    at: string | null;
    model: string;
    counts: { [name: string]: number };
    current: boolean;
  }[];
  plan: { unbuilt: string[]; stale: string[]; pending: string[]; apply: Apply | null };
  known: boolean;
  reason: string | null;
}

export interface ModelNode {
  id: string;
  kind: "source" | "view" | "table" | "index" | "pattern" | "total";
  name: string;
  about: string;
  place: string | null;
  detail: { [name: string]: Value };
}

export interface Model {
  fingerprint: string;
  locked: boolean | null;
  nodes: ModelNode[];
  edges: { from: string; to: string; kind: string }[];
  changes: { day: string; model: string; reason: string; lines: string[] }[];
}
