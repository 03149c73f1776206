"""How the parts are put together and started: the `afterwit` command, its supervisor, embedded engines."""
