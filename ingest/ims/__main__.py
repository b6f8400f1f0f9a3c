"""`python -m ingest.ims`: writes docs/ims-log.md."""

from pathlib import Path

from ingest import registry
from ingest.ims.reference import reference


def main() -> None:
    """Write the page below the project's root."""
    page = Path(__file__).resolve().parents[2] / "docs" / "ims-log.md"
    page.write_text(reference(registry.load()), encoding="utf-8")
    print(f"written: {page}")


if __name__ == "__main__":
    main()
