// Precision and recall by threshold: a column of panels a set of texts, a row of panels a width.

const PANEL = { width: 212, height: 150 };
const [LEFT, TOP, GAP_X, GAP_Y, BOTTOM] = [74, 74, 22, 56, 44];
const LINES = [
  { key: 'precision', color: '#1d4ed8' },
  { key: 'recall', color: '#b45309' },
];

/** `curves` has `{ set, bits, points }`, each point `{ maxDistance, precision, recall }`. */
export function duplicatesPicture(curves) {
  const sets = [...new Set(curves.map(({ set }) => set))];
  const widths = [...new Set(curves.map(({ bits }) => bits))];
  const width = LEFT + sets.length * (PANEL.width + GAP_X);
  const height = TOP + widths.length * PANEL.height + (widths.length - 1) * GAP_Y + BOTTOM;
  const panels = curves.map((curve) => {
    const x = LEFT + sets.indexOf(curve.set) * (PANEL.width + GAP_X);
    const y = TOP + widths.indexOf(curve.bits) * (PANEL.height + GAP_Y);
    return `<g transform="translate(${x} ${y})">${panel(curve, x === LEFT, y === TOP)}</g>`;
  });
  const keys = LINES.map(({ key, color }, i) => {
    const x = width - GAP_X - 190 + 100 * i;
    return `<path class="line" stroke="${color}" d="M${x} 23h22"/>
<text x="${x + 28}" y="27">${key}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img"
 aria-label="Precision and recall of pairs by threshold: ${sets.join(', ')}">
<style>text{font:13px system-ui,sans-serif;fill:#475569}.title{font-size:15px}
.title,.set{font-weight:600;fill:#0f172a}.grid{stroke:#cbd5e1;stroke-width:1}
.line{fill:none;stroke-width:2.5}</style>
<rect width="${width}" height="${height}" rx="8" fill="#fff"/>
<text class="title" x="${LEFT}" y="28">Near-duplicate pairs by threshold</text>
${keys.join('\n')}
${panels.join('\n')}
<text x="${(LEFT + width - GAP_X) / 2}" y="${height - 8}" text-anchor="middle">most differing bits</text>
</svg>
`;
}

function panel({ set, bits, points }, isFirstColumn, isFirstRow) {
  const { width, height } = PANEL;
  const most = points.at(-1).maxDistance;
  const x = (maxDistance) => ((width * maxDistance) / most).toFixed(1);
  const y = (share) => (height * (1 - share)).toFixed(1);
  const across = [0, 1, 2, 3, 4].map((quarter) => {
    const at = x((most * quarter) / 4);
    return `<path class="grid" d="M${at} 0V${height}"/>
<text x="${at}" y="${height + 18}" text-anchor="middle">${(most * quarter) / 4}</text>`;
  });
  const up = [0, 0.5, 1].map((share) => {
    const line = `<path class="grid" d="M0 ${y(share)}H${width}"/>`;
    if (!isFirstColumn) return line;
    return `${line}<text x="-8" y="${Number(y(share)) + 4}" text-anchor="end">${share}</text>`;
  });
  const drawn = LINES.map(({ key, color }) => {
    const places = points.map((point) => `${x(point.maxDistance)} ${y(point[key])}`);
    return `<path class="line" stroke="${color}" d="M${places.join('L')}"/>`;
  });
  const heading = isFirstRow ? `<text class="set" x="0" y="-12">${set}</text>` : '';
  const side = isFirstColumn
    ? `<text transform="translate(-48 ${height / 2}) rotate(-90)" text-anchor="middle">${bits} bits</text>`
    : '';
  return [heading, side, ...across, ...up, ...drawn].join('\n');
}
