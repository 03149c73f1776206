"""Everything that moves: names, streams, request and reply, the log, notices, credentials."""
