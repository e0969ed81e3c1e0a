"""Query access patterns: parameters in, pages of rows out.

`parameters` parses text, `query` binds parameters to a pattern, `cursor` encodes where a page ended,
and `engine` reads the pages.
"""
