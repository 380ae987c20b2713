// Speed at a recall, between measured points.

export const RECALLS = [0.9, 0.95, 0.99];

/**
 * Queries a second at a recall, between the two points around it. Below the first point, its speed:
 * an engine that finds more cannot be slower at less. NaN above the last.
 */
export function speedAt(points, recall) {
  const sorted = [...points].sort((a, b) => a.recall - b.recall);
  const above = sorted.findIndex((point) => point.recall >= recall);
  if (above === -1) return Number.NaN;
  if (above === 0) return sorted[0].perSecond;
  const [low, high] = [sorted[above - 1], sorted[above]];
  const fraction =
    (stretched(recall) - stretched(low.recall)) / (stretched(high.recall) - stretched(low.recall));
  return low.perSecond * (high.perSecond / low.perSecond) ** fraction;
}

/** Recall on a scale on which the last percents are as wide as they are hard. */
export function stretched(recall) {
  return -Math.log(1 - Math.min(recall, 0.9999));
}
