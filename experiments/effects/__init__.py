"""Proof that an effect is made once: random schedules, real kills, and the same kills against other frameworks."""
