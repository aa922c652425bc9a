"""docs/reference/models.md names every provider, variable, extra and option."""

from dataclasses import fields

import pytest

from tape.lm.hosted.limits import EndpointLimits
from tape.lm.hosted.providers import PROMPT_FORMATS, PROVIDERS
from tape.plugins import names
from tests.places import ROOT

TEXT = (ROOT / "docs" / "reference" / "models.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_providers_are_documented(provider) -> None:  # type: ignore[no-untyped-def]
    assert f"`{provider.name}:NAME" in TEXT
    assert f"extra `{provider.package}`" in TEXT
    assert not provider.needs_key or f"`{provider.key}`" in TEXT
    assert provider.name in names("tape.models")


def test_options_and_their_defaults_are_documented() -> None:
    for option in fields(EndpointLimits):
        default = f"`{option.default}`" if isinstance(option.default, str) else f"{option.default:g}"
        assert f"| `{option.name}` | {default} |" in TEXT
    assert f"| `format` | `{PROMPT_FORMATS[0]}` |" in TEXT
