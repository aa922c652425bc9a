"""AgentDojo: tasks of a user over four sets of tools, and texts in their results that ask for something else.

Debenedetti et al. 2024, "AgentDojo: A Dynamic Environment to Evaluate Prompt Injection Attacks and Defenses for LLM
Agents"; the package ``agentdojo`` (MIT).
"""
