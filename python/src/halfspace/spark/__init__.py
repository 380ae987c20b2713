"""halfspace on Apache Spark. Spark shuffles, retries and writes; what computes is the command, which
runs in each task as a child over Arrow streams."""

from ..command import CommandError as CommandError
from .cells import components as components
from .codes import fingerprint as fingerprint
from .doctor import doctor as doctor
from .index import build_index as build_index
from .index import nearest as nearest
from .near import SimHashModel as SimHashModel
from .near import dedup as dedup
from .near import pairs as pairs
from .stages import Checkpoint as Checkpoint
