"""Systems of published studies from which the marts of dumps are built, and what is found of them."""

#: Values of systems, and those the paper itself contradicts. Each way in which records and files carry a figure stands
#: in one of these: one LPAR and two, structures, service units, workload activity blocks, collector files.
EXPECTED = {
    "ims14-ff-haldb-z13": (22, 0),
    "ims14-ff-haldb-z14": (42, 0),
    "cics53-18cp": (133, 1),
    "cics52-18cp": (17, 0),
    "cics53-tor-example": (37, 0),
    "cicsjava-s1-200u-19tps": (321, 0),
    "cs113-cics-sockets": (34, 0),
    "cs113-ftp-out-1500ms": (142, 2),
    "ims10-acblib-olc": (15, 0),
    "ims10-base-bmp": (6, 0),
    "ims10-base-ff-smq": (26, 1),
    "ims10-connect-ds": (13, 0),
    "ims10-fp-su": (7, 2),
    "ims10-ilds-rebuild": (10, 0),
    "ims10-pra-batch-ic": (3, 0),
    "ims10-shared-emh": (56, 0),
    "ims10-tls": (19, 0),
}
