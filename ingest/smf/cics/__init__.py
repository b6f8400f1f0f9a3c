"""CICS monitoring data (SMF 110 subtype 1): records that describe their own fields through a dictionary."""
