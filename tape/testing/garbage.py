"""Texts that a model should not write, and does."""

GARBAGE = (
    "",
    " ",
    "\n",
    "\x00",
    "\ud800",
    "I am sorry, but I cannot help with that.",
    "null",
    "NaN",
    "{",
    "[]",
    '{"actions": "x"}',
    '{"valid": true}',
    '{"thought": 3, "action": null}',
    '{"actions": [[], {}, 1e999, "\\ud800"]}',
    "```json\n{}\n```",
    "9" * 5000,
    "[" * 5000,
    "((((((((1,2)",
    "-1 -1 -1",
    "é 😀 \u2028",
)
