"""Evidence with a real general model: the grounds, the agents, the replies of the model, and the tables."""
