"""A plain reader of MQ records that knows nothing of the codec: the struct module, literal offsets, record by record.

It exists to be compared with. Offsets are those of the published structures, counted from the start of each section.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

CODES = {"B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8}

QWHS = "qwhslen:0H qwhstyp:2B qwhsrmid:3B qwhsiid:4h qwhsnsda:6B qwhsrn:7B qwhsace:8I qwhsssid:12t4 qwhsstck_raw:16Q"
QWHS_SHORT = QWHS + " qwhsiseq:24I qwhswseq:28I qwhsflag1:32B qwhsflag2:33B qwhsflag3:34B qwhsflag4:35B"
QWHS_LONG = QWHS_SHORT + " qwhstime_raw:36Q qwhsdurn:44Q qwhxlen:52H qwhxtyp:54B qwhxqsg:56t4 qwhxrel:60t6"
QWHS_WITH_QWHC = QWHS_SHORT + (
    " qwhclen:36H qwhctyp:38B qwhcaid:40t8 qwhccv:48x12 qwhccn:60t8 qwhcopid:76t8 qwhcatyp:84I qwhctokn:88x22"
    " qwhcnid:110x16 qwhxlen:128H qwhxtyp:130B qwhxqsg:132t4 qwhxrel:136t6"
)
DUMMY = "qwhslen:0H qwhstyp:2B qwhsrmid:3B qwhxlen:4H qwhxtyp:6B qwhxqsg:8t4 qwhxrel:12t6"

QSST = (
    "qsstid:0H qsstlen:2H qsstdesc:4t4 qsstgplf:8I qsstfplf:12I qsstfref:16I qsstexpf:20I qsstconf:24I qsstgplv:28I"
    " qsstfplv:32I qsstfrev:36I qsstexpv:40I qsstconv:44I qsstgetm:48I qsstfrem:52I qsstrcnz:56I qsstcont:60I"
    " qsstcrit:64I qsstabnd:68I"
)
QJST = (
    "qjstll:2H qjsteid:4t4 qjstwrw:8i qjstwrnw:12i qjstwrf:16i qjstwtb:20i qjstrbuf:24i qjstract:28i qjstrarh:32i"
    " qjstbsds:40i qjstbffl:44i qjstbfwr:48i qjstalr:52i qjstalw:56i qjstciof:60i qjstllcp:64i qjstlogw:84i"
    " qjstciwr:88i qjstserw:92i qjstthrw:96i qjstbpag:100i qjstcmpreq:120i qjstcmpfail:124i qjstcmpuncmp:128q"
    " qjstcmpcomp:136q qjstdecreq:144i qjstdecfail:148i qjstdecuncmp:152q qjstdeccomp:160q"
    " qjstiocount_11:264I qjstioci_11:268I qjstiototio_11:272Q qjstiototsus_11:280Q qjstiomaxio_11:288Q"
    " qjstiomaxiot_11_raw:296Q qjstiomaxiol_11:304t8 qjstiomaxsus_11:312Q qjstiocount_12:336I qjstiototio_12:344Q"
    " qjstiocount_21:408I qjstiototio_21:416Q qjstiocount_22:480I qjstiototio_22:488Q qjstiomaxsusl_22:544t8"
    " qjstslptu:552Q qjstcp1n:576i qjstcp2n:580i qjstencr:592i qjsthlsciw:600I qjsthlsciwtmax:648Q qjsthle:716I"
)
QMST = (
    "qmstid:0H qmstll:2H qmsteyec:4t4 qmstopen:8i qmstclos:12i qmstget:16i qmstput:20i qmstput1:24i qmstinq:28i"
    " qmstinql:32i qmstset:36i qmstcalh:44i qmstsub:48i qmstsubr:52i qmstcb:56i qmstctl:60i qmststus:64i qmstpubs:68i"
    " qmstspp:72q qmstsnp:80q qmstpbp:88q qmstnbp:96q qmstocpa:104Q qmstotpu:272Q qmstotsk:296i qmstobcd:320Q"
)
QIST = (
    "qistid:0H qisteyec:4t4 qistmget:8I qistmput:12I qistmblr:16I qistdcre:20I qistdput:24I qistddel:28I qistdget:32I"
    " qistdloc:36I qistenum:56I qistraio:60I qistrabp:64I qistgetd:68I qistgetb:72I"
)
QPST = (
    "qpstid:0H qpstll:2H qpsteyec:4t4 qpstpool:8i qpstnbuf:12i qpstcbsl:16i qpstcbs:20i qpstgetp:24i qpstgetn:28i"
    " qpstrio:32i qpststw:36i qpsttpw:40i qpstwio:44i qpstimw:48i qpstdwt:52i qpstdmc:56i qpststl:60i qpststla:64i"
    " qpstsos:68i qpstbits:72B"
)
QLST = "qlstid:0H qlsteyec:4t4 qlstgetl:8I qlsthldl:12I qlstrell:16I"
Q5ST = (
    "q5steyec:4t4 numtask:8I acttask:12I conncnt:16I disccnt:20I dhigmax:24I abndcnt:28I requcnt:32I deadcnt:36I"
    " delecnt:40I listcnt:44I readcnt:48I updtcnt:52I writcnt:56I scssel:60I scsmaxr:92I deletcuw:104Q deletmxw:112Q"
    " listscuw:152Q readtcuw:168Q updtsmxw:224Q writscuw:248Q scsstcuw:264Q sskstcuw:392Q sskdsmxw:480Q lmssel:488I"
    " lmslis:504I lmsstcuw:512Q lmslsmxw:664Q"
)
QEST = (
    "qesteyec:4t4 qeststr:8t12*64/64 qeststrn:20I*64/64 qestcsec:24I*64/64 qestcmec:28I*64/64 qestsstc:32Q*64/64"
    " qestmstc:40Q*64/64 qestrsec:48I*64/64 qestrmec:52I*64/64 qestsful:56I*64/64 qestmnus:60I*64/64"
    " qestmlus:64I*64/64"
)
QTST = (
    "qtstdesc:4t4 qtststot:8I qtstsdur:12I qtstshig:16I*3/4 qtstslow:28I*3/4 qtstsexp:40I qtsttmsg:44I qtstsphw:48I"
    " qtstptot:52I*3/4 qtstphig:64I qtstplow:68I qtstpnos:72I qtstethw:80Q qtstetto:88Q"
)
QESD = (
    "qesdeyec:4t4 qesdstr:8t12 qesdstrn:20I qesdsmbt:24I qesdsmbu:36I qesdsmmc:44I qesdsmmf:92I qesdbfsz:96I"
    " qesdbfgb:128I qesdbfrr:152I qesdbfwb:180I qesdbfpt:184Q qesdbfbt:192Q qesdbfmb:212I qesdioha:216I qesdiofr:232I"
    " qesdioft:240Q qesdiowr:256I qesdiowt:264Q qesdiorr:280I qesdiort:288Q qesdioor:304I qesdioow:320Q qesdbits:328B"
)
QSPH = (
    "qspheyec:4t4 qsphstor:8i qsphostor:12i qsphxstor:16i qsphbsize:20H qsphbcnt:22H qsphcount:24I qsphdspnm:28t8"
    " qsphname:36t48 qsphflags:84B"
)
QSGM = (
    "qsgmeyec:4t4 qsgmlvtot:8i qsgmlvnew:12i qsgmlvmax:16i qsgmlvmin:20i qsgmcount:24i qsgmscls:28B qsgmcsect:32t8"
    " qsgmoffset:40i"
)
QSRS = (
    "qsrseyec:4t4 qsrsphbgf:8i qsrsphbgv:12i qsrsphblf:16i qsrsphblv:20i qsrsgmbt:24i qsrsstkt:28i qsrsstrta:32I"
    " qsrssiza:36I qsrssmfl:64i qsrsestra:72I qsrseloal:88I qsrssmfer:108i qsrsmemlim:112Q qsrsabytes:120Q"
    " qsrsgbytes:128Q qsrsnmomb:136I qsrsmemlims:140B qsrsfmct:144i qsrsaval:152i qsrssos:164i qsrsaval64:168Q"
    " qsrscush64:176Q qsrssmds64:184Q qsrsphblgf:192Q qsrsgmbl:224Q"
)
QIS1 = (
    "qis1eyec:4t4 qis1psno:8I qis1bpno:12I qis1topg:16I qis1unpg:20I qis1ppg:24I qis1nppg:28I qis1full:32I"
    " qis1pchi:36I qis1dwpn:40I qis1dwpp:44I qis1dwpt:48Q qis1imwn:56I qis1imwp:60I qis1imwt:64Q qis1getn:72I"
    " qis1getp:76I qis1gett:80Q qis1ckpp:88I qis1expn:92H qis1strn:94B qis1expm:95B qis1stat:96B qis1bits:100B"
)
QCCT = (
    "qccteyec:4t4 qcctjobn:8t8 qcctqsgn:16t4 qcctnocc:20I qcctmxcc:24I qcctnoac:28I qcctmxac:32I qcctmxtp:36I"
    " qcctmxlu:40I qcctstus:44I qcctstab:48Q qcctslim:56Q"
)
QCT = "qcttskn:0I qctreqn:4I qctcptm:8Q qcteltm:16Q qctwttm:24Q"
QWAC = (
    "qwacbsc_raw:0Q qwacesc_raw:8Q qwacbjst:16Q qwacejst:24Q qwacbsrb:32Q qwacesrb:40Q qwacrinv:48I qwacnid:52x16"
    " qwaccomm:68I qwacback:72I qwacasc:76Q qwacajst:84Q"
)
QMAC = (
    "qmacid:0H qmacll:2H qmaceyec:4t4 qmaccput:8Q qmacputa:16I qmacputb:20I qmacputc:24I qmacputd:28I qmacgeta:32I"
    " qmacgetb:36I qmacgetc:40I qmacgetd:44I"
)
WTID = (
    "wtideyec:4t4 wtidatyp:8i wtidccn:12t8 wtidopid:20t8 wtidnid:28x16 wtidcori:44x12 wtiduowi:56x24 wtidacct:80x22"
    " wtidchl:102t20 wtidchlc:122t48 wtidctxt:170x16 wtidtran:186t8 wtidwtas:204I"
)
WTAS = (
    "wtaslen:2H wtaseyec:4t4 wtasstrt_raw:8Q wtasmthr:16I wtaswtas:20I wtaslatc:24Q wtashshi:32i wtasflag:40I"
    " wtaswqct:44I wtaslwet:48Q*32/8 wtaslwn:304i*32/4 wtasotet:432Q wtasotct:440Q wtasotn:448i wtasmlw:452Q"
    " wtasmlwn:460i wtaslown:464x8 wtascmet:472Q wtascmct:480Q wtascmn:488i wtasbaet:492Q wtasban:508i wtasjwet:516Q"
    " wtasjwn:524I wtasjwb:528I wtasjcet:532Q wtasjcn:540I wtassusn:544I wtassuse:548Q wtaspse0:556Q wtaspsn0:564I"
    " wtasdbet:568Q wtasdbct:600I wtascsec:604I wtassstc:620Q wtassmrs:636I wtassmwt:656Q wtasints_raw:664Q"
    " wtasinte_raw:672Q wtasgpo:680i wtasgpn:684i wtasver:696I wtasdbpt:704Q wtaspbhw:720Q wtastpet:736Q wtastpn:752I"
    " wtassuet:756Q wtassusl:780I wtassqet:784Q wtasctet:804Q wtasstet:824Q wtasctsr:848Q cf1_cfcount:864I*20/20"
    " cf1_cfsyncn:868I*20/20 cf1_cfsyncet:872I*20/20 cf1_cfasyncn:876I*20/20 cf1_cfasyncet:880I*20/20"
    " cf2_cfcount:1264I*20/20 cf2_cfasyncet:1280I*20/20 wtaspret:2064Q wtasprct:2072Q wtasprn:2080I"
    " wtaslmax:2088Q*32/8"
)
WQ = (
    "wqll:2H wqeye:4t4 wqver:8i correl:16x16 objname:32t48 basename:80t48 opentime_raw:128Q clostime_raw:136Q"
    " qtype:144i indxtype:148i qsgdisp:152i openeye:156t4 openet:160Q openct:168Q openn:176I closeet:184Q closen:200I"
    " getet:208Q getct:216Q getn:224I getbrwa:228I gets:240I geterr:244I getjwet:248Q getpset:260Q getsuset:272Q"
    " getexmsg:292I puteye:296t4 putet:300Q putct:308Q putn:316I putpsn:352i put1eye:356t4 put1et:360Q put1n:376I"
    " inqet:420Q setn:460I nps:476I cfstrucname:480t12 nbuffpool:492I putbytes:496Q getbytes:504Q validput:512I"
    " validget:516I getmaxms:524i getminms:528i putmaxms:532i maxlatnt:540Q minlatnt:548Q totlatnt:556Q total_use:572i"
    " getpmsg:576i maxqdpth:588i wqbits:592B getdval:596I getjcet:600Q putpwg:612I put1jcet:632Q putdsq:656I"
    " selcount:672I cbet:684Q cbct:692Q cbn:700I opensuet:704Q closecf0:732I mqcfreq_cfcount:736I*100/20"
    " mqcfreq_cfasyncet:752I*100/20 publishedn:2736I topicopensrb:2752Q putddly:2784I streamedn:2792I"
)

SECTIONS = {
    (115, 1): {0: ("standard", QWHS_LONG), 9: ("storage_manager", QSST), 11: ("log_manager", QJST)},
    (115, 2): {
        0: ("standard", QWHS_LONG),
        1: ("message_manager", QMST),
        2: ("data_manager", QIST),
        3: ("buffer_pool", QPST),
        4: ("lock_manager", QLST),
        5: ("db2_manager", Q5ST),
        6: ("coupling_facility", QEST),
        7: ("topic_manager", QTST),
        8: ("shared_data_set", QESD),
    },
    (115, 5): {0: ("standard", DUMMY), 1: ("pool", QSPH)},
    (115, 6): {0: ("standard", DUMMY), 1: ("getmain", QSGM)},
    (115, 7): {0: ("standard", DUMMY), 1: ("region", QSRS)},
    (115, 201): {0: ("standard", QWHS_LONG), 1: ("page_set", QIS1)},
    (115, 215): {0: ("standard", QWHS_LONG), 1: ("buffer_pool", QPST)},
    (115, 231): {
        0: ("standard", QWHS_LONG),
        1: ("channel_initiator", QCCT),
        2: ("dispatcher", QCT + " qctchln:32I"),
        3: ("adapter", QCT),
        4: ("tls", QCT + " qctlstm_raw:32Q qctlsdu:40Q"),
        5: ("dns", QCT + " qctlgtm_raw:32Q qctlgdu:40Q"),
    },
    (115, 240): {0: ("standard", QWHS_LONG)},
    (116, 0): {0: ("standard", QWHS_WITH_QWHC), 1: ("thread_times", QWAC), 2: ("message_manager", QMAC)},
    (116, 1): {0: ("standard", QWHS_WITH_QWHC), 1: ("thread", WTID), 2: ("thread_accounting", WTAS), 3: ("queue", WQ)},
}
"""Per record type and subtype: number of the triplet → table suffix and the fields compared."""


@dataclass
class Row:
    """One section of one record: the table it belongs to, its keys and its fields by raw column."""

    table: str
    record_seq: int
    section_seq: int
    fields: dict[str, object]


def records(dump: bytes) -> Iterator[bytes]:
    """Logical records of a dump with record descriptors, spanned ones joined."""
    place = 0
    parts: list[bytes] = []
    while place < len(dump):
        length, segment = struct.unpack_from(">HB", dump, place)
        parts.append(dump[place + (4 if segment in (2, 3) else 0) : place + length])
        if segment in (0, 2):
            yield b"".join(parts)
            parts = []
        place += length
    assert not parts


def rows(dump: bytes) -> Iterator[Row]:
    """Every section of every MQ record that SECTIONS names."""
    for number, record in enumerate(records(dump)):
        if record[5] not in (115, 116):
            continue
        subtype = struct.unpack_from(">H", record, 22)[0]
        prefix = f"smf{record[5]}_{subtype}"
        for index, (offset, length, count) in enumerate(triplets(record)):
            if offset and index in SECTIONS[record[5], subtype]:
                name, described = SECTIONS[record[5], subtype][index]
                for k in range(count):
                    part = record[offset + k * length : offset + (k + 1) * length]
                    assert len(part) == length
                    yield Row(f"{prefix}_{name}", number, k, read(part, described))


def triplets(record: bytes) -> list[tuple[int, int, int]]:
    """Offset, length and number of each section; the triplets end where the first section begins."""
    found: list[tuple[int, int, int]] = []
    lowest, place = len(record), 28
    while place + 8 <= lowest:
        found.append(struct.unpack_from(">IHH", record, place))
        lowest = min(lowest, found[-1][0] or lowest)
        place += 8
    return found


def read(part: bytes, described: str) -> dict[str, object]:
    """The described fields of a section; None where the section ends before."""
    return {name: value(part, *where(text)) for name, _, text in (word.partition(":") for word in described.split())}


def where(text: str) -> tuple[int, str, int, int, int]:
    """Offset, kind, width, number and distance of a field written like `16Q` or `8t12*64/64`."""
    body, _, repeat = text.partition("*")
    number, _, distance = repeat.partition("/")
    digits = len(body) - len(body.lstrip("0123456789"))
    kind = body[digits]
    width = CODES[kind] if kind in CODES else int(body[digits + 1 :])
    return int(body[:digits]), kind, width, int(number or 0), int(distance or 0)


def value(part: bytes, offset: int, kind: str, width: int, number: int, distance: int) -> object:
    """One field: `t` EBCDIC text, `x` bytes, otherwise a code of the struct module; a list if repeated."""
    if number:
        if offset + (number - 1) * distance + width > len(part):
            return None
        return [value(part, offset + k * distance, kind, width, 0, 0) for k in range(number)]
    if offset + width > len(part):
        return None
    if kind == "t":
        return part[offset : offset + width].decode("cp037").rstrip(" ")
    if kind == "x":
        return part[offset : offset + width]
    return struct.unpack_from(">" + kind, part, offset)[0]
