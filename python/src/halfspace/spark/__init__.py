"""halfspace on Apache Spark. Spark shuffles, retries and writes; what computes is the command, which
runs in each task as a child over Arrow streams."""

from ..command import CommandError as CommandError
from .components import components as components
from .doctor import doctor as doctor
from .fingerprint import fingerprint as fingerprint
from .groups import dedup as dedup
from .index import build_index as build_index
from .index import nearest as nearest
from .model import SimHashModel as SimHashModel
from .pairs import pairs as pairs
from .stages import Checkpoint as Checkpoint
