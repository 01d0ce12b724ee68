import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'

/** One line of a plot. */
export interface Line {
  readonly label: string
  /** Variable of the style sheet. */
  readonly color: string
  readonly values: readonly number[]
}

const HEIGHT = 220
/** Minimum seconds between the ends of the axis. */
const MIN_SPAN = 600

/** Returns the ends of the axis. For the first point alone, uPlot's own are years apart. */
const spanOf = ({ data: [times] }: UPlot, least: number | null, most: number | null): [number, number] => {
  const last = times.at(-1) ?? Date.now() / 1000
  const end = Math.min(most ?? last, last)
  return times.length > 1 && least !== null && (least > times[0]! || end - least > MIN_SPAN)
    ? [least, end]
    : [end - MIN_SPAN, end]
}

const colorOf = (name: string): string => {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** Lines over time. `times` are seconds since 1970. */
export function Chart({ title, times, lines }: { title: string; times: readonly number[]; lines: readonly Line[] }) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(null)
  useEffect(() => {
    const element = place.current!
    const soft = colorOf('--soft')
    const grid = { stroke: colorOf('--line'), width: 1 }
    const made = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        series: [{}, ...lines.map(({ label, color }) => ({ label, stroke: colorOf(color), width: 2 }))],
        axes: [
          { stroke: soft, grid, ticks: grid },
          { stroke: soft, grid, ticks: grid },
        ],
        scales: {
          x: { range: spanOf },
          y: { range: (_plot, _least, most) => [0, Math.max(most * 1.1, 1)] },
        },
      },
      undefined,
      element,
    )
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }))
    resized.observe(element)
    return () => {
      resized.disconnect()
      made.destroy()
    }
  }, [])
  useEffect(() => plot.current?.setData([times.slice(), ...lines.map(({ values }) => values.slice())]))
  const last = lines.map(({ label, values }) => `${label}: ${(values.at(-1) ?? 0).toFixed(1)}`).join(', ')
  return <div ref={place} class="chart" role="img" aria-label={`${title}. Last values: ${last}`} />
}
