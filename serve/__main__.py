"""`python -m serve`: the service, configured by ETALON_ variables."""

import sys

from serve.server import run
from serve.settings import SettingsError, settings

if __name__ == "__main__":
    try:
        run(settings())
    except SettingsError as error:
        sys.exit(f"serve: {error}")
