"""Dead letters -> reconciled items.

`letters` reads a letter, `errands` finds the items it is about, `choice` says which letters are
meant, `case` is a letter in hand, `replayer` sees to all of them. `browse` and `preview` only look.
"""
