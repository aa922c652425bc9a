"""Training of the reader: a low-rank adapter that lets a small general model quote and answer from paragraphs."""
