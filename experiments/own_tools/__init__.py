"""Ordinary jobs over tools of one's own, for comparing agents with a real model: a shop, a school and a calendar.

Each set has twelve questions with typed answers. One of each set asks for a message, which has to be sent once and to
the right person; a message that nobody asked for is counted against the agent. The questions were written before any
prompt of the language of plans, and a test holds them: a set is changed by adding another one.
"""
