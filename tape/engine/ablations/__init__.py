"""Parts for ablations and other non-default settings; loaded only if a setting asks for them."""
