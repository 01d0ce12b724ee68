import { useMemo, useState, type ReactNode } from 'react'
import { useAddress, useGo } from '../address.tsx'
import { useIsNarrow } from './narrow.ts'
import { IconButton } from './button.tsx'
import { cellName, gapsOf, type Series, type Span } from './chart-data.ts'
import { Plot, type Drawing, type Mark } from './chart-plot.tsx'
import styles from './chart.module.css'

export type { Series, Span } from './chart-data.ts'
export type { Mark } from './chart-plot.tsx'

/** Points over time with the same cells for all series. Times are in seconds since 1970. */
export interface ChartProps {
  /** With the unit: `Requests/s by status`. */
  readonly title: string
  readonly times: readonly number[]
  /** Length of a cell in seconds. */
  readonly step: number
  readonly range: Span
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** The values are parts of a whole: each lies on those before it. */
  readonly isStacked?: boolean
  /** The last cell is not over. */
  readonly isPartial?: boolean
  /** When the daemon ran. Without it, always. */
  readonly coverage?: readonly Span[] | undefined
  /** Deploys, rule changes, restarts. */
  readonly marks?: readonly Mark[]
  readonly height?: number
  /** Controls beside the title. */
  readonly actions?: ReactNode
}

const HEIGHT = 200
const PHONE_HEIGHT = 140
const NO_MARKS: readonly Mark[] = []

/**
 * A chart with a legend. A click on a name of the legend leaves this line alone, a second one brings the others back. A drag
 * over the plot puts the range into the address. The button shows the numbers as a table.
 */
export function Chart(props: ChartProps) {
  const { title, times, step, range, format, isStacked = false, isPartial = false, coverage } = props
  const { marks = NO_MARKS, height = HEIGHT } = props
  const [only, setOnly] = useState<string>()
  const [isTable, setTable] = useState(false)
  const [cell, setCell] = useState<{ at: number; left: number }>()
  const isNarrow = useIsNarrow()
  const onRange = useRangeOfDrag(step)
  const chosen = props.series.some(({ key }) => key === only) ? only : undefined
  const drawing = useMemo<Drawing>(() => {
    const series = chosen === undefined ? props.series : props.series.filter(({ key }) => key === chosen)
    const gaps = coverage ? gapsOf(coverage, range, step) : []
    return { times, step, range, series, isStacked, isPartial, gaps, marks, format }
  }, [props.series, chosen, times, step, range, coverage, isStacked, isPartial, marks, format])
  return (
    <figure className={styles['chart']} aria-label={title}>
      <figcaption className={styles['head']}>
        <h2>{title}</h2>
        {props.actions}
        <IconButton
          icon={isTable ? 'chart' : 'table'}
          label={isTable ? `Chart of ${title}` : `Table of ${title}`}
          title={isTable ? 'Show the chart' : 'Show the numbers'}
          size="small"
          onClick={() => setTable(!isTable)}
        />
      </figcaption>
      <Legend series={props.series} only={chosen} onOnly={setOnly} />
      {isTable ? (
        <Numbers drawing={drawing} title={title} />
      ) : (
        <div className={styles['plot']}>
          <div role="img" aria-label={`${title}: ${summaryOf(drawing)}`}>
            <Plot drawing={drawing} height={isNarrow ? PHONE_HEIGHT : height} onHover={setCell} onRange={onRange} />
          </div>
          {cell && <Tooltip drawing={drawing} {...cell} />}
        </div>
      )}
    </figure>
  )
}

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** Returns what puts a dragged range into the address, in whole cells. */
function useRangeOfDrag(step: number): (span: Span) => void {
  const go = useGo()
  const address = useAddress()
  return ({ from, to }) => {
    const since = Math.floor(from / step) * step
    const until = Math.max(Math.ceil(to / step) * step, since + step)
    go({
      rest: address.rest,
      search: { ...address.search, range: undefined, since: iso(since), until: iso(until) },
    })
  }
}

const Legend = ({
  series,
  only,
  onOnly,
}: {
  series: readonly Series[]
  only: string | undefined
  onOnly: (key: string | undefined) => void
}) => (
  <ul className={styles['legend']}>
    {series.map(({ key, label, color, total }) => (
      <li key={key}>
        <button
          type="button"
          aria-pressed={only === key}
          data-off={(only !== undefined && only !== key) || undefined}
          title={only === key ? 'Show all' : `Show only ${label}`}
          onClick={() => onOnly(only === key ? undefined : key)}
        >
          <span className={styles['mark']} style={{ background: `var(${color})` }} />
          {label} {total !== undefined && <strong className="num">{total}</strong>}
        </button>
      </li>
    ))}
  </ul>
)

function summaryOf({ series, format }: Drawing): string {
  return series
    .map(({ label, total, values }) => `${label} ${total ?? format(values.findLast((value) => value !== null) ?? 0)}`)
    .join(', ')
}

/** The values of the cell below the pointer, the highest first. */
function Tooltip({ drawing, at, left }: { drawing: Drawing; at: number; left: number }) {
  const { times, step, range, series, isPartial, marks, format } = drawing
  const time = times[at]
  if (time === undefined) return null
  const rows = series
    .map(({ key, label, color, values }) => ({ key, label, color, value: values[at] ?? null }))
    .sort((a, b) => (b.value ?? -1) - (a.value ?? -1))
  const near = marks.filter((mark) => mark.at >= time && mark.at < time + step)
  const isRight = at > times.length / 2
  return (
    <div className={styles['tooltip']} style={isRight ? { right: `calc(100% - ${left - 12}px)` } : { left: left + 12 }}>
      <p className="soft">
        {cellName(time, step, range.to - range.from)}
        {isPartial && at === times.length - 1 && ' (so far)'}
      </p>
      {rows.map(({ key, label, color, value }) => (
        <p key={key} className={styles['tipRow']}>
          <span className={styles['mark']} style={{ background: `var(${color})` }} />
          <span>{label}</span>
          <strong className="num">{value === null ? '–' : format(value)}</strong>
        </p>
      ))}
      {near.map(({ label }) => (
        <p key={label}>{label}</p>
      ))}
    </div>
  )
}

/** The numbers of a chart, newest first. */
const Numbers = ({ drawing, title }: { drawing: Drawing; title: string }) => (
  <div className={styles['numbers']} role="region" aria-label={`Numbers of ${title}`} tabIndex={0}>
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          {drawing.series.map(({ key, label }) => (
            <th key={key} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {drawing.times
          .map((time, at) => (
            <tr key={time}>
              <th scope="row">{cellName(time, drawing.step, drawing.range.to - drawing.range.from)}</th>
              {drawing.series.map(({ key, values }) => (
                <td key={key}>{values[at] == null ? '–' : drawing.format(values[at])}</td>
              ))}
            </tr>
          ))
          .toReversed()}
      </tbody>
    </table>
  </div>
)
