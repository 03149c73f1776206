"""Looking back: what happened is told, what recurs is learned, what contradicts is found; all of it by rule."""
