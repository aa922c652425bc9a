"""The list of models of a proxy of LiteLLM, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CHEAP = {"input_cost_per_token": 0.000001, "output_cost_per_token": 0.000002}
DEAR = {"input_cost_per_token": 0.000005, "output_cost_per_token": 0.00002}


class Router:
    """The proxy's list of models."""

    def __init__(self, *models: tuple[str, str, Mapping[str, Any]]) -> None:
        self._models = [
            {"model_name": name, "litellm_params": {"model": deployment}, "model_info": info}
            for name, deployment, info in models
        ]

    def get_model_list(self, model_name: str | None = None, team_id: str | None = None) -> list[dict[str, Any]]:
        return [model for model in self._models if model_name in (None, model["model_name"])]

    def get_model_names(self) -> list[str]:
        return [str(model["model_name"]) for model in self._models]
