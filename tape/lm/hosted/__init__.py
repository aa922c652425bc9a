"""Hosted models: any OpenAI-compatible endpoint and Anthropic's, behind one class with small parts per provider."""
