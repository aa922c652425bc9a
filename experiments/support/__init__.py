"""A support agent with priced tools over MCP, under three dollar caps: the part of the demo about budgets."""
