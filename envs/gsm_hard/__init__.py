"""Word problems with big numbers, solved by calling arithmetic tools of several prices and qualities."""
