/** A chart by uPlot: lines, bars, points, or a band with lines, in the colours of the theme. */

import uPlot from 'uplot';
import { cssOf, palette } from './colours';
import { percentText, short } from './format';
import type { Chart } from './messages';

/** Pixels. */
const HEIGHT = 300;

/** An element with a chart, which is drawn again when the element's width or the theme changes. */
export class Plot {
  readonly element = document.createElement('div');
  readonly #chart: Chart;
  /** Null until the element has a width. */
  #plot: uPlot | null = null;

  constructor(chart: Chart) {
    this.#chart = chart;
    this.element.className = 'plot';
    this.element.setAttribute('role', 'img');
    this.element.setAttribute('aria-label', chart.description);
    new ResizeObserver(() => this.#resize()).observe(this.element);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#make());
  }

  /** Draws at the element's width; an element that is not on the page has none, and waits. */
  #resize(): void {
    const { clientWidth: width } = this.element;
    if (width === 0) return;
    if (this.#plot === null) this.#make();
    else this.#plot.setSize({ width, height: HEIGHT });
  }

  /** Makes the chart, in place of the one before: its options have the colours of the theme. */
  #make(): void {
    this.#plot?.destroy();
    const { x, series } = this.#chart;
    const data = [[...x], ...series.map(({ y }) => [...y])] as uPlot.AlignedData;
    this.#plot = new uPlot(this.#options(), data, this.element);
  }

  /** The chart for uPlot: scales, axes, series, and a hook that draws the mark. */
  #options(): uPlot.Options {
    const { kind, xLabel, yLabel, isLogX, isLogY, isShare, series } = this.#chart;
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = ['--soft', '--line'].map((name) => style.getPropertyValue(name));
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
    const axis = (label: string, size: number): uPlot.Axis => ({
      ...{
        label,
        stroke: ink,
        labelSize: 24,
        size,
        font: '12px system-ui',
        labelFont: '12px system-ui',
      },
      ...{ grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } },
    });
    return {
      ...{ width: this.element.clientWidth, height: HEIGHT },
      cursor: { drag: { x: false, y: false } },
      scales: {
        // `distr` 3 is a logarithmic scale, 1 a linear one.
        x: { time: false, distr: isLogX ? 3 : 1 },
        y: {
          distr: isLogY ? 3 : 1,
          // Bars begin at 0, and the highest one ends below the top.
          ...(kind === 'bars' && { range: (_, __, most) => [0, most * 1.05] }),
          // At least 0.95..1, so that small differences near 1 look small; and nothing above 1.
          ...(kind === 'lines' &&
            isShare && { range: (_, least) => [Math.min(least, 0.95), 1.002] }),
        },
      },
      axes: [
        axis(xLabel, 40),
        { ...axis(yLabel, 58), values: (_, ticks) => ticks.map((tick) => textOf(tick, isShare)) },
      ],
      series: [
        { label: xLabel, value: (_, value) => textOf(value) },
        ...series.map((one, i) => seriesOf(one, { kind, i, isDark, isShare })),
      ],
      // uPlot counts x as series 0, so the edges of a band are its series 1 and 2.
      ...(kind === 'band' && { bands: [{ series: [2, 1], fill: shade(isDark, 0, 0.18) }] }),
      hooks: { draw: [(plot) => this.#mark(plot, ink)] },
    };
  }

  /** Draws a dashed line at the value of x that is marked, with its name; none if out of view. */
  #mark(plot: uPlot, ink: string): void {
    const { mark } = this.#chart;
    if (!mark) return;
    const { ctx: context, bbox } = plot;
    const at = plot.valToPos(mark[0], 'x', true);
    if (at < bbox.left || at > bbox.left + bbox.width) return;
    const ratio = devicePixelRatio || 1;
    context.save();
    context.strokeStyle = ink;
    context.fillStyle = ink;
    context.setLineDash([4 * ratio, 4 * ratio]);
    context.lineWidth = 1.5 * ratio;
    context.beginPath();
    context.moveTo(at, bbox.top);
    context.lineTo(at, bbox.top + bbox.height);
    context.stroke();
    context.font = `${12 * ratio}px system-ui`;
    const isRight = at > bbox.left + bbox.width * 0.8;
    context.textAlign = isRight ? 'right' : 'left';
    context.fillText(mark[1], at + (isRight ? -6 : 6) * ratio, bbox.top + 24 * ratio);
    context.restore();
  }
}

/** A value on an axis or in the key of the chart; a share as per cent. */
const textOf = (value: number | null | undefined, isShare = false) =>
  value === null || value === undefined ? '' : isShare ? percentText(value) : short(value);

/** Colour i of the palette in CSS, with an opacity; after the last colour comes the first. */
function shade(isDark: boolean, i: number, alpha: number): string {
  const colours = palette(isDark);
  return cssOf(colours[i % colours.length]).replace(')', ` / ${alpha})`);
}

/** How a series is drawn. */
interface Look extends Pick<Chart, 'kind' | 'isShare'> {
  /** The number of the series, from 0. */
  readonly i: number;
  readonly isDark: boolean;
}

/** A series for uPlot. */
function seriesOf(
  { name, look }: Chart['series'][number],
  { kind, i, isDark, isShare }: Look,
): uPlot.Series {
  // The first two series of a band are its edges and share the first colour, as thin lines.
  const colour = kind === 'band' ? Math.max(0, i - 1) : i;
  const isEdge = kind === 'band' && i < 2;
  const bars = uPlot.paths.bars?.({ size: [0.9, 40] });
  return {
    ...{ label: name, spanGaps: true, width: isEdge ? 1 : 2 },
    stroke: shade(isDark, isEdge ? 0 : colour, isEdge ? 0.5 : 1),
    value: (_, value) => textOf(value, isShare),
    ...(kind === 'bars' && { fill: shade(isDark, colour, 0.35), paths: bars }),
    points: { show: kind === 'points', size: 8, fill: shade(isDark, colour, 1) },
    ...(look === 'dots' && { paths: () => null }),
    ...(look === 'dashed' && { dash: [6, 5] }),
  };
}
