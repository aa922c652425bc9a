"""Questions answered by searching and reading a recorded web, with AssistantBench's interface and measure."""
