"""Maps that are committed before a period and scored after it: the function :func:`liqdata.league`."""
