"""halfspace on Apache Spark. Spark shuffles, retries and writes; what computes is the command, which
runs in each task as a child over Arrow streams."""

from ..command import CommandError
from .components import components
from .doctor import doctor
from .fingerprint import fingerprint
from .groups import dedup
from .index import build_index, nearest
from .model import SimHashModel
from .pairs import pairs
from .stages import Checkpoint

__all__ = [
    "Checkpoint",
    "CommandError",
    "SimHashModel",
    "build_index",
    "components",
    "dedup",
    "doctor",
    "fingerprint",
    "nearest",
    "pairs",
]
