"""Small input files for the tests of the warehouse."""

from pathlib import Path

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<ddsml><server><name>RMF-DDS-Server</name></server>\n'
REPORT = """<postprocessor><metric id="CPU"/><resource><resname>{system}</resname><restype>SYSTEM</restype></resource>
<segment id="1"><name>CPU Activity</name><part id="2"><table id="4"><column-headers><col type="T">CPU Number</col>
<col type="T">CPU Type</col><col type="N">Time% MVS Busy</col></column-headers>
<row refno="1"><col>0</col><col>CP</col><col>{busy}</col></row></table></part></segment></postprocessor>
"""
MESSAGE = '<postprocessor><message id="GPM0739E"><description>Invalid DATE</description></message></postprocessor>'
RUNS = "system_id,smf_sid,point,condition,start_utc,end_utc\n"
GROUPS = "system_id,smf_sid,kind,pattern,workload,address_space_group\n"


def report_xml(*busy: float, system: str = "SYSA") -> str:
    """An RMF reply with one CPU report per busy figure."""
    return HEAD + "".join(REPORT.format(system=system, busy=value) for value in busy) + "</ddsml>\n"


def write(folder: Path, **files: str | bytes) -> Path:
    """Write files into a folder; `__` in a name stands for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name.replace("__", ".")).write_bytes(data)
    return folder
