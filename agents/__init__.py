"""Agents that use the bus over MCP like anybody else: the demo, and its play."""
