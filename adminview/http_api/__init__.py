"""The HTTP API behind the gateway: requests in, JSON out.

`paths` lists the routes and `handlers` serves them. `request` parses the query string, `page` and
`render` write the response, `catalogue` and `openapi` describe the access patterns, `health` checks
the sync, and `problems` describes errors.
"""
