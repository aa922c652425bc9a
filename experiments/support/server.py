"""The help desk of the demo: an MCP server on stdio. Its customers and articles are made up, its state is real.

It keeps its accounts in memory, so what ``delete_account`` deletes is gone for as long as the server lives. The prices
are declared by the agent's side (:mod:`experiments.support.demo`), as they are for any MCP server.
"""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

ACCOUNTS: dict[str, dict[str, Any]] = {
    "A-17": {"customer": 4711, "plan": "team", "opened": "2021-03-02"},
    "A-18": {"customer": 4711, "plan": "team", "opened": "2026-10-01"},
    "A-19": {"customer": 4712, "plan": "solo", "opened": "2025-06-30"},
}

ARTICLES = (
    "Refunds of a double charge reach the customer within 5 working days after the duplicate account is deleted.",
    "An invoice can be downloaded for 10 years.",
    "A charge in another currency is converted at the rate of the day.",
)

READS = ToolAnnotations(read_only_hint=True)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True)

server = MCPServer("help desk")


@server.tool(annotations=READS)
def find_duplicate(customer: int) -> str:
    """The number of the account that a customer has twice: the younger one."""
    theirs = [name for name, account in ACCOUNTS.items() if account["customer"] == customer]
    if len(theirs) < 2:
        raise ValueError(f"customer {customer} has no account twice")
    return max(theirs, key=lambda name: str(ACCOUNTS[name]["opened"]))


@server.tool(annotations=READS)
def search_keywords(question: str) -> str:
    """Look a question up in the help articles, by the words they share."""
    return _closest(question)


@server.tool(annotations=READS)
def search_meaning(question: str) -> str:
    """Look a question up in the help articles, by what it means."""
    return _closest(question)


@server.tool(annotations=READS)
def ask_colleague(question: str) -> str:
    """Ask a person of the second line, who looks into the contract as well."""
    return f"{_closest(question)} (confirmed by the second line)"


@server.tool(annotations=DESTROYS)
def delete_account(account: str) -> str:
    """Delete an account and everything in it. This cannot be undone."""
    if account not in ACCOUNTS:
        raise ValueError(f"there is no account {account}")
    del ACCOUNTS[account]
    return f"Account {account} is deleted."


def _closest(question: str) -> str:
    """The article that shares most words with a question."""
    asked = set(question.lower().rstrip("?").split())
    return max(ARTICLES, key=lambda article: len(asked & set(article.lower().rstrip(".").split())))


if __name__ == "__main__":
    server.run()
