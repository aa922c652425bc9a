"""Long conversations of two people and questions about them, in the style of LoCoMo.

Our own conversations are invented (:mod:`envs.locomo.generator`): their people, their facts and their wordings.
:mod:`envs.locomo.loader` reads the public data set, which is not part of the project.
"""
