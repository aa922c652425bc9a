"""A shop: customers, products and orders in SQLite, and mail. The description of a tool names the columns."""

from __future__ import annotations

from typing import Any

from experiments.own_tools.sets import Message, Question, QuestionSet, World, database, selected
from tape.tools import tool

SCRIPT = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT, city TEXT);
CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT, price REAL, stock INTEGER);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, product_id INTEGER, quantity INTEGER, paid INTEGER,
                     day TEXT);
INSERT INTO customers VALUES
 (1, 'Ada Brandt', 'ada@brandt.example', 'Lyon'), (2, 'Boris Kowal', 'boris@kowal.example', 'Porto'),
 (3, 'Chiara Neri', 'chiara@neri.example', 'Lyon'), (4, 'Dina Okafor', 'dina@okafor.example', 'Bergen'),
 (5, 'Emil Szabo', 'emil@szabo.example', 'Porto'), (6, 'Fumiko Abe', 'fumiko@abe.example', 'Bergen'),
 (7, 'Goran Petrov', 'goran@petrov.example', 'Graz');
INSERT INTO products VALUES
 (1, 'desk lamp', 34.5, 12), (2, 'wool blanket', 59.0, 3), (3, 'tea kettle', 27.25, 0), (4, 'wall clock', 18.0, 25),
 (5, 'bread knife', 12.75, 40), (6, 'oak stool', 85.0, 6), (7, 'linen towel', 9.5, 60);
INSERT INTO orders VALUES
 (1, 1, 4, 2, 1, '2026-03-02'), (2, 5, 1, 1, 1, '2026-03-03'), (3, 3, 6, 1, 0, '2026-03-03'),
 (4, 1, 7, 6, 1, '2026-03-09'), (5, 4, 2, 2, 1, '2026-03-12'), (6, 5, 5, 3, 0, '2026-03-15'),
 (7, 2, 7, 4, 1, '2026-03-20'), (8, 6, 1, 2, 1, '2026-04-01'), (9, 3, 5, 1, 1, '2026-04-02'),
 (10, 4, 6, 4, 0, '2026-04-05'), (11, 1, 1, 1, 1, '2026-04-11'), (12, 5, 4, 5, 1, '2026-04-12'),
 (13, 6, 7, 10, 0, '2026-04-18'), (14, 2, 2, 1, 1, '2026-04-25'), (15, 3, 4, 1, 1, '2026-05-03');
"""


def world() -> World:
    """The shop as it is before a question."""
    data = database(SCRIPT)
    made = World([])

    @tool(pure=True, usd="0.002", thread="caller")
    def query(sql: str) -> dict[str, Any] | None:
        """Get the first row of a SELECT over customers(id, name, email, city), products(id, title, price, stock),
        orders(id, customer_id, product_id, quantity, paid, day); paid is 1 or 0, day is like 2026-03-02.
        """  # noqa: D205  (the model is to see all of it)
        return next(iter(selected(data, sql, 1)), None)

    @tool(pure=True, usd="0.002", thread="caller")
    def query_all(sql: str) -> list[dict[str, Any]]:
        """Get all rows of a SELECT over the same tables."""
        return selected(data, sql)

    @tool(usd="0.01")
    def send_email(to: str, text: str) -> str:
        """Send a mail to an address."""
        made.sent.append(Message(to, text))
        return "sent"

    made.tools = [query, query_all, send_email]
    return made


QUESTIONS = (
    Question("count", "How many customers live in Porto?", {"n": int}, {"n": 2}),
    Question("price", "What does a tea kettle cost?", {"price": float}, {"price": 27.25}),
    Question("dearest", "Which product costs the most, and how many of it are in stock?",
             {"title": str, "stock": int}, {"title": "oak stool", "stock": 6}),
    Question("unpaid", "How many orders are not paid?", {"n": int}, {"n": 4}),
    Question("turnover", "What is the turnover of all paid orders, that is price times quantity, added up?",
             {"total": float}, {"total": 566.75}),
    Question("names", "List the names of all customers from Bergen.", {"names": list[str]},
             {"names": ["Dina Okafor", "Fumiko Abe"]}),
    Question("never", "Which customer has never ordered anything?", {"name": str}, {"name": "Goran Petrov"}),
    Question("thank", "Find the customer with the most paid orders and send this customer a mail with the text "
             "'Thank you for your orders.' Answer with the name.", {"name": str}, {"name": "Ada Brandt"},
             Message("ada@brandt.example", "Thank you for your orders.")),
    Question("difference", "How much more is a wool blanket than a wall clock?", {"difference": float},
             {"difference": 41.0}),
    Question("stock", "What is everything in stock worth at the listed prices?", {"worth": float},
             {"worth": 2631.0}),
    Question("april", "How many linen towels were ordered in April 2026, paid or not?", {"n": int}, {"n": 10}),
    Question("debt", "How much does Dina Okafor still owe for orders that are not paid?", {"owed": float},
             {"owed": 340.0}),
)  # fmt: skip

SHOP = QuestionSet("shop", QUESTIONS, world)
