"""`python -m serve`: the service, configured by ETALON_ variables."""

from serve.server import run
from serve.settings import Settings

if __name__ == "__main__":
    run(Settings())
