"""A question and its parameters -> pages of rows.

`parameters` reads what was typed, `question` fills a pattern in, `cursor` remembers where a page
ended, `merge` puts the shards of an index in one order, `asker` asks.
"""
