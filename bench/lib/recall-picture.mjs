// Speed by recall, between measured points, and as a picture: a line an engine.

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 130;
const TOP = 60;
const BOTTOM = 56;
const LINE_HEIGHT = 16;
const RECALL_TICKS = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995];
/** A color an engine, the same in all pictures. */
const COLORS = {
  halfspace: '#0f766e',
  ScaNN: '#b45309',
  'FAISS IVF-PQ': '#be185d',
  'FAISS HNSW16': '#2563eb',
  'FAISS HNSW32': '#60a5fa',
  'hnswlib-node': '#6d28d9',
  hnswlib: '#a855f7',
  usearch: '#64748b',
};

/** An SVG of `{ name, points }` of each engine; those without points are left out. */
export function recallPicture(engines, title) {
  const lines = engines
    .map(({ name, points }) => ({
      name,
      points: points.filter(({ recall }) => recall >= 0.75 && recall < 0.998),
    }))
    .filter(({ points }) => points.length > 0);
  const speeds = lines.flatMap(({ points }) => points.map(({ perSecond }) => perSecond));
  const [low, high] = [Math.min(...speeds) / 1.15, Math.max(...speeds) * 1.15];
  const x = scale(stretched(0.75), stretched(0.998), LEFT, WIDTH - RIGHT);
  const y = scale(Math.log(low), Math.log(high), HEIGHT - BOTTOM, TOP);
  const speedTicks = [1, 2, 5].flatMap((one) => [100, 1000, 10_000].map((ten) => one * ten));
  const across = RECALL_TICKS.map((recall) => {
    const at = x(stretched(recall)).toFixed(1);
    return `<path class="grid" d="M${at} ${TOP}V${HEIGHT - BOTTOM}"/>
<text x="${at}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${recall}</text>`;
  });
  const up = speedTicks
    .filter((speed) => speed > low && speed < high)
    .map((speed) => {
      const at = y(Math.log(speed)).toFixed(1);
      return `<path class="grid" d="M${LEFT} ${at}H${WIDTH - RIGHT}"/>
<text x="${LEFT - 8}" y="${Number(at) + 4}" text-anchor="end">${speed.toLocaleString('en')}</text>`;
    });
  const placed = lines.map(({ name, points }) => ({
    name,
    places: points.map(({ recall, perSecond }) => [x(stretched(recall)), y(Math.log(perSecond))]),
  }));
  const labels = labelHeights(placed.map(({ places }) => places[places.length - 1][1]));
  const drawn = placed.map((one, i) => curve(one, labels[i]));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img"
 aria-label="Queries a second by recall: ${lines.map(({ name }) => name).join(', ')}">
<style>text{font:13px system-ui,sans-serif;fill:#475569}.name{font-weight:600;fill:inherit}
.title{font-size:15px;font-weight:600;fill:#0f172a}.grid{stroke:#cbd5e1;stroke-width:1}
.line{fill:none;stroke-width:2.5}</style>
<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#fff"/>
<text class="title" x="${LEFT}" y="24">${title}</text>
${across.join('\n')}
${up.join('\n')}
${drawn.join('\n')}
<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 14}" text-anchor="middle">recall@10 against exact cosine</text>
<text x="${LEFT}" y="${TOP - 6}">queries a second, one thread</text>
</svg>
`;
}

function curve({ name, places }, labelY) {
  const path = places.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join('L');
  const dots = places.map(
    ([px, py]) => `<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="3"/>`,
  );
  return `<g fill="${COLORS[name]}"><path class="line" stroke="${COLORS[name]}" d="M${path}"/>
${dots.join('')}<text class="name" x="${WIDTH - RIGHT + 10}" y="${labelY.toFixed(1)}">${name}</text></g>`;
}

/** Heights of the names in the margin: next to the ends of their lines, and far enough apart. */
function labelHeights(ends) {
  const order = ends.map((_, i) => i).sort((a, b) => ends[a] - ends[b]);
  const heights = [];
  let free = TOP;
  order.forEach((i, rank) => {
    const lowest = HEIGHT - BOTTOM - LINE_HEIGHT * (ends.length - 1 - rank);
    heights[i] = Math.min(Math.max(ends[i] + 4, free), lowest);
    free = heights[i] + LINE_HEIGHT;
  });
  return heights;
}

function scale(from, to, start, end) {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

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
function stretched(recall) {
  return -Math.log(1 - Math.min(recall, 0.9999));
}
