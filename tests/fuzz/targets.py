"""What is fuzzed: for each target, inputs to begin with and a function that must accept any bytes."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.containers import opening
from ingest.containers.limits import Limits
from ingest.containers.terse import TerseError, is_terse, unterse
from ingest.containers.transmit import TransmitError, TransmitRefused, is_transmitted, transmitted
from ingest.formats.cics import csrcesrv
from ingest.formats.identify import Identity, Kind
from ingest.formats.smf.decode import decode_batches
from ingest.framing import IMS_CLOCK, SMF_DATE, FramingError
from ingest.identity import read_identities
from ingest.layout_files import RegistryError, read_layout
from model.lab.errors import LabError
from model.lab.twin import Twin
from model.network import Network, NetworkError
from pipelines import metrics, settings
from pipelines.exits import EtalonError
from pipelines.home import Home
from tests.fuzz import seeds
from tests.fuzz.checks import layouts, read_whole, scratch
from tests.ingest.rmf.documents import assert_same
from tests.model.lab.twin import made

COMPANIONS = ("a.runs.csv", "a.groups.csv", "a.dictionary.csv", "a.lab.json")
EXPANDED_BYTES = 1 << 20


@dataclass(frozen=True)
class Target:
    """Inputs to begin with, and the function under test."""

    seeds: Callable[[], Sequence[bytes]]
    run: Callable[[bytes], None]


def reframed(data: bytes) -> bytes:
    """The same records with descriptors that tile: so that what is tried is the records, not the framing."""
    records, at = [], 0
    while at + 4 <= len(data) and len(records) < 64:
        length = min(max(int.from_bytes(data[at : at + 2]), 4), len(data) - at)
        records.append(length.to_bytes(2) + bytes(2) + data[at + 4 : at + length])
        at += length
    return b"".join(records)


def framing(data: bytes) -> None:
    """Any bytes as a dump: the same records whatever is read at once, and identities for every one."""
    found = []
    for size in (1 << 16, 1 << 20):
        try:
            batches = list(decode_batches(data, layouts(), batch_bytes=size))
        except FramingError:
            found.append(-1)
            continue
        assert sum(batch.bytes_in for batch in batches) == len(data)
        found.append(sum(batch.records for batch in batches))
    assert found[0] == found[1]
    # What has been damaged is told apart by dates, and not by the clocks that it does not have.
    for dating in (SMF_DATE, IMS_CLOCK):
        try:
            digests = sum(len(part.digest) for part in read_identities(data, dating))
        except FramingError:
            digests = -1
        assert digests == found[0] or dating is IMS_CLOCK


def smf(data: bytes) -> None:
    """Any records: decoded, skipped or quarantined, with every record accounted for."""
    dump = reframed(data)
    if not dump:
        return
    read_whole("dump.smf", dump, Identity(Kind.SMF))


def expansion(data: bytes) -> None:
    """Any stream, expanded in the midst of others that must stay as they are."""
    length, stream = min(int.from_bytes(data[:2]), 20_000), data[2:]
    good = b"before" * 40
    before = csrcesrv.expand(csrcesrv.compress(good), len(good))
    assert before == good
    try:
        assert len(csrcesrv.expand(stream, length)) == length
    except ValueError as error:
        assert "cannot be expanded" in str(error)
    assert csrcesrv.expand(csrcesrv.compress(data), len(data)) == data


def ims(data: bytes) -> None:
    """Any records as an IMS log."""
    log = reframed(data)
    if log:
        read_whole("log.ims", log, Identity(Kind.IMS_LOG))


def container(data: bytes) -> None:
    """Any bytes as a container: what is inside stays within the limit, what is wrong is said, nothing is left over."""
    form = opening.form_of(data)
    if form is None:
        return
    path, inside = scratch() / "packed", scratch() / "unpacked"
    path.write_bytes(data)
    inside.mkdir(exist_ok=True)
    most = max(EXPANDED_BYTES, len(data))
    limits = Limits(free_bytes=EXPANDED_BYTES, ratio=1, members=1000)
    for member in opening.unpack(path, "packed", form, inside, limits):
        assert member.path.stat().st_size <= most
        assert sum(file.stat().st_size for file in inside.iterdir()) <= opening.MAX_DEPTH * most
        assert member.damage is None or member.damage
    assert list(inside.iterdir()) == [] or shutil.rmtree(inside) is None


def terse_file(data: bytes) -> None:
    """Any bytes as an AMATERSE file: pieces within the limit, whole records in each."""
    if not is_terse(data):
        return
    total = 0
    try:
        for piece in unterse(data, limit=EXPANDED_BYTES):
            total += len(piece)
            at = 0
            while data[1] == 1 and at < len(piece):
                length = int.from_bytes(piece[at : at + 2])
                assert 4 <= length <= len(piece) - at
                at += length
    except TerseError as error:
        assert 0 <= error.offset <= len(data) + 3
    assert total <= EXPANDED_BYTES


def transmitted_file(data: bytes) -> None:
    """Any bytes as a TRANSMIT file: no more than was sent and the descriptors, or an error that says what is wrong."""
    if not is_transmitted(data):
        return
    total = 0
    try:
        for piece in transmitted(data):
            total += len(piece)
    except (TransmitError, TransmitRefused) as error:
        assert str(error)
    assert total <= 3 * len(data)


def dcollect(data: bytes) -> None:
    """Any records as the output of DCOLLECT."""
    found = reframed(data)
    if found:
        read_whole("volumes.dcollect", found, Identity(Kind.DCOLLECT))


def rmf_xml(data: bytes) -> None:
    """Any bytes as a report in XML: accounted for, and both readings say the same."""
    read_whole("report.xml", data, Identity(Kind.RMF_XML))
    assert_same(data)


def rmf_json(data: bytes) -> None:
    """Any bytes as a report in JSON: accounted for."""
    read_whole("report.json", data, Identity(Kind.RMF_JSON))


def printed(data: bytes) -> None:
    """Any bytes as a printed report or statistics listing, if they are taken for one."""
    read_whole("listing.txt", data)


def companion(data: bytes) -> None:
    """Any bytes as one of the small files that stand beside a dump; the first byte says which."""
    if data:
        read_whole(COMPANIONS[data[0] % len(COMPANIONS)], data[1:])


def toml(data: bytes) -> None:
    """Any text as each file in TOML that a user writes; the first byte says which: it is read, or refused by name."""
    if data:
        name, read, refused = TOML[data[0] % len(TOML)]
        home = Home(scratch() / "state")
        home.root.mkdir(exist_ok=True)
        (home.root / "shop.network.toml").write_text(made.NETWORK)
        path = home.root / name
        path.write_bytes(data[1:])
        try:
            read(home, path)
        except refused as error:
            assert str(error)
        finally:
            path.unlink()


TOML: list[tuple[str, Callable[[Home, Path], object], type[Exception]]] = [
    ("network.toml", lambda _, path: Network.load(path), NetworkError),
    ("twin.toml", lambda _, path: Twin.load(path), LabError),
    ("smf_30.toml", lambda _, path: read_layout(path), RegistryError),
    ("metrics.toml", lambda home, _: metrics.of_installation(home), EtalonError),
    (settings.FILE, lambda home, _: settings.read(home), EtalonError),
]
"""What such a file is called, what reads it, and the error of one that cannot be used."""


def anything(data: bytes) -> None:
    """Any bytes as a file: some reader takes it, and all of it."""
    if data:
        read_whole("file", data)


TARGETS = {
    "framing": Target(seeds.dumps, framing),
    "smf": Target(seeds.smf_records, smf),
    "cics": Target(seeds.cics_records, smf),
    "csrcesrv": Target(seeds.csrcesrv_streams, expansion),
    "ims": Target(seeds.ims_logs, ims),
    "containers": Target(seeds.containers, container),
    "amaterse": Target(seeds.terse_files, terse_file),
    "transmit": Target(seeds.transmitted_files, transmitted_file),
    "dcollect": Target(seeds.dcollect_files, dcollect),
    "rmf-xml": Target(seeds.rmf_documents, rmf_xml),
    "rmf-json": Target(seeds.rmf_replies, rmf_json),
    "rmf-text": Target(seeds.rmf_listings, printed),
    "statistics": Target(seeds.statistics_listings, printed),
    "tables": Target(seeds.tables, printed),
    "companions": Target(seeds.companions, companion),
    "toml": Target(seeds.toml_files, toml),
    "files": Target(seeds.files, anything),
}
