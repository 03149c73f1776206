"""Things are killed, paused and cut off under load, and a checker reads the whole history: `python -m tests.chaos`."""
