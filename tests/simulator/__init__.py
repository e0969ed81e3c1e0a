"""A deterministic simulation: the real code with fakes of AWS, interleaved at every call.

A history is one run of a small system. Services write to their tables. One poller per shard
delivers the records to the real sync. Replays receive dead letters, an operator reconciles items,
and workers backfill the view. Sometimes another model is deployed, backfilled and swept. Each of
these is a fiber. Before every call, `fibers` may switch to another fiber, and `faults` may let the
call fail or kill its process.

`choices` draws numbers from a seed, and everything that happens follows from them; 0 is always the
most harmless choice. So a seed is a history, and so is a list of numbers. `shrink` shortens the
list of a failing history.

`model` holds what the views derive, and `profile` the size and the faults of a history. The fakes
of AWS are `tables` (with `past` and `progress`), `shards` and `queue`; `calls` connects the code to
them. `deployment` creates the functions of a model; functions that run when another model is
deployed keep running. `pollers`, `repairs`, `bulk` and `change` are the actors, and `simulation`
connects everything. `laws` checks the result, `history` runs one history, and `soak` runs many.
`plants` are faulty variants of the product that the simulation must catch.

Totals have a simulation of their own, which shares the clock, the choices and the faults: see
`totals_history`. `totals_plants` are their faulty variants.

Assumptions about AWS:

- the records of an item arrive in order, and those of a shard after all of its parent's;
- a call takes effect before its response or its failure is known, or never;
- a call of a bulk worker takes effect within `LONGEST_CALL` after its start, or never. The worker
  may hang for minutes between two calls. Not modelled: a worker that is suspended right after it
  has checked the time, and sends its request minutes later. Nothing in the product covers that;
- an eventually consistent read returns each item as it was at some moment of the last 3 seconds;
- a dead letter that SQS delivers to two replays counts as two: deleting one leaves the other;
- an operator whose reconcile fails repeats it a minute later, and one who starts bulk work finishes
  it;
- the owner index has caught up with a write within 60 seconds; `adminview smoke` measures it. The
  replay depends on it: a dead letter is invisible for 360 seconds, and the attempt that received it
  lasts at most 300. Bulk work depends on it too: a segment is not taken over within 60 seconds
  after its last write;
- no old code is invoked after a deployment, and running invocations end within 300 seconds. Bulk
  work is the exception: its lease says when it has ended.
"""
