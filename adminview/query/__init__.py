"""Query access patterns: parameters in, pages of rows out.

`parameters` parses text, `query` binds parameters to a pattern, `cursor` encodes the end of a page,
and `engine` reads the pages.
"""
