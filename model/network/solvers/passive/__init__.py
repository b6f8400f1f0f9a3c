"""Limits on how many transactions are inside parts of a network (MXT, class limits, TCBs, locks, pools of regions), one
within another.

The part inside a limit is solved closed with 1, 2, ... limit transactions, all classes as their mix. Its throughput
makes one load-dependent station that stands for it in the limit around it. Waits are then found class by class, each
arrival finding what the others have left. Exact decomposition for one class whose inside has product form and whose
arrivals see it as that station; close elsewhere. Sources: Courtois, *Decomposability*, 1977; Lazowska et al.,
*Quantitative System Performance*, 1984, chapter 9.
"""
