"""HTTP requests in, JSON out: what the API function answers, without the gateway before it.

`paths` lists the routes, `request` reads what was asked, `page` and `render` write the answer,
`catalogue` and `openapi` describe the questions, `health` judges the sync, `problems` says what is
wrong, `routes` puts them together.
"""
