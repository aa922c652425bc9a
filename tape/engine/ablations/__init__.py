"""What only ablations and switches away from the default use; loaded where a setting asks for it."""
