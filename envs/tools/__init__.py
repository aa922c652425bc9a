"""Tools as an environment: functions with declared costs, called along plans, under hard budgets."""
