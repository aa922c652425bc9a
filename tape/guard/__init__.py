"""A budget for the calls that a program makes of models and tools, whatever framework runs it.

====================  ====================================================================================
``guard.py``          the guard: every call is paid for before it starts
``charges.py``        a worst case that is set aside, and how it is settled
``guarded_tools.py``  a tool as a guard knows it
``model_prices.py``   what tokens of models cost
``content.py``        parts of a request that its bytes do not bound
``prompt_tokens.py``  how many tokens a prompt has
``shared_scope.py``   the scope of a ledger that a guard pays from
``left.py``           what is left, as callers see it
``planning.py``       which tools to call, the best under what is left
====================  ====================================================================================

See docs/reference/frameworks.md.
"""

from tape.guard.guard import Guard as Guard
