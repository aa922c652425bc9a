"""The agents, one file each."""

from tape.plugins import check_not_shadowed

check_not_shadowed("solvers")
