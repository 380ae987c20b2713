"""The form of Spark's `MinHashLSH`, for those who know it."""

from __future__ import annotations

import math

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .fingerprint import fingerprint
from .pairs import SETS, pairs


class SimHashModel:
    """Codes of vectors (arrays, or the `vector_to_array` of pyspark.ml) by cosine, or of texts by the
    Jaccard similarity of their pairs of words. There is nothing to fit.

    >>> model = SimHashModel("embedding", "code", bits=256)
    >>> coded = model.transform(rows)
    >>> near = model.approxSimilarityJoin(rows, rows, 0.95)
    """

    def __init__(
        self,
        inputCol: str,
        outputCol: str = "code",
        *,
        id: str = "id",
        bits: int = 256,
        measure: str = "cosine",
    ) -> None:
        if measure not in ("cosine", "jaccard"):
            raise ValueError(f'measure expected cosine or jaccard, got "{measure}"')
        self.inputCol, self.outputCol, self.id = inputCol, outputCol, id
        self.bits, self.measure = bits, measure

    def transform(self, dataset: DataFrame) -> DataFrame:
        """The rows with a column of codes.

        >>> codes = SimHashModel("body", measure="jaccard").transform(pages)
        """
        options = SETS if self.measure == "jaccard" else {}
        made = fingerprint(self.inputCol, bits=self.bits, **options)  # type: ignore[arg-type]
        return dataset.withColumn(self.outputCol, made)

    def approxSimilarityJoin(self, datasetA: DataFrame, datasetB: DataFrame, threshold: float) -> DataFrame:
        """The pairs whose codes estimate a similarity of `threshold` or more: id_a, id_b, distance and
        similarity. A table with itself gives each pair once, and no row with itself. The estimate of
        a cosine c errs by at most some (1 - c²)^½ · 1.6 / √bits; `pairs` compares exactly.

        >>> SimHashModel("embedding").approxSimilarityJoin(today, kept, 0.98).show()
        """
        if not 0 < threshold <= 1:
            raise ValueError(f"threshold expected a similarity above 0 and at most 1, got {threshold}")
        coded = self.transform(datasetA).select(self.id, self.outputCol)
        other = None if datasetB is datasetA else self.transform(datasetB).select(self.id, self.outputCol)
        share = math.acos(threshold) / math.pi if self.measure == "cosine" else (1 - threshold) / 2
        most = math.floor(share * self.bits + 1e-9)
        found = pairs(coded, other, max_distance=most, id=self.id, code=self.outputCol)
        part = F.col("distance") / self.bits
        similarity = F.cos(part * math.pi) if self.measure == "cosine" else 1 - 2 * part
        return found.withColumn("similarity", similarity)
