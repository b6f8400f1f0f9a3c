"""`python -m serve`: the service, configured by ETALON_ variables."""

import sys

from serve.evaluators import MAKER

if __name__ == "__main__":
    MAKER.start()
    # What takes long to load comes after.
    from serve.server import run
    from serve.settings import SettingsError, settings

    try:
        run(settings())
    except SettingsError as error:
        sys.exit(f"serve: {error}")
