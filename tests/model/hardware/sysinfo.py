"""``/proc/sysinfo`` as Linux on IBM Z prints it (arch/s390/kernel/sysinfo.c), of made-up machines."""

FACTORS = (62000, 60300, 59100, 58200)


def sysinfo(machine_type: str, model: str, capability: int, secondary: int | None = None) -> str:
    """The text of an LPAR; ``secondary`` is the capability of engines at full speed."""
    lines = [
        "Manufacturer:         IBM",
        f"Type:                 {machine_type}",
        "LIC Identifier:       0123456789abcdef",
        f"Model:                {model}              A01",
        "Sequence Code:        0000000000012345",
        "Plant:                02",
        f"Model Capacity:       {model}              00001224",
        f"Model Perm. Capacity: {model}              00001224",
        "Capacity Adj. Ind.:   100",
        "Capacity Ch. Reason:  0",
        "Type 1 Percentage:    0",
        "",
        "CPUs Total:           5",
        "CPUs Configured:      5",
        "CPUs Standby:         0",
        "CPUs Reserved:        0",
        "CPUs G-MTID:          0",
        "CPUs S-MTID:          1",
        f"Capability:           {capability}",
        f"Nominal Capability:   {capability}",
        f"Secondary Capability: {secondary or capability or 380}",
        *(f"Adjustment {n:02d}-way:    {factor}" for n, factor in enumerate(FACTORS, start=2)),
        "",
        "LPAR Number:          5",
        "LPAR Name:            LINUX1",
        "LPAR CPUs Total:      4",
    ]
    return "\n".join(lines) + "\n"
