"""TravelPlanner: whole itineraries under a budget."""
