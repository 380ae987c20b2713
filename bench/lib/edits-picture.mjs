// Distance by edited words: a panel a kind of tokens, a band a width, and where the usual threshold is.

const PANEL = { width: 196, height: 200 };
const [LEFT, TOP, GAP, BOTTOM] = [64, 96, 30, 58];
const COLORS = ['#b45309', '#0f766e', '#1d4ed8'];
const MOST = 0.5;

/** `curves` has `{ kind, bits, edited, unrelated }` with sorted distances by share. */
export function editsPicture(curves, { shares, usual, length }) {
  const kinds = [...new Set(curves.map(({ kind }) => kind))];
  const widths = [...new Set(curves.map(({ bits }) => bits))];
  const width = LEFT + kinds.length * (PANEL.width + GAP);
  const height = TOP + PANEL.height + BOTTOM;
  const panels = kinds.map((kind, i) => {
    const own = curves.filter((curve) => curve.kind === kind);
    const x = LEFT + i * (PANEL.width + GAP);
    return `<g transform="translate(${x} ${TOP})">${panel(own, { shares, usual, isFirst: i === 0 })}</g>`;
  });
  const keys = widths.map((bits, i) => {
    const x = LEFT + 104 * i;
    return `<path class="line" stroke="${COLORS[i]}" d="M${x} 51h22"/>
<text x="${x + 28}" y="55">${bits} bits</text>`;
  });
  const x = LEFT + 104 * widths.length;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img"
 aria-label="Distance by share of replaced words: ${kinds.join(', ')}">
<style>text{font:13px system-ui,sans-serif;fill:#475569}.title{font-size:15px}
.title,.kind{font-weight:600;fill:#0f172a}.grid{stroke:#cbd5e1;stroke-width:1}
.line{fill:none;stroke-width:2.5}.band{opacity:.14}
.usual{stroke:#be123c;stroke-width:1.5;stroke-dasharray:5 4}
.other{stroke:#64748b;stroke-width:1.5;stroke-dasharray:2 4}</style>
<rect width="${width}" height="${height}" rx="8" fill="#fff"/>
<text class="title" x="${LEFT}" y="28">Differing share of bits by replaced words, ${length} words: mean and 5 to 95 %</text>
${keys.join('\n')}
<path class="usual" d="M${x} 51h22"/><text x="${x + 28}" y="55">3 of 64</text>
<path class="other" d="M${x + 104} 51h22"/><text x="${x + 132}" y="55">unrelated, mean</text>
${panels.join('\n')}
<text x="${(LEFT + width - GAP) / 2}" y="${height - 12}" text-anchor="middle">words replaced</text>
</svg>
`;
}

function panel(curves, { shares, usual, isFirst }) {
  const { width, height } = PANEL;
  const last = shares.at(-1);
  const x = (share) => ((width * share) / last).toFixed(1);
  const y = (part) => (height * (1 - part / MOST)).toFixed(1);
  const across = [0, 0.05, 0.1, 0.15, 0.2].map((share) => {
    const label =
      share === 0
        ? ''
        : `<text x="${x(share)}" y="${height + 18}" text-anchor="middle">${Math.round(100 * share)} %</text>`;
    return `<path class="grid" d="M${x(share)} 0V${height}"/>${label}`;
  });
  const up = [0, 0.1, 0.2, 0.3, 0.4, 0.5].map((part) => {
    const line = `<path class="grid" d="M0 ${y(part)}H${width}"/>`;
    if (!isFirst) return line;
    return `${line}<text x="-8" y="${Number(y(part)) + 4}" text-anchor="end">${part}</text>`;
  });
  const bands = curves.map(({ bits, edited }, i) => {
    const quantile = (distances, share) =>
      distances[Math.ceil(share * distances.length) - 1] / bits;
    const along = (value) => [
      `0.0 ${y(0)}`,
      ...shares.map((share, j) => `${x(share)} ${y(value(edited[j]))}`),
    ];
    const low = along((distances) => quantile(distances, 0.05));
    const high = along((distances) => quantile(distances, 0.95));
    const middle = along((distances) => mean(distances) / bits);
    return `<path class="band" fill="${COLORS[i]}" d="M${low.join('L')}L${high.reverse().join('L')}Z"/>
<path class="line" stroke="${COLORS[i]}" d="M${middle.join('L')}"/>`;
  });
  const unrelated = y(mean(curves.at(-1).unrelated) / curves.at(-1).bits);
  return [
    `<text class="kind" x="0" y="-12">${curves[0].kind}</text>`,
    ...[...across, ...up, ...bands],
    `<path class="usual" d="M0 ${y(usual)}H${width}"/>`,
    `<path class="other" d="M0 ${unrelated}H${width}"/>`,
  ].join('\n');
}

function mean(numbers) {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}
