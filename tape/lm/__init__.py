"""The language-model layer: requests with constraints in, completions with usage out."""
