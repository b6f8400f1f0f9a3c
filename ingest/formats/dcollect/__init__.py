"""Output of IDCAMS DCOLLECT: data sets, VSAM components and volumes of a system at one moment."""
