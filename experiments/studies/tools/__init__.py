"""TAPE with priced tools: GSM-Hard and MuSiQue."""
