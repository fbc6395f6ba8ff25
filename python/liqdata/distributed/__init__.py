"""Maps and scores of many coins on a Dask cluster; the workers open the archive themselves.

Every function gives the same result without a cluster. ``docs/how-to/distributed.md`` has recipes, also for Ray and
Spark.
"""

from .map_set import WrittenMaps, maps
from .scores import score

__all__ = ["WrittenMaps", "maps", "score"]
