"""Who may ask: bearer tokens, kept as digests, with what each may do and how often."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from serve.files import Identity, identity_of
from serve.log import Log
from state.catalogue import TOKENS
from state.files import StateDamaged

SCOPES = ("read", "ask", "admin")
PER_MINUTE = 600

log = Log()


class TokensError(ValueError):
    """The file of tokens cannot be used; the message says what to do."""

    exit_code = 2


@dataclass(frozen=True)
class Grant:
    """A token as it is kept: the SHA-256 of its text, what it may do, and its requests in a minute (None: any)."""

    name: str
    sha256: str
    scopes: tuple[str, ...]
    per_minute: int | None = PER_MINUTE

    def may(self, scope: str) -> bool:
        """Whether the token is good for this; one for ``admin`` is good for everything."""
        return scope in self.scopes or "admin" in self.scopes


@dataclass
class Allowance:
    """Requests that a token has left; as many as it has in a minute come back in a minute."""

    per_minute: int
    left: float
    since: float = field(default_factory=time.monotonic)

    def take(self, count: int = 1) -> float:
        """Use some of it; 0, or the seconds after which there is enough."""
        now = time.monotonic()
        self.left = min(float(self.per_minute), self.left + (now - self.since) * self.per_minute / 60.0)
        self.since = now
        # More than a whole minute's is taken when the minute is whole, or it would never be.
        needed = min(count, self.per_minute)
        if self.left >= needed:
            self.left -= count
            return 0.0
        return (needed - self.left) * 60.0 / self.per_minute


class Tokens:
    """The tokens in force: those of the file, read again when it is replaced, and the one of the environment.

    Without either everyone may ask. Once there were tokens, a file that is gone or broken lets nobody new in.
    """

    def __init__(self, path: Path, token: str | None = None) -> None:
        self._path = path
        self._own = [Grant("ETALON_TOKEN", digest(token), SCOPES, None)] if token else []
        self._identity: Identity | None = identity_of(path)
        self._filed = list(read(path)) if self._identity else []
        self._guarded = bool(self._own) or self._identity is not None
        self._allowances: dict[str, Allowance] = {}
        self._secret = secrets.token_bytes(32)

    def guarded(self) -> bool:
        """Whether a token is asked for at all."""
        self._refresh()
        return self._guarded

    def any(self) -> bool:
        """Whether there is a token that would do."""
        return bool(self._all())

    def by_token(self, given: str) -> Grant | None:
        """The grant of a token as it was sent."""
        self._refresh()
        sent = digest(given)
        return next((grant for grant in self._all() if hmac.compare_digest(sent, grant.sha256)), None)

    def by_session(self, value: str) -> Grant | None:
        """The grant that a browser's cookie stands for."""
        self._refresh()
        sent = value.encode()
        return next((g for g in self._all() if hmac.compare_digest(sent, self.session(g).encode())), None)

    def session(self, grant: Grant) -> str:
        """The cookie that stands for a grant until this process ends; the token cannot be read back from it."""
        return hmac.new(self._secret, grant.sha256.encode(), hashlib.sha256).hexdigest()

    def take(self, grant: Grant, count: int = 1) -> float:
        """Count requests of a grant; 0, or the seconds to wait where it has none left."""
        if grant.per_minute is None:
            return 0.0
        allowance = self._allowances.get(grant.sha256)
        if allowance is None or allowance.per_minute != grant.per_minute:
            allowance = self._allowances[grant.sha256] = Allowance(grant.per_minute, float(grant.per_minute))
        return allowance.take(count)

    def _all(self) -> Sequence[Grant]:
        return [*self._own, *self._filed]

    def _refresh(self) -> None:
        identity = identity_of(self._path)
        if identity == self._identity:
            return
        self._identity, self._guarded = identity, True
        try:
            self._filed = list(read(self._path))
        except TokensError as problem:
            log.error("tokens_refused", path=str(self._path), problem=str(problem))


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def read(path: Path) -> tuple[Grant, ...]:
    """The grants of a file; none where there is no file.

    Raises:
        TokensError: the file cannot be read, or is not what :func:`write` writes.
    """
    try:
        entries = (TOKENS.read(path) or {"tokens": []})["tokens"]
        grants = tuple(Grant(**{**entry, "scopes": tuple(entry["scopes"])}) for entry in entries)
        for grant in grants:
            if not set(grant.scopes) <= set(SCOPES) or len(bytes.fromhex(grant.sha256)) != 32:
                raise ValueError(f"token {grant.name!r} has an unknown scope or no SHA-256")
            if grant.per_minute is not None and not grant.per_minute >= 1:
                raise ValueError(f"token {grant.name!r}: per_minute must be at least 1, or null")
    except StateDamaged as problem:
        raise TokensError(str(problem)) from None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise TokensError(f"{path}: cannot be used ({problem}); {TOKENS.remedy}") from problem
    return grants


def write(path: Path, grants: Iterable[Grant]) -> None:
    """Put the grants in place as a whole, readable by their owner alone."""
    TOKENS.write(path, {"tokens": [asdict(grant) for grant in grants]})


def granted(path: Path, name: str, scopes: Iterable[str], per_minute: int | None) -> str:
    """A new token, shown once and kept as its digest; it takes the place of an older one of the same name."""
    token = secrets.token_urlsafe(32)
    kept = [grant for grant in read(path) if grant.name != name]
    write(path, [*kept, Grant(name, digest(token), tuple(scopes), per_minute)])
    return token


def withdrawn(path: Path, name: str) -> bool:
    """Take a token out; whether there was one of that name."""
    grants = read(path)
    kept = [grant for grant in grants if grant.name != name]
    if len(kept) < len(grants):
        write(path, kept)
    return len(kept) < len(grants)
