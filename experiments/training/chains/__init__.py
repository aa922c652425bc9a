"""The bundled model that reads the requests of tool chains."""
