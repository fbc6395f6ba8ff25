"""Recording of other services: their orders without gaps, and their maps and rankings as they were served."""

# First the vendors: they export `Recorder`, which needs them.
import liqdata.vendors as _vendors  # noqa: F401
