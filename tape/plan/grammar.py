"""The language as a grammar, for models that are decoded under one: GBNF, which llama.cpp's server and xgrammar read.

A program of the grammar has up to three lines of comment, then statements in one line each, with single spaces. Calls
are held to the names of tools, their parameters in order, and literals of the
parameters' types. Which names have a value is the reader's part, and so is where an effect may stand.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator, Sequence

from tape.plan.vocabulary import ANSWER, ASK, OPERATORS, Parameter, Vocabulary

COMMENT_LINES, COMMENT_LENGTH, NOTE_LENGTH = 3, 160, 80
"""Lines of a comment, characters of each, and of one behind the line of a turn."""
MOST_PLAIN, MOST_LINES = 6, 30
"""Names of literals before the line of a turn, and statements; a model that loses its way would write on and on."""

_LETTERS = string.ascii_lowercase + "_"
_NO_NAMES = ("if", "for", "from", "wh", "def", "print", "next", "import", "os", "assert", "raise", "try", "class")
"""No name begins so: a model that means a statement, module or function that is not there would write such names."""

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not", "and", "or")

_FIXED = r"""
expr ::= flat (" if " flat " else " expr)?
flat ::= sum (comparison sum){0,3}
sum ::= part (operator part){0,6}
part ::= ("not " | "-")? value index*
value ::= literal | opened
opened ::= call | function | name | "(" expr ")"
computed ::= ("not " | "-")? opened index* rest
rest ::= (operator part){0,6} (comparison sum){0,3} (" if " flat " else " expr)?
index ::= "[" (expr (":" expr?)? | ":" expr?) "]" | ".get(" expr (", " expr)? ")"
literal ::= string | number | "True" | "False" | "None" | list | dict
list ::= "[" (expr (loop | (", " expr)*))? "]"
dict ::= "{" (string ": " expr (", " string ": " expr)*)? "}"
loop ::= " for " name " in " flat (" if " flat)?
function ::= ("len" | "str" | "int" | "float") "(" expr ")" | ("min" | "max" | "sorted") "(" expr several ")"
several ::= loop | (", " expr)*
more ::= [a-zA-Z0-9_]{0,37}
number ::= ("0" | [1-9] [0-9]{0,29}) ("." [0-9]{1,12})?
string ::= "\"" ([^"\\\n] | escape)* "\"" | "'" ([^'\\\n] | escape)* "'" | "f\"" fpart* "\""
fpart ::= [^"\\\n{}] | escape | "{" inner format? "}"
escape ::= "\\" [nt"'\\]
inner ::= innerpart (operator innerpart)*
innerpart ::= name innerindex* | number | ("len" | "str" | "int" | "round") "(" name innerindex* (", " [0-9])? ")"
innerindex ::= "['" [^'\\\n{}]{1,60} "']" | "[" "-"? [0-9]{1,4} "]"
format ::= ":" ("," | ",."  [0-9] "f" | "." [0-9] "f")
"""
"""Rules that no tool changes."""

_KEYED = ' | ", key=lambda " name ": " expr (", reverse=" ("True" | "False"))?'
"""What lists of records are sorted or compared by."""
_SCALARS = ("str", "int", "float", "bool", "None")
"""Results of which no list is made."""

_LITERALS = {
    "str": "string",
    "int": '"-"? number',
    "float": '"-"? number',
    "bool": '("True" | "False")',
    "list": "list",
    "dict": "dict",
}
"""The literals of a type, by its name as it is shown, without what stands in brackets."""


def gbnf(words: Vocabulary, *, turn: bool = False) -> str:
    """The grammar of programs over a vocabulary, which keeps it: each request has it.

    With ``turn`` it is one line and a comment, as a model writes that is shown each result before the next line.

    Examples:
        >>> from tape.plan.grammar import gbnf
        >>> from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary
        >>> print(gbnf(Vocabulary.of(ToolSignature("price", (Parameter("item", "str"),)))).splitlines()[3])
        tool0-0 ::= "item=" tool0-value-0 tool0-more-1
    """
    key = "gbnf of a turn" if turn else "gbnf"
    kept: str | None = words.__dict__.get(key)
    if kept is not None:
        return kept
    many = f"comment{{0,{COMMENT_LINES}}} (line{{1,{MOST_LINES}}} end? | end)"
    root = f"comment? plain{{0,{MOST_PLAIN}}} (line | end)" if turn else many
    operators = words.operators or OPERATORS
    keyed = "" if all(tool.returns in _SCALARS for tool in words.tools.values()) else _KEYED
    free = "" if words.operators else ' | "round(" expr (", " expr)? ")" | "sum(" expr loop? ")"'
    rules = [
        f"root ::= {root}",
        f'comment ::= "#" [^\\n]{{0,{COMMENT_LENGTH}}} "\\n"',
        f"operator ::= {' | '.join(json.dumps(f' {symbol} ') for symbol in operators)}",
        f"comparison ::= {' | '.join(json.dumps(f' {symbol} ') for symbol in _COMPARISONS)}",
        f"name ::= {_names(_NO_NAMES, _LETTERS)}",
        *_calls(words),
        f'line ::= name " = " {"flat note" if turn else "expr"} "\\n" | call {"note " if turn else ""}"\\n"',
        *(
            [f'note ::= (" "{{1,2}} "#" [^\\n]{{0,{NOTE_LENGTH}}})?', 'plain ::= name " = " "-"? literal "\\n"']
            if turn
            else []
        ),
        *_FIXED.strip().split("\n"),
    ]
    more = {"function": free, "several": keyed}
    made = "\n".join(rule + more.get(rule.partition(" ")[0], "") for rule in rules) + "\n"
    words.__dict__[key] = made
    return made


def _names(without: Sequence[str], letters: str) -> str:
    """What a name is that does not begin in one of several ways; of each of these it may be the beginning."""
    heads = dict.fromkeys(word[0] for word in without)
    tails = {head: [word[1:] for word in without if word[0] == head] for head in heads}
    free = "".join(letter for letter in letters if letter not in heads)
    rules = [f"[{free}] more"]
    for head, rest in tails.items():
        if all(rest):
            rules.append(f'"{head}" ({_names(rest, _LETTERS + string.ascii_uppercase + string.digits)})?')
    return " | ".join(rules)


def _calls(words: Vocabulary) -> Iterator[str]:
    """The rules of the tools, of ``ask`` and of the answer."""
    heads = []
    for number, signature in enumerate(words.tools.values()):
        rule = f"tool{number}"
        heads.append(f'"{signature.name}(" ({rule}-0 | {_positional(rule, signature.parameters)}) ")"')
        yield from _arguments(rule, signature.parameters)
    asks = f'"{ASK}(" string (", " expr)+ ")"'
    yield f"call ::= {' | '.join([*heads, asks])}"
    if words.answer:
        yield from _arguments("answer", words.answer)
        yield f'end ::= "{ANSWER}(" (answer-0 | {_positional("answer", words.answer)}) ")" "\\n"?'
    else:
        yield f'end ::= "{ANSWER}(" expr ")" "\\n"?'


def _arguments(rule: str, parameters: Sequence[Parameter]) -> Iterator[str]:
    """The rules of arguments by name, in the order of the parameters; those with a default may be left out.

    ``RULE-N`` is what may be written from the Nth parameter on where nothing is written yet, ``RULE-more-N`` where
    something is.
    """
    for number, parameter in enumerate(parameters):
        written = json.dumps(f"{parameter.name}=")
        more = f"{rule}-value-{number} {rule}-more-{number + 1}"
        skip = "" if parameter.required else f" | {rule}-{number + 1}"
        yield f"{rule}-{number} ::= {written} {more}{skip}"
        if number:
            skip = "" if parameter.required else f" | {rule}-more-{number + 1}"
            yield f'{rule}-more-{number} ::= ", " {written} {more}{skip}'
        yield f"{rule}-value-{number} ::= {_typed(parameter.type)}"
    yield f'{rule}-{len(parameters)} ::= ""'
    if parameters:
        yield f'{rule}-more-{len(parameters)} ::= ""'


def _positional(rule: str, parameters: Sequence[Parameter]) -> str:
    """The arguments that are required, without their names."""
    required = [number for number, parameter in enumerate(parameters) if parameter.required]
    return ' ", " '.join(f"{rule}-value-{number}" for number in required) or '""'


def _typed(shown: str) -> str:
    """A literal of a type, or what is computed; anything for a type that has no literals of its own."""
    literals = _LITERALS.get(shown.partition("[")[0])
    return "expr" if literals is None else f"{literals} rest | computed"
