import { useEffect, useRef, useState } from 'react'
import UPlot from 'uplot'
import { splitLast, stackedUp, ticksTo, timeLabels, type Series, type Span } from './chart-data.ts'

/** A thin line at a time at which something changed. */
export interface Mark {
  readonly at: number
  readonly label: string
}

/** What one plot draws. Times are in seconds. */
export interface Drawing {
  readonly times: readonly number[]
  /** Length of a cell. */
  readonly step: number
  readonly range: Span
  readonly series: readonly Series[]
  readonly isStacked: boolean
  /** The last cell is not over: it is drawn dashed. */
  readonly isPartial: boolean
  readonly gaps: readonly Span[]
  readonly marks: readonly Mark[]
  readonly format: (value: number) => string
}

/** Plots of a page move their crosshairs together. */
const SYNC = 'edged'
const GAP_TEXT_PIXELS = 90
const AXIS_FONT = '12px system-ui, sans-serif'
const Y_AXIS_PIXELS = 56
const X_AXIS_PIXELS = 40
const X_LABEL_PIXELS = 64
const FILL = '2e'

/** Draws lines over time. `onHover`: the cell below the pointer, or undefined. `onRange`: the user has dragged over a range. */
export function Plot({
  drawing,
  height,
  onHover,
  onRange,
}: {
  drawing: Drawing
  height: number
  onHover: (cell: { at: number; left: number } | undefined) => void
  onRange: (span: Span) => void
}) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const latest = useRef({ drawing, onHover, onRange })
  latest.current = { drawing, onHover, onRange }
  const theme = useThemeCount()
  const shape = drawing.series.map(({ key, color }) => key + color).join()
  useEffect(() => {
    const element = place.current!
    const made = new UPlot(optionsOf(element, height, latest), dataOf(drawing), element)
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    return () => {
      resized.disconnect()
      made.destroy()
    }
    // The data follows in the next effect.
  }, [shape, drawing.isStacked, height, theme])
  useEffect(() => plot.current?.setData(dataOf(drawing)), [drawing])
  return <div ref={place} style={{ height }} />
}

/** Counts the changes of the theme. Canvases have the colours of the time when they were drawn. */
function useThemeCount(): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const changed = (): void => setCount((old) => old + 1)
    const system = matchMedia('(prefers-color-scheme: dark)')
    addEventListener('themechange', changed)
    system.addEventListener('change', changed)
    return () => {
      removeEventListener('themechange', changed)
      system.removeEventListener('change', changed)
    }
  }, [])
  return count
}

const SHADES = document.createElement('canvas').getContext('2d')!

/** Returns a colour of the style sheet as `#rrggbb`. */
function colorOf(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  document.body.append(probe)
  SHADES.fillStyle = getComputedStyle(probe).color
  probe.remove()
  return SHADES.fillStyle
}

/** The times, then the solid lines of all series, then their dashed ends. Stacked ones are drawn from the top down. */
function dataOf({ times, series, isStacked, isPartial }: Drawing): UPlot.AlignedData {
  const values = series.map((one) => one.values)
  const lines = (isStacked ? stackedUp(values) : values).map((line) => splitLast(line, isPartial))
  if (isStacked) lines.reverse()
  return [times, ...lines.map(([solid]) => solid), ...lines.map(([, dashed]) => dashed)] as UPlot.AlignedData
}

interface Latest {
  readonly drawing: Drawing
  readonly onHover: (cell: { at: number; left: number } | undefined) => void
  readonly onRange: (span: Span) => void
}

function optionsOf(element: HTMLElement, height: number, latest: { readonly current: Latest }): UPlot.Options {
  const { series, isStacked } = latest.current.drawing
  const [soft, line, text] = ['--soft', '--line', '--text'].map(colorOf) as [string, string, string]
  const drawn = isStacked ? series.toReversed() : series
  const colors = drawn.map(({ color }) => colorOf(color))
  let isHere = false
  return {
    width: element.clientWidth,
    height,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      sync: { key: SYNC },
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false },
      bind: {
        mouseenter: () => (event) => {
          isHere = true
          void event
          return null
        },
        mouseleave: (plot, _target, handler) => (event) => {
          isHere = false
          latest.current.onHover(undefined)
          void plot
          return handler(event)
        },
      },
    },
    series: [
      {},
      ...colors.map((color) => ({
        stroke: color,
        width: isStacked ? 1 : 1.75,
        ...(isStacked && { fill: color + FILL }),
        points: { show: true, size: 4, fill: color, filter: alonePoints },
      })),
      ...colors.map((color) => ({ stroke: color, width: 1.5, dash: [4, 3], points: { show: false } })),
    ],
    // Each area ends at the one below.
    bands: isStacked ? colors.slice(1).map((_, at) => ({ series: [at + 1, at + 2] as UPlot.Band.Bounds })) : [],
    axes: [
      {
        stroke: soft,
        font: AXIS_FONT,
        size: X_AXIS_PIXELS,
        space: X_LABEL_PIXELS,
        grid: { show: false },
        ticks: { stroke: line, width: 1, size: 4 },
        values: (plot, splits) => [...timeLabels(splits, plot.scales['x']!.max! - plot.scales['x']!.min!)],
      },
      {
        stroke: soft,
        font: AXIS_FONT,
        size: Y_AXIS_PIXELS,
        grid: { stroke: line, width: 1 },
        ticks: { show: false },
        splits: (plot) => [...ticksTo(plot.scales['y']!.max!)],
        values: (_plot, splits) => splits.map((value) => latest.current.drawing.format(value)),
      },
    ],
    scales: {
      x: { time: true, range: () => [latest.current.drawing.range.from, latest.current.drawing.range.to] },
      y: { range: (_plot, _least, most) => [0, ticksTo(most).at(-1)!] },
    },
    hooks: {
      drawAxes: [(plot) => drawBands(plot, latest.current.drawing, { band: line, text: soft })],
      draw: [(plot) => drawMarks(plot, latest.current.drawing.marks, text)],
      setCursor: [
        (plot) => {
          const { idx, left } = plot.cursor
          if (isHere && idx != null && left !== undefined && left >= 0)
            latest.current.onHover({ at: idx, left: left + Y_AXIS_PIXELS })
        },
      ],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          if (width < 4) return
          const span = { from: plot.posToVal(left, 'x'), to: plot.posToVal(left + width, 'x') }
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          if (isHere) latest.current.onRange(span)
        },
      ],
    },
  }
}

/** Cells between two gaps have no line, so they are points. */
function alonePoints(plot: UPlot, series: number): number[] {
  const values = plot.data[series]!
  const found: number[] = []
  for (let at = 0; at < values.length; at++)
    if (values[at] != null && values[at - 1] == null && values[at + 1] == null) found.push(at)
  return found
}

function drawBands(plot: UPlot, { gaps }: Drawing, { band, text }: { band: string; text: string }): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`
  ctx.textAlign = 'center'
  for (const { from, to } of gaps) {
    const left = Math.max(plot.valToPos(from, 'x', true), bbox.left)
    const right = Math.min(plot.valToPos(to, 'x', true), bbox.left + bbox.width)
    if (right <= left) continue
    ctx.globalAlpha = 0.4
    ctx.fillStyle = band
    ctx.fillRect(left, bbox.top, right - left, bbox.height)
    if (right - left < GAP_TEXT_PIXELS * devicePixelRatio) continue
    ctx.globalAlpha = 1
    ctx.fillStyle = text
    ctx.fillText('not running', (left + right) / 2, bbox.top + bbox.height / 2)
  }
  ctx.restore()
}

function drawMarks(plot: UPlot, marks: readonly Mark[], color: string): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = color
  ctx.globalAlpha = 0.45
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([2 * devicePixelRatio, 2 * devicePixelRatio])
  for (const { at } of marks) {
    const x = Math.round(plot.valToPos(at, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}
