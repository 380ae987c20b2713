// A reliability diagram: what searches say to have found against what they found, a square a bin.

const SIZE = 420;
const LEFT = 60;
const TOP = 44;
const BOTTOM = 50;
const RIGHT = 130;
const COLORS = ['#0f766e', '#b45309', '#2563eb', '#be185d'];

/** An SVG of `{ name, bins }` of each data set; bins of fewer than `enough` queries are pale. */
export function doubtPicture(sets, enough) {
  const [width, height] = [LEFT + SIZE + RIGHT, TOP + SIZE + BOTTOM];
  const x = (share) => (LEFT + SIZE * share).toFixed(1);
  const y = (share) => (TOP + SIZE * (1 - share)).toFixed(1);
  const grid = [0, 0.2, 0.4, 0.6, 0.8, 1].map(
    (share) => `<path class="grid" d="M${x(share)} ${y(0)}V${y(1)}M${x(0)} ${y(share)}H${x(1)}"/>
<text x="${x(share)}" y="${TOP + SIZE + 18}" text-anchor="middle">${share}</text>
<text x="${LEFT - 8}" y="${Number(y(share)) + 4}" text-anchor="end">${share}</text>`,
  );
  const dots = sets.flatMap(({ bins }, i) =>
    bins
      .filter(({ queries }) => queries > 0)
      .map(({ queries, said, found }) => {
        const opacity = queries < enough ? 0.25 : 1;
        const at = `cx="${x(said / queries)}" cy="${y(found / queries)}"`;
        return `<circle ${at} r="5" fill="${COLORS[i % COLORS.length]}" opacity="${opacity}"/>`;
      }),
  );
  const names = sets.map(
    ({ name }, i) => `<circle cx="${LEFT + SIZE + 20}" cy="${TOP + 20 + 22 * i}" r="5"
 fill="${COLORS[i % COLORS.length]}"/><text x="${LEFT + SIZE + 32}" y="${TOP + 24 + 22 * i}">${name}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img"
 aria-label="Share found by share that searches say to have found: ${sets.map(({ name }) => name).join(', ')}">
<style>text{font:13px system-ui,sans-serif;fill:#475569}.title{font-size:15px;font-weight:600;fill:#0f172a}
.grid{stroke:#cbd5e1;fill:none}.even{stroke:#0f172a;stroke-dasharray:4 4}</style>
<rect width="${width}" height="${height}" fill="#fff"/>
<text class="title" x="${LEFT}" y="26">What searches say to have found, and what they found</text>
${grid.join('\n')}
<path class="even" d="M${x(0)} ${y(0)}L${x(1)} ${y(1)}"/>
${dots.join('\n')}
${names.join('\n')}
<text x="${LEFT + SIZE / 2}" y="${TOP + SIZE + 38}" text-anchor="middle">expected share of the 10 nearest</text>
</svg>
`;
}
