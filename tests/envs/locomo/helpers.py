"""Conversations in the public format, in our own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def turn(number: int, speaker: str, text: str, session: int = 1, **more: Any) -> dict[str, Any]:
    """A turn of a public file."""
    return {"speaker": speaker, "dia_id": f"D{session}:{number}", "text": text, **more}


def conversation(**changes: Any) -> dict[str, Any]:
    """A conversation with a question of each category; ``...`` takes a field out."""
    whole: dict[str, Any] = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Runa",
            "speaker_b": "Otto",
            "session_1_date_time": "10:00 am on 2 May, 2031",
            "session_1": [
                turn(1, "Runa", "Hello Otto, I planted beans today."),
                turn(2, "Otto", "Nice! My bench is green now.", blip_caption="a green bench", img_url=["x"]),
            ],
            "session_2": [turn(1, "Otto", "I am off to Tarn with my aunt.", 2)],
            "session_9_date_time": "a session that was planned only",
        },
        "qa": [
            {"question": "What did Runa plant?", "answer": "beans", "evidence": ["D1:1"], "category": 4},
            {"question": "What did Otto plant?", "adversarial_answer": "beans", "evidence": ["D1:1"], "category": 5},
            {"question": "Where is Otto going?", "answer": "Tarn", "evidence": ["D1:02; D2:1"], "category": 1},
            {"question": "When did Runa plant beans?", "answer": 2031, "evidence": ["D1:1"], "category": 2},
            {"question": "Does Otto like green?", "answer": "yes", "evidence": [], "category": 3},
        ],
        "event_summary": {"what": "else there may be"},
    }
    return {name: value for name, value in (whole | changes).items() if value is not ...}


def write(folder: Path, *records: Any) -> Path:
    """A file of conversations; a text is written as it is."""
    file = folder / "talks.json"
    [text] = records if len(records) == 1 and isinstance(records[0], str) else [json.dumps(records)]
    file.write_text(text, encoding="utf-8")
    return file
