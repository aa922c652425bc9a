"""What every model that wraps another one shares."""

from __future__ import annotations

from tape.lm.base import LanguageModel, Price, Request, most_completion_tokens


class WrappedLM:
    """Passes on everything that is not a completion.

    Args:
        model: The model underneath.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def identity(self) -> str:
        """The model's identity."""
        return self._model.identity

    @property
    def prompt_format(self) -> str:
        """The model's prompt format."""
        return self._model.prompt_format

    @property
    def price(self) -> Price | None:
        """The model's price."""
        return self._model.price

    @property
    def remote(self) -> bool:
        """Whether the model asks an endpoint."""
        return bool(getattr(self._model, "remote", False))

    def prompt_tokens(self, request: Request) -> int:
        """Tokens of a request's prompt."""
        return self._model.prompt_tokens(request)

    def scoring_tokens(self, request: Request) -> int:
        """Tokens of scoring a request's options."""
        return self._model.scoring_tokens(request)

    def most_completion_tokens(self, request: Request) -> int:
        """The most completion tokens of a request."""
        return most_completion_tokens(self._model, request)
