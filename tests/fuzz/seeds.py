"""Inputs to begin with, made by the project's own writers: every record type, report, table and container."""

import bz2
import csv
import datetime as dt
import gzip
import io
import random
import zipfile
from collections.abc import Sequence

import pyarrow as pa

from ingest.formats.cics import csrcesrv
from ingest.formats.cics.dictionary import Dictionary, Key, full_dictionary, write_dictionary_file
from ingest.formats.cics.encode import Region, encode_dictionary, encode_performance
from ingest.formats.dcollect.encode import encode_dcollect
from ingest.formats.ims.encode import encode_log
from ingest.formats.rmf.render import render_text
from ingest.formats.rmf.text_layouts import report_layouts
from ingest.formats.smf import encode_dump
from ingest.formats.tables.tabular import sources
from tests.fuzz.checks import layouts
from tests.ingest.data_set_records import made as made_data_sets
from tests.ingest.dcollect.writing import written
from tests.ingest.iebcopy_writer import unload
from tests.ingest.ims.logs import random_codes, records
from tests.ingest.reports.made import random_report
from tests.ingest.rmf.documents import document
from tests.ingest.rmf.monitor3 import CPC, DELAY, reply_json
from tests.ingest.tables import random_tables
from tests.ingest.terse_writer import terse
from tests.ingest.transmit_writer import transmit
from tests.model.lab.twin import made as made_twin

_NOW = dt.datetime(2026, 3, 4, 13, 14, 15)
_LISTING = b"""1Applid REGION1   Sysid REG1  Jobname CICSJOB1  02/17/2005  Time 15:45:21  CICS 6.4.0  PAGE    5
 Dispatcher
 __________
 Current ICV time . . . . . . . : 1,000ms      Max ICVTSD Time. . . . . . . : 5ms
   TCB    TCBs Attached    Op. System     Op. System      Total TCB       Total TCB         DS TCB      TCB CPU/Disp
   Mode  Current    Peak     Waits         Wait Time     Dispatch Time     CPU Time        CPU Time         Ratio
    QR         1        1       4,463   01:53:49.86610  00:00:04.92424  00:00:02.28346  00:00:00.34112      46.3%
"""


def smf_records() -> list[bytes]:
    """A dump of one or two records for every layout, and one of data set sections chained by offsets."""
    plain = [encode_dump(random_tables(layout, 1, 2, 2), layouts()) for layout in layouts().layouts]
    return [*plain, encode_dump(made_data_sets(1, [[2, 1]]), layouts())]


def dumps() -> list[bytes]:
    """Dumps of several kinds of record in both framings, one of them with spanned records."""
    kinds = [layout for layout in layouts().layouts if layout.type in (30, 70, 101, 116)][:4]
    small = [encode_dump(random_tables(kinds[0], 2, 3, 1), layouts(), framing=form) for form in ("rdw", "bdw")]
    mixed = b"".join(encode_dump(random_tables(layout, 3, 1, 1), layouts()) for layout in kinds)
    body = small[0][4:200]
    spanned = b"".join(
        (len(part) + 4).to_bytes(2) + bytes([code, 0]) + part
        for code, part in ((1, body[:60]), (3, body[60:100]), (2, body[100:]))
    )
    return [*small, mixed, spanned + small[0][:400]]


def cics_records() -> list[bytes]:
    """Dictionaries with performance records that use them, plain and compressed; exceptions and statistics."""
    region = Region("SYSA", "CICSAOR1", "AORJOB1")
    entries = full_dictionary()
    rows = pa.table({"tran": ["AAAA", "BBBB"], "trannum": pa.array([1, 2], pa.uint32())})
    found = []
    for count in (3, 20, 60):
        dictionary = encode_dictionary(region, entries[:count], _NOW)
        for compressed in (False, True):
            performance = encode_performance(region, entries[:count], rows, _NOW, compressed=compressed)
            found.append(b"".join([*dictionary, *performance]))
    others = [layout for layout in layouts().layouts if layout.handler]
    return found + [encode_dump(random_tables(layout, seed, 2, 2), layouts()) for layout in others for seed in (1, 2)]


def csrcesrv_streams() -> list[bytes]:
    """Compressed streams behind the length each expands to, in two bytes."""
    plain = [b"", b"A", bytes(300), b"abc" * 30 + bytes(200) + b"xyz"]
    return [len(data).to_bytes(2) + csrcesrv.compress(data) for data in plain]


def ims_logs() -> list[bytes]:
    """IMS logs of records of many codes, with bodies and without."""
    rng = random.Random(5)
    found = []
    for count in (4, 12):
        codes = [*random_codes(rng, count), (0x56, 0xFA), (0x0A, 8), (0x45, 1), (0x99, 0x28)]
        bodies = {n: rng.randbytes(rng.randrange(120)) for n in range(len(codes) - 1)}
        found.append(encode_log({"ims_log_record": records(codes)}, layouts(), bodies=bodies))
    return found


def containers() -> list[bytes]:
    """Dumps in every container, containers in containers, and small bombs of each."""
    dump, zeros = dumps()[0][:600], bytes(1 << 20)
    zstd = pa.compress(dump, "zstd", asbytes=True)
    inner = gzip.compress(dump, mtime=0)
    bombs = [gzip.compress(zeros, mtime=0), bz2.compress(zeros), pa.compress(zeros, "zstd", asbytes=True)]
    twice = [gzip.compress(bz2.compress(zeros), mtime=0), gzip.compress(gzip.compress(inner, mtime=0), mtime=0)]
    library = unload({"DUMP": [dump[:300], dump[300:]], "JCL": [b"\x61" * 80]})
    unloaded = b"".join((len(record) + 4).to_bytes(2) + bytes(2) + record for record in library)
    return [inner, bz2.compress(dump), zstd, _bare(), unloaded, _zip(dump, inner), _zip(*bombs), *bombs, *twice]


def _bare() -> bytes:
    """Three SMF records without descriptors."""
    head = bytes.fromhex("5EC80041EB00" + "0126325F") + "SYSA".encode("cp037")
    return b"".join(head + bytes([number]) * 40 for number in range(3))


def _zip(*members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, data in enumerate(members):
            archive.writestr(zipfile.ZipInfo(f"m{number}.smf"), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def terse_files() -> list[bytes]:
    """AMATERSE files of both forms, of fixed and variable data, with repetition and without, and a bomb."""
    rng = random.Random(3)
    parts = [bytes([rng.randrange(4)]) * rng.randrange(1, 30) for _ in range(20)]
    made = [terse(parts, spack=spack, variable=variable) for spack in (False, True) for variable in (False, True)]
    return [data.rstrip(b"\0") + bytes(4) for data in (*made, terse([b"\x40" * 3000], spack=False, variable=False))]


def transmitted_files() -> list[bytes]:
    """TRANSMIT files of fixed and variable data, with a message, and of what is refused."""
    records = [b"\x1e\x46" + bytes(range(200)), b"", b"a" * 600]
    made = [transmit(records, variable=variable) for variable in (False, True)]
    library = transmit(unload({"A": [b"abc"], "B": [b"d"]}), variable=True, utility="IEBCOPY")
    return [*made, transmit(records, variable=True, message=[b"note"]), library]


def dcollect_files() -> list[bytes]:
    """Records of every kind with a layout, and one without."""
    whole = encode_dcollect(
        written(1, dict.fromkeys([layout.name for layout in layouts().logged("dcollect").values()], 2)), layouts()
    )
    other = bytearray(whole[: int.from_bytes(whole[:2])])
    other[4:6] = "M ".encode("cp037")
    return [whole, bytes(other)]


def rmf_documents() -> list[bytes]:
    """Reports in XML: figures, entities, messages, Monitor III, and a document type definition that would explode."""
    bomb = b'<!DOCTYPE ddsml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    reply = b'<ddsml><server/><message id="GPM0504I"><description>No data available</description></message></ddsml>'
    monitor = (
        b"<ddsml><report><metric id='8D0E50'/><resource><reslabel>,SYSA,MVS_IMAGE</reslabel></resource><time-data>"
        b"<local-start>20220301120000</local-start><utc-start>20220301110000</utc-start></time-data><row refno='1'>"
        b"<col>JES2</col><col>3.5</col></row><column-headers><col type='T'>Job</col><col type='N'>Delay</col>"
        b"</column-headers></report></ddsml>"
    )
    plain = document("12.5", "&lt;&#65;", "00.00.18.637")
    return [plain, document("1"), reply, monitor, bomb + plain, plain.replace(b"<ddsml>", b"<ddsml><mfpmsg>x</mfpmsg>")]


def rmf_replies() -> list[bytes]:
    """Monitor III reports in JSON, a message, and replies that are none."""
    return [reply_json(CPC), reply_json(DELAY), b'{"message": [{"id": "GPM0504I", "severity": 1}]}', b'{"report": [1]}']


def rmf_listings() -> list[bytes]:
    """A printed report of every layout, in ASCII and EBCDIC."""
    texts = [render_text([random_report(layout, 1)], asa=bool(n % 2)) for n, layout in enumerate(report_layouts())]
    return [text.encode()[:6000] for text in texts] + [texts[0].encode("cp037").replace(b"\x25", b"\x15")[:3000]]


def statistics_listings() -> list[bytes]:
    """Printed CICS statistics."""
    stup = b" COLLECTION DATE-TIME 02/17/2005-15:45:21 APPLID=REGION1 JOBNAME=J\n INTERVAL STATISTICS REPORT\n"
    return [_LISTING, stup + _LISTING[200:], _LISTING.decode().encode("cp037").replace(b"\x25", b"\x15")]


def tables() -> list[bytes]:
    """Two rows for every kind of table, with every delimiter, and JSON Lines."""
    found = []
    for number, source in enumerate(sources()):
        out = io.StringIO()
        writer = csv.writer(out, delimiter=",;\t|"[number % 4], lineterminator="\n")
        writer.writerow([column[1][0] for column in source.columns])
        writer.writerow(["2026-01-01T00:00:00Z" if column[2] == "utc" else "1,016.25" for column in source.columns])
        writer.writerow(["" for _ in source.columns])
        found.append(out.getvalue().encode())
    line = b'{"id": "ims-tran", "start": "2026-01-01T00:00:00Z", "trancode": "PART", "inputq": 0.001, "process": 0.02,'
    return [*found, line + b' "total-ims": 0.022, "cpu": 4e-4, "extra": {"list": [1, true, null]}}\n']


def companions() -> list[bytes]:
    """Files that stand beside a dump, each behind a byte that says what it is called."""
    runs = b"system_id,smf_sid,point,condition,start_utc,end_utc\ncics,SYSA,p,rate=1,2020-01-01T00:00:00Z,"
    groups = b"system_id,smf_sid,kind,pattern,workload,address_space_group\ncics,SYSA,report_class,R%,cics,aor\n"
    dictionary = write_dictionary_file([(Key("*", "*", "0700"), Dictionary.of(full_dictionary()[:3]))])
    return [b"\0" + runs + b"2020-01-01T00:05:00Z\n", b"\1" + groups, b"\2" + dictionary.encode(), b"\3{}"]


def toml_files() -> list[bytes]:
    """A file in TOML of every kind that users write, each behind a byte that says which."""
    fork = """name = "forks"
stations = [{ name = "s", servers = 2 }]
[procedures]
work = [{ visit = "s", service = 0.15 }, { call = "rest", times = 3 }]
rest = [{ visit = "s", service = { mean_ms = 1.0 } }]
[[classes]]
name = "c"
arrivals = { rate_per_s = 10.0 }
route = [{ fork = [[{ call = "work" }], [{ call = "rest" }]] }]
"""
    layout = layouts().layout_for(30, 2).path.read_text(encoding="utf-8")
    metric = """[mips]
title = "MIPS used"
unit = "MIPS"
grain = "lpar_cpu"
numerator = "cpu_s * 100"
denominator = "interval_s"
"""
    nights = """fit_days = 91
[landing]
settle_s = 5
[landing.systems]
PRDA = ["PRDA.*"]
[archives]
members = 10
ratio = 1.5
[retain]
"raw.smf30" = 35
"""
    texts = [made_twin.NETWORK, made_twin.TWIN, layout[:8000], metric, nights]
    return [bytes([place]) + text.encode() for place, text in enumerate(texts)] + [b"\0" + fork.encode()]


def files() -> Sequence[bytes]:
    """One of everything, for the look that tells kinds apart."""
    makers = (dumps, ims_logs, rmf_documents, rmf_listings, statistics_listings, tables)
    return [make()[0][:2000] for make in makers]
