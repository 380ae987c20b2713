"""halfspace on Apache Spark. Spark shuffles, retries and writes; what computes is the command, which
runs in each task as a child over Arrow streams."""

from ..command import CommandError
from .doctor import doctor
from .fingerprint import fingerprint, frequencies
from .groups import cluster, components, dedup
from .index import build_index, nearest
from .pairs import pairs

__all__ = [
    "CommandError",
    "build_index",
    "cluster",
    "components",
    "dedup",
    "doctor",
    "fingerprint",
    "frequencies",
    "nearest",
    "pairs",
]
