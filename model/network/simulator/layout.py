"""Columns of the engine's tables.

The engine works on flat arrays whose rows are customers, stations, lanes, resources or operations; these names are
their columns. A customer's row is one cache line of integers and one of floats.
"""

NONE = 0xFFFFFFFF
"""No customer, station, resource or position, in the unsigned tables."""
MANY = 0x7FFFFFFF
"""No limit."""

# Operations of a program.
VISIT, ACQUIRE, RELEASE, GO, FORK, JOIN, SWITCH, FREE, CF_DECIDE, END, LOST = range(11)

# Columns of program integers; TARGETS and N_TARGETS delimit rows of the branch tables.
P_OP, P_PLACE, P_DIST, P_EXTRA, P_UNITS, P_TARGETS, P_N_TARGETS, P_FLAGS, P_LOST, P_TRACE = range(10)
P_WIDTH = 12
# Flags of a visit; KEEP also of what ends a synchronous request.
KEEP, KEEP_UNTIL_ENTRY, RETAIN, OBSERVE, REPEAT, GOES_ON = 1, 2, 4, 8, 16, 32
# Columns of program floats.
PF_WHOLE, PF_FRACTION, PF_THRESHOLD, PF_SCALE = range(4)

# Customer integers.
C_PC, C_CLASS, C_ORIGIN, C_PHASE, C_COUNT, C_NEXT, C_STATION, C_SERVER, C_HELD, C_HELD_SERVER, C_PARENT, C_JOIN = range(
    12
)
C_ROW, C_PLACED, C_INSTANCE = 12, 13, 14
# Which place a customer has where it goes, at a station that blocks when full.
NEW_PLACE, KEPT_PLACE = 1, 2
C_WIDTH = 16
# What a customer's own event means.
IN_SERVICE, RESUMES, THINKS = range(3)
# Customer floats.
CF_START, CF_ENTER, CF_WORK, CF_LEFT, CF_WAIT, CF_HELD_AT = range(6)
CF_WIDTH = 8

# What the beginning of a service gives instead of its seconds: the customer waits, or shares with no event of its own.
WAITS, SHARES = -1.0, -2.0

KINDS = ("delay", "queue", "unequal", "preemptive", "sharing")
"""Kinds of station, by the names that `model.network.scheduling` has for them; `stations` says how to add one."""
DELAY, QUEUE, UNEQUAL, PREEMPTIVE, SHARING = range(len(KINDS))
# Lanes: the customers of one sharing station that progress at one rate.
# INSIDE counts those who keep an engine after their work too.
L_STATION, L_WORKING, L_INSIDE, L_GROUP, L_RANK = range(5)
L_WIDTH = 6
LF_VIRTUAL, LF_AT, LF_RATE, LF_WEIGHT = range(4)
LF_WIDTH = 4
# Groups: lanes whose rates depend on each other.
G_LANE0, G_LANES, G_STATION0, G_STATIONS, G_SINGLE = range(5)
G_WIDTH = 6

# Resources and their instances.
R_CAPACITY, R_FIRST, R_INSTANCES, R_LEVELS, R_LIMIT, R_SLOT = range(6)
R_WIDTH = 6
I_IN_USE, I_WAITING, I_QUEUE = range(3)
I_WIDTH = 4

# Classes.
K_START, K_CLOSED, K_THINK, K_LEVEL = range(4)

# Sources.
A_CLASS, A_INTERVAL, A_BATCH, A_ON, A_OFF, A_LEFT, A_TRACE = range(7)
A_WIDTH = 8

# Control words shared with the driver.
N_FREE, N_READY, DONE, TARGET, TRACE_AT, GROW = range(6)
CONTROL = 8

# What an operation has set free, to be passed on next: a station's engine, a part of shared engines, units of a
# resource; none where there is nothing.
F_STATION, F_SERVER, F_CUSTOMER, F_CHANGED, F_RESOURCE, F_INSTANCE, F_UNITS, F_HOLDER = range(8)
F_WIDTH = 8

# Accumulators of one class at one station.
V_COUNT, V_RESIDENCE, V_USING, V_SPIN, V_WAITED, V_BLOCKED = range(6)
V_WIDTH = 6
# Of one class as a whole.
T_DONE, T_SUM, T_SQUARES, T_LOST, T_STARTED = range(5)
T_WIDTH = 6
# Of one class at one resource; IN_USE_AREA and HELD make the time integral of units in use.
Q_ACQUIRED, Q_WAITED, Q_WAIT, Q_AREA, Q_HELD, Q_REFUSED = range(6)
Q_WIDTH = 6
# Of one station.
X_BUSY_AREA, X_ACTIVE_AREA, X_OVERFLOWED, X_SYNC, X_ASYNC, X_LOW_AREA, X_REJECTED = range(7)
X_WIDTH = 7

# Response histogram: log-linear buckets, BUCKETS_PER_OCTAVE to each power of two.
MANTISSA_BITS = 8
BUCKETS_PER_OCTAVE = 1 << MANTISSA_BITS
LOWEST_EXPONENT = -40
OCTAVES = 80
BUCKETS = OCTAVES * BUCKETS_PER_OCTAVE

# Parts of the response are kept by band of the response: eight to each power of two.
BAND_BITS = 5
BANDS = BUCKETS >> BAND_BITS

# Why the engine returned.
AT_TIME, AT_TARGET, NEEDS_ROOM, RAN_DRY, NOT_YET = range(5)
