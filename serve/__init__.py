"""The HTTP service and the planner's page."""
