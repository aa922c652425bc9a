"""The roles of the engine, one file each; the LM implementations speak a task's dialect."""
