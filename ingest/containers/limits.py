"""How much of a container is unpacked."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on unpacking one container, including all containers inside it.

    members: files inside; free_bytes: bytes that any container may expand to; ratio: how many times its own size it may
    expand to beyond them; most_bytes: bytes that it may expand to whatever its size; seconds: how long unpacking takes.
    """

    members: int = 50_000
    free_bytes: int = 1 << 30
    ratio: float = 200
    most_bytes: int = 1 << 40
    seconds: float = 4 * 3600

    def bytes_of(self, size: int) -> int:
        """The bytes that a container of `size` bytes may expand to."""
        return min(self.most_bytes, max(self.free_bytes, int(self.ratio * size)))


DEFAULT = Limits()
