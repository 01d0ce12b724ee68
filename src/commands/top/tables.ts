import { bytesText } from '../common/bytes-text.js'
import type { Frame } from './frame.js'

/** A cell: its text, and the value that rows are sorted by. */
type Cell = readonly [text: string, value: number | string]

/** A row of a table. `state` decides its colour. */
export interface Row {
  readonly cells: readonly Cell[]
  readonly state: 'bad' | 'warn' | 'well'
}

/** A table of `edged top`. Numbers are sorted from the largest, names from the first. */
export interface Table {
  readonly name: string
  readonly titles: readonly string[]
  /** The column that rows are sorted by at first. */
  readonly sort: number
  readonly rows: (now: Frame, before: Frame | undefined) => Row[]
}

const rateText = (rate: number): string => (rate >= 100 ? Math.round(rate).toLocaleString('en') : rate.toFixed(1))
const rateCell = (rate: number): Cell => [rateText(rate), rate]
const countCell = (count: number): Cell => [count.toLocaleString('en'), count]
const textCell = (text: string): Cell => [text, text]
const shareCell = (part: number, whole: number): Cell =>
  whole <= 0 ? ['-', -1] : [((100 * part) / whole).toFixed(1), part / whole]

/** Returns the seconds between two frames, or since the start of the daemon. */
export const secondsOf = (now: Frame, before: Frame | undefined): number =>
  Math.max(before ? (now.top.at - before.top.at) / 1000 : now.top.uptime_seconds, 0.001)

/** Returns an increase that is not negative: the counts of a restarted daemon begin again. */
export const increase = (now: number, before = 0): number => (now < before ? now : now - before)

function zoneRows(now: Frame, before: Frame | undefined): Row[] {
  const seconds = secondsOf(now, before)
  const earlier = new Map(before?.top.zones.map((zone) => [zone.name, zone]))
  const origins = new Map<string, string[]>()
  for (const { zone, state } of now.top.origins) origins.set(zone, [...(origins.get(zone) ?? []), state])
  return now.top.zones.map((zone) => {
    const old = earlier.get(zone.name)
    const requests = increase(zone.requests, old?.requests)
    const clientErrors = increase(now.clientErrors.get(zone.name) ?? 0, before?.clientErrors.get(zone.name))
    const errors = increase(zone.errors, old?.errors)
    const states = origins.get(zone.name) ?? []
    const isBad = states.includes('down') || (errors > 0 && errors * 20 > requests)
    return {
      state: isBad ? 'bad' : errors > 0 || states.includes('missing') ? 'warn' : 'well',
      cells: [
        textCell(zone.name),
        rateCell(requests / seconds),
        rateCell(clientErrors / seconds),
        rateCell(errors / seconds),
        shareCell(increase(zone.cache_hits, old?.cache_hits), requests),
        rateCell(increase(zone.markdown, old?.markdown) / seconds),
        [bytesText(increase(zone.bytes, old?.bytes) / seconds), increase(zone.bytes, old?.bytes)],
        textCell(originsText(states)),
      ],
    }
  })
}

/** Returns the number of origins in each state, `1 up 1 down`. */
function originsText(states: readonly string[]): string {
  const counts = ['up', 'down', 'unknown'].flatMap((state) => {
    const count = states.filter((each) => each === state).length
    return count > 0 ? [`${count} ${state}`] : []
  })
  return counts.join(' ') || 'none'
}

function jobRows(now: Frame, before: Frame | undefined): Row[] {
  const seconds = secondsOf(now, before)
  const { failing_jobs: failing, job_names: names } = now.status
  const earlier = new Map(before?.top.pipelines.map((one) => [one.name, one]))
  return now.top.pipelines.map((one) => {
    const [kind = '', ...rest] = one.name.split(' ')
    const id = rest.join(' ')
    const fails = failing.some((job) => job.kind === kind && job.name === id)
    const old = earlier.get(one.name)
    const lost = one.dropped + one.lost
    return {
      state: fails ? 'bad' : lost > 0 || one.losses > 0 ? 'warn' : 'well',
      cells: [
        textCell(`${kind} ${kind === 'job' ? (names?.[id] ?? id) : id}`),
        textCell(fails ? 'failing' : 'running'),
        rateCell(increase(one.read, old?.read) / seconds),
        rateCell(increase(one.delivered, old?.delivered) / seconds),
        countCell(lost),
        countCell(one.lag_records),
        [`${Math.round(one.lag_seconds)} s`, one.lag_seconds],
      ],
    }
  })
}

function workerRows(now: Frame, before: Frame | undefined): Row[] {
  const seconds = secondsOf(now, before)
  const earlier = new Map(before?.top.workers.map(({ metric, value }) => [metric, value]))
  return now.top.workers.map(({ metric, value }) => {
    const name = metric.replace(/^edged_workers?_/, '').replace('_total', '')
    const more = increase(value, earlier.get(metric))
    return {
      state: /exception|failure|exceeded|lost/.test(name) && more > 0 ? 'bad' : 'well',
      cells: [textCell(name), rateCell(more / seconds), countCell(value)],
    }
  })
}

function webhookRows(now: Frame): Row[] {
  const { deliveries } = now.top
  const paused = now.status.open_circuit_breakers.map(({ name, webhook_id: id }): Row => ({
    state: 'bad',
    cells: [textCell(name || id), textCell('paused'), textCell('-'), textCell('-'), textCell('-')],
  }))
  const all: Row = {
    state: 'well',
    cells: [
      textCell('all webhooks'),
      textCell(paused.length === 0 ? 'running' : `${paused.length} paused`),
      countCell(deliveries.pending),
      countCell(deliveries.in_flight),
      countCell(deliveries.attempts),
    ],
  }
  return [all, ...paused]
}

/** Tables by the key that shows them. */
export const TABLES: readonly Table[] = [
  {
    name: 'zones',
    titles: ['ZONE', 'REQ/S', '4XX/S', '5XX/S', 'HIT%', 'MD/S', 'SENT/S', 'ORIGINS'],
    sort: 1,
    rows: zoneRows,
  },
  {
    name: 'jobs',
    titles: ['JOB OR PIPELINE', 'STATE', 'READ/S', 'SENT/S', 'LOST', 'WAITING', 'LAG'],
    sort: 5,
    rows: jobRows,
  },
  { name: 'Workers', titles: ['WORKERS', 'PER S', 'TOTAL'], sort: 1, rows: workerRows },
  {
    name: 'webhooks',
    titles: ['WEBHOOK', 'STATE', 'PENDING', 'IN FLIGHT', 'ATTEMPTS'],
    sort: 2,
    rows: webhookRows,
  },
]
