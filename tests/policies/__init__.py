"""One table per socket: events that build a view, options, and the verdict they must give."""
