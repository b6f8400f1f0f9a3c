"""`python -m serve`: the service, configured by ETALON_ variables."""

import sys

from serve.loading import loaded

if __name__ == "__main__":
    settings, run = loaded()
    from serve.settings import SettingsError

    try:
        run(settings())
    except SettingsError as error:
        sys.exit(f"serve: {error}")
