"""The demo's play: an incident in a checkout service, worked on by agents in two languages."""
