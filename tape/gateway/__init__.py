"""A budget for any agent: an MCP server in front of MCP servers and Python functions, with a price for every call.

How a call goes through, file by file:

1. ``config.py`` reads the TOML file (``tape/budget/price_reading.py`` what calls cost).
2. ``gateway.py`` starts the servers (``downstream.py``, ``http_channel.py``) and imports the functions
   (``python_tools.py``); ``catalog.py`` pins what they offer, within bounds.
3. ``serving.py`` speaks MCP with clients over stdio, ``http.py`` over HTTP, where clients know a token and each has
   limits of its own (``http_connections.py``, ``http_requests.py``, ``http_sessions.py``); ``approval.py`` asks before
   what is destructive; ``tape/tools/shown.py`` writes its arguments for people.
4. ``ledgers.py`` holds the worst case in a store before the call starts, in the scope of the session, which is within
   those of the client and of the run; ``books.py`` has their caps. Then the call is made and settled.
5. ``tape/guard/planning.py`` and ``own_tools.py`` are what the gateway itself offers.
6. ``watching.py`` tells of each call who watches: ``metrics.py`` for Prometheus, ``audit.py`` for a chained log, and
   ``tape/adapters/gateway_spans.py`` for OpenTelemetry.

``tape.guard`` is the same budget without a server, for the calls that programs make of models and tools.
"""
