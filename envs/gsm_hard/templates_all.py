"""All templates."""

from __future__ import annotations

from envs.gsm_hard import templates_growth, templates_measure, templates_money, templates_sharing, templates_trade
from envs.gsm_hard.templates import Template

TEMPLATES: tuple[Template, ...] = (
    *templates_trade.TEMPLATES,
    *templates_sharing.TEMPLATES,
    *templates_measure.TEMPLATES,
    *templates_growth.TEMPLATES,
    *templates_money.TEMPLATES,
)
"""In a fixed order: what a seed generates depends on it."""
