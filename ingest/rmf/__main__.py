"""`python -m ingest.rmf`: writes docs/rmf-tables.md."""

from pathlib import Path

from ingest.rmf.reference import reference


def main() -> None:
    """Write the page below the project's root."""
    page = Path(__file__).resolve().parents[2] / "docs" / "rmf-tables.md"
    page.write_text(reference(), encoding="utf-8")
    print(f"written: {page}")


if __name__ == "__main__":
    main()
