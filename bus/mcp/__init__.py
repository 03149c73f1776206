"""The MCP gateway: agents reach the bus through it. It knows the nodes only by their answers over NATS."""
