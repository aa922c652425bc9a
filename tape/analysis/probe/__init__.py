"""What a model can do in an environment, role by role, and the settings of the agent that fit (``tape probe``).

:mod:`~tape.analysis.probe.measuring` asks the model cases with known answers and plays an episode,
:mod:`~tape.analysis.probe.record` keeps what came of it, :mod:`~tape.analysis.probe.advice` recommends which roles to
give to what the environment declares, :mod:`~tape.analysis.probe.report` prints it all, and
:mod:`~tape.analysis.probe.own` makes cases of environments that bring none.
"""
