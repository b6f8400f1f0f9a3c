"""Sound and damaged state files for tests."""

from typing import Any

#: Content of each file that can be read.
SOUND: dict[str, Any] = {
    "models/champion.json": {"schema": "", "model_version": "x", "systems": {}},
    "models/versions.json": {"versions": []},
    "models/drift.jsonl": [dict.fromkeys(("model_version", "system", "metric", "class", "last"))],
    "published/definitions.json": {"shop": "0"},
    "quality/quality.json": {"verdict": "pass", "counts": {}, "findings": []},
    "tokens.json": {"tokens": []},
    "nights/20*.json": {
        "day": "2026-11-20",
        "started": "2026-11-21T00:15:00Z",
        "ended": "",
        "built": "",
        "steps": {},
        "files": [],
        "lacks": [{"what": "system", "system": "PRDA", "text": "PRDA: nothing"}],
        "quality": None,
        "model": None,
        "errors": [],
        "notes": [],
        "verdict": "no new files",
    },
    "nights/missing.json": {"lacks": []},
    "nights/fitted.json": {"files": 1},
    "nights/outbox.json": {"webhook": [{"severity": "news", "text": "x", "page": ""}]},
    "nights/alerts.json": {
        "alerts": [
            {"name": "system of PRDA", "rule": "gap", "severity": "warning", "text": "PRDA: nothing", "details": []}
        ]
    },
    "saved.json": {
        "questions": [
            {"name": "peak", "kind": "predict", "question": {"system": "shop"}, "saved": "2026-11-20", "answers": []}
        ]
    },
    "fetched/.fetched.json": {"a.smf": "0"},
}
DAMAGES = {
    "one byte is not UTF-8": b'{"x": "\xff"}',
    "cut short": b'{"x": ',
    "empty": b"",
    "nested beyond reason": b"[" * 100_000,
    "a number": b"7",
    "a list of lists": b"[[]]",
}
