"""Two collections of CICS statistics of one region, as DFH0STAT prints them."""

from pathlib import Path

SYSTEM = "listed"
_RUNS = """system_id,smf_sid,point,condition,start_utc,end_utc
listed,LIST,1,,2026-11-23T10:00:00Z,2026-11-23T11:00:00Z
"""
_PAGE = """Applid CICSTST1  Sysid TST1  Jobname CICSTST1    Date 11/23/2026  Time {time}     CICS 7.5.0    PAGE   {page}

"""
_TRANSACTIONS = """
Transaction Manager

  Total Accumulated transactions so far. . :  {so_far:>18}
  Accumulated transactions (since reset) . :             800          Transaction Rate per second. . :     4.00
  Maximum transactions allowed (MXT) . . . :             120
  Transactions Delayed by MXT. . . . . . . :               7
  Total MXT queueing time. . . . . . . . . :  00:00:12.50000
  Average MXT queueing time. . . . . . . . :  00:00:01.78571
  Address Space CPU Time . . . . . . . . . :  {cpu} (Not Reset)

"""
_MODES = """
Dispatcher TCB Modes

 TCB    TCBs Attached     Op. System      Op. System        Total TCB        Total TCB        DS TCB        TCB CPU/Disp
 Mode   Current   Peak         Waits       Wait Time    Dispatch Time         CPU Time        CPU Time           Ratio
 _________________________________________________________________________________________________________________
 QR           1      1         4,000  01:53:49.00000   00:00:05.00000   00:00:02.50000  00:00:00.34000           50.0%
 RO           1      1           200  01:53:16.00000   00:00:14.00000   00:00:01.10000  00:00:00.00400
"""


def write(folder: Path) -> list[Path]:
    """The listings and the runs file of the system."""
    files = {"listed.runs.csv": _RUNS}
    for name, time, so_far, cpu in (
        ("one", "10:10:00", "1,800", "00:01:00.0"),
        ("two", "10:20:00", "2,600", "00:01:30.0"),
    ):
        transactions = _PAGE.format(time=time, page=2) + _TRANSACTIONS.format(so_far=so_far, cpu=cpu)
        files[f"{name}.txt"] = transactions + _PAGE.format(time=time, page=3) + _MODES
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]
