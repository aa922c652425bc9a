"""The language of plans: short programs in a subset of Python that a model writes and an evaluator of our own runs.

One way through the room: a :class:`~tape.plan.vocabulary.Vocabulary` says what may be called,
:mod:`tape.plan.shown` shows it to a model, :func:`tape.plan.reader.read` reads what the model wrote into a
:class:`~tape.plan.program.Program`, and :func:`tape.plan.unfold.unfold` says what that program does next.
"""
