"""Agents over HTTP: as models of OpenAI's protocol, and as runs that can be watched, approved, ended and gone on with.

===================  ==================================================================
``app.py``           the routes, and what every request has to fulfil
``chat.py``          OpenAI's chat completions: a task out of messages, an answer out of a run
``runs.py``          the runs: begun, watched, asked about, ended, gone on with after a stop
``live.py``          a run that is played, and its place
``records.py``       what is kept of a run: a record and its trace, in a folder
``keys.py``          who may ask: bearer keys with budgets and rights
``setup.py``         what ``tape serve`` is given: agents, keys, deps, and where runs are kept
===================  ==================================================================
"""
