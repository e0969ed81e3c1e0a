"""A deterministic simulation: the real code among stand-ins of AWS, interleaved at every call.

A history is one run of a small world: services write to their tables, one poller per shard hands
the records to the real sync, replays take letters from the queue, an operator reconciles, workers
fill the view from the tables; and sometimes another model is deployed, its rows are built and the
old ones are swept. Each of them is a fiber; before every call that any of them makes, `fibers` may
let another go on, and `faults` may let the call fail, or its process die. All that happens follows
from the numbers that `choices` draws from a seed; 0 is always the tamest of them. So a seed is a
history, a list of numbers is one too, and `shrink` makes the list of a failing one short.

`model` is what the views derive, `profile` what a history has to do with, `tables` with `past` and
`progress`, `shards` and `queue` stand in for AWS, `calls` for the way there. `deployment` makes the
functions of a model; those that run when another is deployed go on. `pollers`, `repairs`, `bulk`
and `change` play, `world` puts them together, `laws` judges, `history` runs one, `soak` many.
`plants` are the wrong variants of the product that it must catch.

The totals have a world of their own, which shares the clock, the chance and the faults: see
`totals_history`. `totals_plants` are their wrong variants.

What is assumed of AWS:

- the records of an item come in order, and a shard's after all of its parent's;
- a call takes effect before its answer or its failure is known, or never;
- a call of a bulk worker takes effect within `LONGEST_CALL` of when it was begun, or never. The
  worker may hang for minutes between two calls; only one that is suspended just when it has seen
  that there is time, and sends its request minutes later, is not modelled: nothing here mends it;
- a read that is not consistent shows each item as it was at some moment of the last 3 seconds;
- a letter that SQS delivers to two replays at once is two letters: to delete one leaves the other;
- whoever reconciles by hand, and sees that fail, does it again a minute later; whoever begins bulk
  work has it done to its end;
- the owner index has caught up with a write after less than 60 seconds. That is what the replay
  counts on: a letter is hidden for 360 seconds, and the try that took it lasts at most 300. Bulk
  work counts on it too: a segment is not taken over before 60 seconds after its last write;
- no old code is invoked after a deployment, and what is under way ends within 300 seconds, but for
  bulk work: of that, the lease says when it has ended.
"""
