"""A landing folder that is no local one, such as `s3://bucket/landing`: its files are fetched, then as if landed here.

Any address that fsspec knows will do. A file is fetched whole when it is new or has changed, and its copy here is
dropped when it is loaded. The original stays where it is, or is moved to the archive by the next night that finds it
the same.
"""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from pipelines.exits import EtalonError, Exit
from pipelines.home import Home
from pipelines.nights import landing
from pipelines.settings import Landing, without_password
from state.catalogue import FETCHED

#: When a file was read last, as fsspec's file systems call it: `time` that of SFTP and SMB.
_READ_TIMES = {"time", "atime", "accessTime", "last_accessed_on"}


class Remote:
    """The files under an address, and the copies of those that are not loaded yet.

    Attributes: `copies`, the local folder with the copies, under the folders and names of the originals; `marks` of the
    originals that were there at the last look, by name.
    """

    def __init__(self, home: Home, rules: Landing) -> None:
        """EtalonError where the address cannot be reached, or the archive is on another file system."""
        from fsspec.core import url_to_fs

        self.rules = rules
        self.marks: dict[str, str] = {}
        self.copies = home.root / "fetched"
        # In the folder of the copies: where these are lost, as in a restored state, all is fetched again.
        self._memory = self.copies / ".fetched.json"
        try:
            self._files, self._folder = url_to_fs(str(rules.folder))
            archive_files, archive = (self._files, None) if rules.archive is None else url_to_fs(str(rules.archive))
        except Exception as error:  # Every kind of file system has different errors.
            raise EtalonError(without_password(f"landing.folder {rules.folder}: {error}"), Exit.NO_INPUT) from error
        if archive_files != self._files:
            remedy = "name a folder on the file system of landing.folder"
            raise EtalonError(without_password(f"landing.archive {rules.archive}: {remedy}"), Exit.NO_INPUT)
        self._archive: str | None = archive

    def listed(self) -> Mapping[str, Mapping[str, Any]]:
        """Attributes of each file, by its path under the address. EtalonError where the folder cannot be listed."""
        try:
            self._files.invalidate_cache()
            files = self._files.find(self._folder, detail=True)
        except Exception as error:  # Every kind of file system has different errors.
            message = f"landing.folder {self.rules.folder}: cannot be listed: {error}"
            raise EtalonError(without_password(message)) from error
        return {str(PurePosixPath(path).relative_to(self._folder)): about for path, about in sorted(files.items())}

    def fetch(self, loaded: Mapping[str, str]) -> dict[str, str]:
        """Fetch what is new or has changed since it was loaded; drop copies of what is gone.

        loaded: marks of the originals in the warehouse, by name. What has not changed since goes to the archive, if
        there is one. Why others are left, by path.
        """
        before, left, names = FETCHED.read_or(self._memory, {}), dict[str, str](), self.listed()
        self.marks = marks = dict[str, str]()
        for name, about in names.items():
            why_left = self._why_left(name, names)
            if why_left is None:
                continue
            if why_left:
                left[name] = why_left
                continue
            marks[name] = _mark(about)
            # Who brings files may take one away again between the list and this look.
            is_loaded = loaded.get(name) == marks[name]
            if not is_loaded and (before.get(name) != marks[name] or not (self.copies / name).exists()):
                try:
                    self._get(name)
                except FileNotFoundError:
                    del marks[name]
                except Exception as error:  # Every kind of file system has different errors.
                    del marks[name]
                    left[name] = without_password(f"could not be fetched: {error}")
            elif is_loaded and self._archive is not None:
                try:
                    self._move(name, PurePosixPath(self._archive, name), marks[name])
                except FileNotFoundError:
                    pass
                except Exception as error:  # Every kind of file system has different errors.
                    left[name] = without_password(f"loaded, but could not be archived: {error}")
                    continue
                del marks[name]
        for copy in [path for path in self.copies.rglob("*") if path.is_file()]:
            name = str(copy.relative_to(self.copies))
            if name not in marks or loaded.get(name) == marks[name]:
                copy.unlink()
        FETCHED.write(self._memory, marks)
        return left

    def arrivals(self, before: Mapping[str, str]) -> list[landing.Arrival]:
        """The copies, as `landing.arrivals`; with markers set, only originals that have one were fetched."""
        with_marker = self.rules.marker is not None
        rules = self.rules.model_copy(update={"marker": None, "settle_s": 0}) if with_marker else self.rules
        return landing.arrivals(self.copies, rules, before)

    def _move(self, name: str, target: PurePosixPath, mark: str) -> None:
        if self._files.exists(str(target)):
            target = target.with_name(f"{mark[:8]}.{target.name}")
        self._files.makedirs(str(target.parent), exist_ok=True)
        self._files.mv(f"{self._folder}/{name}", str(target))
        if self.rules.marker is not None:
            self._files.rm(f"{self._folder}/{name}{self.rules.marker}")

    def _why_left(self, name: str, names: Mapping[str, object]) -> str | None:
        """Why a file is not fetched; None for what is no input, empty for one that is."""
        path, marker = PurePosixPath(name), self.rules.marker
        if landing.no_input(path, self.rules) or ".." in path.parts:
            return None
        if self.rules.system_of(path.name) is None:
            return landing.OF_NO_SYSTEM
        return "" if marker is None or name + marker in names else landing.ARRIVING

    def _get(self, name: str) -> None:
        copy = self.copies / name
        copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = copy.with_name(f".{copy.name}.part")
        self._files.get_file(f"{self._folder}/{name}", str(part))
        # The copy is as old as its original, which is complete when it has settled.
        with suppress(NotImplementedError):
            when = self._files.modified(f"{self._folder}/{name}").timestamp()
            os.utime(part, (when, when))
        part.replace(copy)


def _mark(about: Mapping[str, Any]) -> str:
    """A mark of a file's attributes, without the time of the last read, which fetching it changes."""
    attributes = sorted((key, value) for key, value in about.items() if key not in _READ_TIMES)
    return hashlib.sha256(str(attributes).encode()).hexdigest()[:16]
