"""The bundled model that plays the roles of search agents."""
