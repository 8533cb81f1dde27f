"""The page that ``plugplay serve`` shows, and the HTTP interface behind it (extra ``web``).

The server keeps no image in memory. Uploads go to a temporary folder (`store`), decoding and restoring run in worker
processes (`crew`, `worker`), and the page only gets identifiers that cannot be guessed.
"""
