"""One way to make the matrix of a study, play it, measure it and report it."""
