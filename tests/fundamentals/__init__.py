"""A tutorial of the bus in tests, on the running product: one idea each, the docstring says what happens.

Read in this order: `test_storing`, `test_pools`, `test_versions`, `test_links`, `test_forgetting`, `test_notices`,
`test_sessions`, `test_feedback`, `test_languages`.

``alice``, ``bob`` and ``carol`` are agents. ``alice.tool`` calls an MCP tool, ``alice.ask`` requests an operation
over NATS; ``store``, ``retrieve`` and ``look_back`` are tools that are used often. ``pool`` is a shared
pool of alice's, and ``unused`` a name that nobody uses.
"""
