/** Numbers of charts: ticks, stacked values, cells. Times are in seconds since 1970, as uPlot has them. */

/** One line of a chart. */
export interface Series {
  readonly key: string
  readonly label: string
  /** A colour of the style sheet, as in `--ok`. */
  readonly color: string
  /** One value for each time. Null: nothing was counted. */
  readonly values: readonly (number | null)[]
  /** The whole range in one number, for the legend. */
  readonly total?: string
}

/** Times in which the daemon ran, in seconds. */
export interface Span {
  readonly from: number
  readonly to: number
}

type Values = readonly (number | null)[]

const MAX_TICKS = 5
const STEPS = [1, 2, 5, 10]

/** Returns at most 5 ticks from 0 that reach `most`, at round numbers. */
export function ticksTo(most: number): readonly number[] {
  if (!(most > 0)) return [0, 1]
  const rough = most / (MAX_TICKS - 1)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * STEPS.find((factor) => factor * power >= rough * 0.9999)!
  const count = Math.max(1, Math.ceil(most / step - 1e-9))
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)))
}

/** Returns the values of each series on top of those before it. A gap stays a gap. */
export function stackedUp(all: readonly Values[]): (number | null)[][] {
  const sums: number[] = []
  return all.map((values) =>
    values.map((value, at) => {
      if (value === null) return null
      sums[at] = (sums[at] ?? 0) + value
      return sums[at]
    }),
  )
}

/** Splits values at the last cell that is not over: the line to the cell before, and the dashed piece that follows it. */
export function splitLast(values: Values, isPartial: boolean): [solid: Values, dashed: Values] {
  const last = values.length - 1
  if (!isPartial || last < 0) return [values, values.map(() => null)]
  return [
    values.map((value, at) => (at === last ? null : value)),
    values.map((value, at) => (at >= last - 1 ? value : null)),
  ]
}

/** Returns the parts of a range in which the daemon did not run. Pieces shorter than a cell are left out. */
export function gapsOf(coverage: readonly Span[], range: Span, step: number): readonly Span[] {
  const gaps: Span[] = []
  let end = range.from
  for (const { from, to } of [...coverage, { from: range.to, to: range.to }]) {
    if (from - end >= step) gaps.push({ from: end, to: from })
    end = Math.max(end, to)
  }
  return gaps
}

const SHORT_SECONDS = 600
const MINUTES = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const SECONDS = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Returns the texts of times on an axis: seconds below 10 minutes only, days below their first tick. */
export function timeLabels(times: readonly number[], span: number): readonly string[] {
  const clock = span < SHORT_SECONDS ? SECONDS : MINUTES
  let day = ''
  return times.map((time) => {
    const date = new Date(time * 1000)
    const own = DAY.format(date)
    const isNew = own !== day
    day = own
    return isNew ? `${clock.format(date)}\n${own}` : clock.format(date)
  })
}

/** `17:40 to 17:45`: the time of one cell. */
export function cellName(from: number, step: number, span: number): string {
  const clock = step < 60 || span < SHORT_SECONDS ? SECONDS : MINUTES
  const [start, end] = [new Date(from * 1000), new Date((from + step) * 1000)]
  if (step >= 86_400) return DAY.format(start)
  const day = span > 86_400 ? `${DAY.format(start)} ` : ''
  return `${day}${clock.format(start)} to ${clock.format(end)}`
}
