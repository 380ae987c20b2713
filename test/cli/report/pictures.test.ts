import { describe, expect, it } from 'vitest';
import { excerpt, fixed, percent, plain } from '../../../src/cli/output/figures';
import {
  band,
  bars,
  chart,
  dots,
  line,
  linearScale,
  logScale,
  notes,
} from '../../../src/cli/report/chart';
import { escaped, page, table } from '../../../src/cli/report/page';
import { Draws } from '../../reference/random';

const countOf = (text: string, part: RegExp) => text.match(part)?.length ?? 0;

describe('a scale', () => {
  it('ticks at multiples of 1, 2 or 5 times a power of ten, within its ends', () => {
    const draws = new Draws('scales');
    for (let i = 0; i < 300; i++) {
      const from = (draws.uniform() - 0.5) * 10 ** draws.integer(3);
      const scale = linearScale(from, from + draws.uniform() * 10 ** (draws.integer(6) - 1) + 1e-2);
      expect(scale.ticks.length).toBeGreaterThanOrEqual(2);
      expect(scale.ticks.length).toBeLessThanOrEqual(14);
      const step = scale.ticks[1].value - scale.ticks[0].value;
      expect(['1', '2', '5']).toContain(step.toExponential(4).replace(/\.?0*e.*/, ''));
      for (const { value } of scale.ticks) {
        expect(value).toBeGreaterThanOrEqual(scale.from - 1e-6 * step);
        expect(value).toBeLessThanOrEqual(scale.to + 1e-6 * step);
        expect(Math.abs(value / step - Math.round(value / step))).toBeLessThan(1e-6);
      }
    }
  });

  it('puts its ends at the ends, the middle in the middle, and what is beyond on an end', () => {
    const linear = linearScale(10, 30);
    expect([10, 20, 30, -5, 99].map(linear.at)).toEqual([0, 0.5, 1, 0, 1]);
    const log = logScale(1, 10_000);
    expect(log.at(100)).toBeCloseTo(0.5, 12);
    expect([1, 10_000, 0.1, 1e9].map(log.at)).toEqual([0, 1, 0, 1]);
    expect(log.ticks.map(({ label }) => label)).toEqual([
      '1',
      '3',
      '10',
      '30',
      '100',
      '300',
      '1,000',
      '3,000',
      '10,000',
    ]);
    expect(logScale(4000, 9000).ticks.map(({ value }) => value)).toEqual([5000, 7000]);
  });

  it('has room also where all values are one', () => {
    expect(linearScale(3, 3).at(3)).toBe(0);
    expect(logScale(5, 5).ticks.length).toBeGreaterThan(1);
  });
});

describe('a chart', () => {
  const x = { scale: linearScale(0, 10), label: 'x' };
  const y = { scale: linearScale(0, 1), label: 'y' };
  const drawn = (marks: Parameters<typeof chart>[0]['marks']) =>
    chart({ name: 'one', title: 'A & B', description: 'Two <things>', marks, x, y });

  it('has a mark for each thing that is told, and none for an empty bar', () => {
    const points = [1, 2, 3].map((value) => ({ x: value, y: value / 10, title: `at ${value}` }));
    const svg = drawn([
      dots(points, { colour: 0 }),
      line(points, { colour: 1 }),
      band(
        points.map(({ x }) => ({ x, low: 0.1, high: 0.4 })),
        { colour: 2 },
      ),
      bars(
        [0.5, 0, 0.25].map((y, i) => ({ from: i, to: i + 1, y })),
        { colour: 3 },
      ),
      notes(points.map((point) => ({ ...point, text: 'here' }))),
    ]);
    expect(countOf(svg, /<circle class="dot c0"/g)).toBe(3);
    expect(countOf(svg, /<title>at \d<\/title>/g)).toBe(3);
    expect(countOf(svg, /<path class="line c1"/g)).toBe(1);
    expect(countOf(svg, /<path class="area c2"/g)).toBe(1);
    expect(countOf(svg, /<rect class="area bar c3"/g)).toBe(2);
    expect(countOf(svg, /class="note"/g)).toBe(3);
  });

  it('puts a dot where its values say', () => {
    const svg = drawn([
      dots(
        [
          { x: 0, y: 0 },
          { x: 10, y: 1 },
        ],
        { colour: 0 },
      ),
    ]);
    const [, left, top, width, height] = (
      svg.match(/class="frame" x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"/) ?? []
    ).map(Number);
    const places = [...svg.matchAll(/cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, cx, cy]) => [
      +cx,
      +cy,
    ]);
    expect(places).toEqual([
      [left, top + height],
      [left + width, top],
    ]);
  });

  it('has a name and a description, escaped', () => {
    const svg = drawn([]);
    expect(svg).toContain('<title id="one-title">A &amp; B</title>');
    expect(svg).toContain('<desc id="one-description">Two &lt;things&gt;</desc>');
    expect(svg).toContain('role="img" aria-labelledby="one-title one-description"');
  });

  it('names in its key the marks that have a name', () => {
    const points = [{ x: 1, y: 1 }];
    const svg = drawn([line(points, { name: 'a<b', colour: 0 }), dots(points, { colour: 1 })]);
    expect(svg).toContain('>a&lt;b</text>');
    expect(countOf(svg, /y="24"/g)).toBe(1);
  });
});

describe('text of users', () => {
  const wild = `<script>alert(1)</script> & "both" 'kinds'\u0000\u0007\ud800`;

  it('is escaped, and rid of what no page may hold', () => {
    expect(escaped(wild)).toBe(
      '&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;both&quot; &#39;kinds&#39;\ufffd\ufffd\ufffd',
    );
    for (const text of [page(wild, []), table([wild], [[wild]])]) {
      expect(text).not.toContain('<script');
    }
  });

  it('is cut between characters, with a sign that it was', () => {
    expect(excerpt(' two\n words ', 20)).toBe('two words');
    expect(excerpt('𝒳𝒳𝒳𝒳', 4)).toBe('𝒳𝒳𝒳𝒳');
    expect(excerpt('𝒳𝒳𝒳𝒳𝒳', 4)).toBe('𝒳𝒳𝒳…');
    expect(Array.from(excerpt('word '.repeat(1e5), 10))).toHaveLength(10);
  });
});

it('numbers read the same everywhere', () => {
  expect([fixed(-0.001), fixed(-0.25), fixed(1 / 3, 3)]).toEqual(['0.00', '−0.25', '0.333']);
  expect([plain(1234567), plain(0.1 + 0.2), plain(-2)]).toEqual(['1,234,570', '0.3', '−2']);
  expect([0, 0.00001, 0.004, 0.5, 0.9999, 1].map(percent)).toEqual([
    '0 %',
    '< 0.01 %',
    '0.40 %',
    '50.0 %',
    '> 99.9 %',
    '100 %',
  ]);
});
