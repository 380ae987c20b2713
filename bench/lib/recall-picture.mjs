// Recall against speed, as a picture: a line a way, further up and further right is better.

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 150;
const TOP = 48;
const BOTTOM = 56;
const RECALL_TICKS = [0.8, 0.9, 0.95, 0.98, 0.99, 0.995];
const COLORS = ['#0f766e', '#b45309', '#6d28d9'];

/** Queries a second at a recall, between the two points around it; NaN beyond them. */
export function speedAt(points, recall) {
  const sorted = [...points].sort((a, b) => a.recall - b.recall);
  const above = sorted.findIndex((point) => point.recall >= recall);
  if (above <= 0) return Number.NaN;
  const [low, high] = [sorted[above - 1], sorted[above]];
  const share = (far(recall) - far(low.recall)) / (far(high.recall) - far(low.recall));
  return low.perSecond * (high.perSecond / low.perSecond) ** share;
}

/** Recall on a scale on which the last percents are as wide as they are hard. */
function far(recall) {
  return -Math.log(1 - Math.min(recall, 0.9999));
}

/** An SVG of all ways. */
export function recallPicture(engines) {
  const lines = engines.map(({ name, points }) => ({
    name,
    points: points.filter(({ recall }) => recall >= 0.75 && recall < 0.998),
  }));
  const speeds = lines.flatMap(({ points }) => points.map(({ perSecond }) => perSecond));
  const [least, most] = [Math.min(...speeds) / 1.15, Math.max(...speeds) * 1.15];
  const x = scale(far(0.75), far(0.998), LEFT, WIDTH - RIGHT);
  const y = scale(Math.log(least), Math.log(most), HEIGHT - BOTTOM, TOP);
  const speedTicks = [1, 2, 5].flatMap((one) => [100, 1000, 10_000].map((ten) => one * ten));
  const across = RECALL_TICKS.map((recall) => {
    const at = x(far(recall)).toFixed(1);
    return `<path class="grid" d="M${at} ${TOP}V${HEIGHT - BOTTOM}"/>
<text x="${at}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${recall}</text>`;
  });
  const up = speedTicks
    .filter((speed) => speed > least && speed < most)
    .map((speed) => {
      const at = y(Math.log(speed)).toFixed(1);
      return `<path class="grid" d="M${LEFT} ${at}H${WIDTH - RIGHT}"/>
<text x="${LEFT - 8}" y="${Number(at) + 4}" text-anchor="end">${speed.toLocaleString('en')}</text>`;
    });
  const drawn = lines.map(({ name, points }, i) => {
    const places = points.map(({ recall, perSecond }) => [x(far(recall)), y(Math.log(perSecond))]);
    const path = places.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join('L');
    const dots = places.map(
      ([px, py]) => `<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="3.5"/>`,
    );
    const [lastX, lastY] = places[places.length - 1];
    return `<g fill="${COLORS[i]}"><path class="line" stroke="${COLORS[i]}" d="M${path}"/>
${dots.join('')}<text class="name" x="${(lastX + 10).toFixed(1)}" y="${(lastY + 4).toFixed(1)}">${name}</text></g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img"
 aria-label="Queries a second by recall: ${engines.map(({ name }) => name).join(', ')}">
<style>text{font:13px system-ui,sans-serif;fill:#475569}.name{font-weight:600;fill:inherit}
.title{font-size:15px;font-weight:600;fill:#0f172a}.grid{stroke:#cbd5e1;stroke-width:1}
.line{fill:none;stroke-width:2.5}</style>
<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#fff"/>
<text class="title" x="${LEFT}" y="28">Queries a second by recall@10: 340,479 GloVe vectors, one thread</text>
${across.join('\n')}
${up.join('\n')}
${drawn.join('\n')}
<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 14}" text-anchor="middle">recall@10 against exact cosine</text>
</svg>
`;
}

function scale(from, to, start, end) {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}
