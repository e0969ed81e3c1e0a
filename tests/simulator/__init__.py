"""A deterministic simulation: the real code among stand-ins of AWS, interleaved at every call.

A history is one run of a small world: services write to their tables, one poller per shard hands
the records to the real sync, replays take letters from the queue, a backfill and an operator write
beside them. Each of them is a fiber; before every call that any of them makes, `fibers` may let
another go on, and `faults` may let the call fail, or its process die. All that happens follows
from the numbers that `choices` draws from a seed; 0 is always the tamest of them. So a seed is a
history, a list of numbers is one too, and `shrink` makes the list of a failing one short.

`model` is what the views derive, `profile` what a history has to do with, `tables`, `shards` and
`queue` stand in for AWS, `calls` for the way there. `pollers`, `repairs` and `backfill` play,
`world` puts them together, `laws` judges, `history` runs one, `soak` many. `plants` are the wrong
variants of the product that it must catch.

What is assumed of AWS:

- the records of an item come in order, and a shard's after all of its parent's;
- a call takes effect before its answer or its failure is known, or never;
- a letter that SQS delivers to two replays at once is two letters: to delete one leaves the other;
- whoever reconciles by hand, and sees that fail, does it again a minute later;
- the owner index has caught up with a write after less than 60 seconds. That is what the replay
  counts on: a letter is hidden for 360 seconds, and the try that took it lasts at most 300.
"""
