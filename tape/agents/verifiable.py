"""Whether an environment declares what verification needs."""

from __future__ import annotations

from tape.config import AgentConfig
from tape.errors import ConfigError
from tape.predicates import PredicateDomain
from tape.protocols import Domain


def require_predicates(domain: Domain, what: str = "verify='aec'") -> PredicateDomain:
    """The domain, if it declares predicates.

    Args:
        domain: The domain.
        what: What needs them.

    Raises:
        ConfigError: It does not; names it.
    """
    if not isinstance(domain, PredicateDomain):
        raise ConfigError(
            f"{what} needs an environment that declares predicates, and {type(domain).__name__} does not: it "
            "lacks some of ground, preconditions, effects, goals, rules, query and bridge "
            "(tape.predicates.PredicateDomain)"
        )
    return domain


def require_verifiable(config: AgentConfig, domain: Domain) -> None:
    """Refuse to verify where nothing is declared.

    Raises:
        ConfigError: The configuration asks for it all the same; names the domain.
    """
    if config.verify == "aec":
        require_predicates(domain)
    if config.proposer == "two_frontier":
        require_predicates(domain, "proposer='two_frontier'")
