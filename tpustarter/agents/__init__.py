"""For coding agents: the tools of the MCP server, and the instructions that agents read."""
