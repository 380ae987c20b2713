// Points of a plane in the colours of their groups, a panel a grouping: kept rows are rings, lines
// lead from the others to the row that they duplicate. Readable on light and on dark.

const PANEL = 260;
const MARGIN = 16;
const TITLE = 30;
/** Distinct without red and green (Okabe & Ito 2008). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c6bb1'];
const ALONE = '#8b8b8b';

export function groupingsPicture(points, side, groupings) {
  const width = groupings.length * PANEL + (groupings.length + 1) * MARGIN;
  const height = PANEL + TITLE + 2 * MARGIN;
  const panels = groupings.map((one, i) => panel(points, side, one, MARGIN + i * (PANEL + MARGIN)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img"`,
    ' aria-label="The same points as stars and components"',
    ' font-family="system-ui, sans-serif" font-size="14" fill="#777">',
    ...panels,
    '</svg>\n',
  ].join('\n');
}

function panel(points, side, { grouping, groups }, left) {
  const place = ([x, y]) => [
    (left + (x / side) * PANEL).toFixed(1),
    (MARGIN + TITLE + (1 - y / side) * PANEL).toFixed(1),
  ];
  const colourOf = new Map();
  const lines = [];
  groups.forEach(({ rows, kept }, i) => {
    for (const row of rows) {
      colourOf.set(row, COLOURS[i % COLOURS.length]);
      const [[x1, y1], [x2, y2]] = [place(points[row]), place(points[kept])];
      const colour = COLOURS[i % COLOURS.length];
      lines.push(`<path d="M${x1} ${y1}L${x2} ${y2}" stroke="${colour}" opacity="0.35"/>`);
    }
  });
  const keptRows = new Set(groups.map(({ kept }) => kept));
  const dots = points.map((point, row) => {
    const [x, y] = place(point);
    const colour = colourOf.get(row) ?? ALONE;
    if (!keptRows.has(row)) return `<circle cx="${x}" cy="${y}" r="3.5" fill="${colour}"/>`;
    return `<circle cx="${x}" cy="${y}" r="6" fill="none" stroke="${colour}" stroke-width="2.5"/>`;
  });
  const box = `x="${left}" y="${MARGIN + TITLE}" width="${PANEL}" height="${PANEL}"`;
  const title = `${grouping}: ${groups.length} groups, widest ${Math.max(...groups.map(({ widest }) => widest))}`;
  return [
    `<rect ${box} fill="none" stroke="#777" opacity="0.5"/>`,
    `<text x="${left}" y="${MARGIN + 18}">${title}</text>`,
    ...lines,
    ...dots,
  ].join('\n');
}
