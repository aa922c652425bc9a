"""Programs that are read or refused, and the tools that they call."""

from __future__ import annotations

from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary

QUERY = ToolSignature("query", (Parameter("sql", "str"),), "dict", "First row of a SELECT.")
ROWS = ToolSignature("rows", (Parameter("sql", "str"), Parameter("limit", "int", required=False)), "list[dict]")
MAIL = ToolSignature("send_email", (Parameter("to", "str"), Parameter("text", "str")), "None", changes=True)
TIMES = ToolSignature("times", (Parameter("a", "float"), Parameter("b", "float")), "float")

SHOP = Vocabulary.of(QUERY, ROWS, MAIL)
"""Tools over a database, and an answer of any type."""
TYPED = Vocabulary.of(QUERY, ROWS, MAIL, answer=(Parameter("name", "str"), Parameter("n", "int")))
"""The same with an answer of two fields."""
FIELD = Vocabulary.of(QUERY, answer=(Parameter("total", "float"),))
"""The same with an answer of one field."""
PRICED = Vocabulary.of(TIMES, operators={"*": "times"})
"""Multiplication is a tool."""

THANKS = """# Find who has the most paid orders, then write to that customer.
row = query(sql="SELECT name, email, COUNT(*) AS n FROM customers GROUP BY name")
send_email(to=row["email"], text=f"Thank you, {row['name']}, for {row['n']} orders.")
answer(name=row["name"], n=row["n"])"""

READ: dict[str, tuple[Vocabulary, str, list[str] | None]] = {
    "three statements": (TYPED, THANKS, THANKS.split("\n")[1:]),
    "positional arguments": (SHOP, "r = rows('a', 3)\nanswer(r[0])", ["r = rows('a', 3)", "answer(r[0])"]),
    "a nested call": (SHOP, 'answer(query("a")["n"])', ['answer(query("a")["n"])']),
    "brackets over lines": (SHOP, "r = query(\n  sql='a',\n)\nanswer(r)", ["r = query(\n  sql='a',\n)", "answer(r)"]),
    "a text over lines": (SHOP, "r = query('''a\n\nb''')\nanswer(r)", ["r = query('''a\n\nb''')", "answer(r)"]),
    "the first fenced block": (
        SHOP,
        "First:\n```python\nr = query('a')\nanswer(r)\n```\nor\n```\nanswer(2)\n```",
        ["r = query('a')", "answer(r)"],
    ),
    "a fence without end": (SHOP, "```\nanswer(1)", ["answer(1)"]),
    "an indented fence": (SHOP, "- so:\n  ```py\n  answer(1)\n  ```", ["answer(1)"]),
    "words before it": (SHOP, "Sure! Let's do it.\n\nr = query('a')\nanswer(r)", ["r = query('a')", "answer(r)"]),
    "words with an open bracket": (SHOP, "Hello (there\nanswer(1)", ["answer(1)"]),
    "thinking": (SHOP, "<think>answer(1)\n```\nanswer(2)\n```</think>\nanswer(3)", ["answer(3)"]),
    "imports and prints": (
        SHOP,
        "import os\nprint('a')\nr = query('a')\nprint(r)\nanswer(r)",
        ["r = query('a')", "answer(r)"],
    ),
    "two statements in a line": (SHOP, "a = 1; answer(a)", ["a = 1", "answer(a)"]),
    "what follows the answer": (SHOP, "answer(1)\nsend_email('a', 'b')", ["answer(1)"]),
    "a comprehension": (SHOP, "answer(sum(r['n'] for r in rows('a') if r['n'] > 2))", None),
    "pure calls in a comprehension": (SHOP, "answer([query(r['q']) for r in rows('a')])", None),
    "a choice": (SHOP, "r = query('a')\nanswer('yes' if r['n'] > 0 and not r['x'] else 'no')", None),
    "get and slices": (SHOP, "r = query('a')\nanswer(r.get('a', '')[1:-1])", None),
    "a format": (SHOP, "r = query('a')\nanswer(f\"{r['n']:,.2f} of {r['m']:.0f}\")", None),
    "a value named as its tool": (SHOP, "query = query('a')\nanswer(query['n'])", None),
    "ask": (SHOP, "r = query('a')\nanswer(ask('Which year?', r['text']))", None),
    "an effect again": (SHOP, "send_email('a', 'b', again=True)\nanswer(1)", None),
    "a program that only looks": (SHOP, "r = query('a')\ns = query('b')", ["r = query('a')", "s = query('b')"]),
    "a last value for the answer": (
        FIELD,
        "r = query('a')\nt = r['n'] * 2",
        ["r = query('a')", "t = r['n'] * 2", "answer(total=t)"],
    ),
    "no answer of a bare result": (FIELD, "r = query('a')", ["r = query('a')"]),
    "a pure call for nothing": (SHOP, "r = query('a')\ns = query('b')\nanswer(s)", ["s = query('b')", "answer(s)"]),
    "a call for an effect": (SHOP, "r = query('a')\nsend_email('x', r['t'])\nanswer(1)", None),
    "an operator that is a tool": (PRICED, "answer(2 * 3)", ["answer(2 * 3)"]),
}
"""What is read: the vocabulary, the reply, and the statements; None for all of its lines."""

REFUSED: dict[str, tuple[Vocabulary, str, str]] = {
    "an unknown tool": (SHOP, "r = qeury('a')", "there is no tool qeury; there is query"),
    "an unknown parameter": (SHOP, "r = query(sequel='a')", "query has no parameter sequel"),
    "a missing argument": (SHOP, "send_email('a')", "send_email needs text"),
    "an argument twice": (SHOP, "query('a', sql='b')", "query is given sql twice"),
    "too many arguments": (SHOP, "query('a', 'b')", "query(sql) takes 1 arguments, not 2"),
    "an undefined name": (SHOP, "answer(rwo)", "the name rwo is not defined"),
    "an attribute": (SHOP, "r = query('a').name", 'take a part by ["name"]'),
    "a method": (SHOP, "r = query('a').upper()", "the method .upper(...) is not allowed"),
    "an effect in a comprehension": (
        SHOP,
        "x = [send_email(r, 'a') for r in rows('a')]",
        "send_email changes something",
    ),
    "an effect in a branch": (SHOP, "x = send_email('a', 'b') if query('a') else 1", "send_email changes something"),
    "an effect behind and": (SHOP, "x = query('a') and send_email('a', 'b')", "send_email changes something"),
    "an effect behind a comparison": (SHOP, "x = 1 < 2 < send_email('a', 'b')", "send_email changes something"),
    "a loop": (SHOP, "for r in rows('a'):\n  send_email('a', 'b')", "a loop is not allowed (there is: "),
    "a branch": (SHOP, "if query('a'):\n  send_email('a', 'b')", "`if` (there is: a if condition else b)"),
    "a definition": (SHOP, "def f(x):\n  send_email('a', 'b')", "a definition is not allowed"),
    "two for": (SHOP, "x = [a for b in rows('a') for a in b]", "a comprehension has one `for`"),
    "a lambda": (SHOP, "x = lambda r: r", "a lambda that is no key of min, max or sorted is not allowed"),
    "a key of two": (SHOP, "x = max(1, 2, key=lambda r: r)", 'the key of max is like key=lambda row: row["n"]'),
    "a key by name": (SHOP, "x = sorted(rows('a'), key=len)", 'the key of sorted is like key=lambda row: row["n"]'),
    "a key with a default": (SHOP, "x = min(rows('a'), key=lambda r=1: r)", "the key of min is like"),
    "a key that changes": (SHOP, "x = min(rows('a'), key=lambda r: send_email('a', 'b'))", "send_email changes"),
    "a star": (SHOP, "query(*rows('a'))", "* and ** are not allowed in a call"),
    "a walrus": (SHOP, "x = (y := 1)", ":= is not allowed"),
    "another function": (SHOP, "x = eval('1')", "there is no tool eval"),
    "an import by name": (SHOP, "x = __import__('os')", "there is no tool __import__"),
    "a format that pads": (SHOP, "x = f'{1:1000000000}'", "the format '1000000000' is not allowed"),
    "a computed format": (SHOP, "x = f'{1:{2}}'", "a format is written out"),
    "bytes": (SHOP, "x = b'a'", "bytes is no value of the language"),
    "a huge number": (SHOP, f"x = {10**31}", "a whole number has at most 30 digits"),
    "another target": (SHOP, "a, b = 1, 2", "an assignment to anything but one name"),
    "a function as a name": (SHOP, "len = 1", "len is a function"),
    "an answer within": (SHOP, "x = answer(1)", "answer(...) is a statement of its own"),
    "a wrong answer": (TYPED, "answer('a')", "answer needs n"),
    "ask without a text": (SHOP, "x = ask('Which year?')", "ask takes a question and the results to read"),
    "an operator without a tool": (PRICED, "x = 1 + 2", "+ cannot be used here"),
    "a function without a tool": (PRICED, "x = sum([1, 2])", "sum cannot be used here"),
    "an operator on bits": (SHOP, "x = 1 | 2", "this operator is not allowed; there are + - *"),
    "words alone": (SHOP, "I cannot do that.", "there is no statement"),
    "nothing": (SHOP, "", "there is no statement"),
    "an open bracket": (SHOP, "x = query(", "it is no statement of Python"),
    "a deep one": (SHOP, "x = " + "[" * 60 + "]" * 60, "the statement is too large"),
}
"""What is refused: the vocabulary, the reply, and a part of the reason."""
