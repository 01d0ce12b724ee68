import type { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import { bytesText } from './bytes-text.js'
import type { Colours } from './colours.js'
import { durationText } from './durations.js'
import { printable } from './text-width.js'

/** Counts of a run, of one pipeline, or of one route. */
type Counts = Pick<RunStats, 'kept' | 'delivered' | 'dropped' | 'batches' | 'bytes'>

/** One pipeline of a run. */
export interface SummaryPart {
  readonly name: string
  readonly stats: RunStats
  /** Routes with their counts, if the pipeline has routes. */
  readonly routes: readonly { readonly name: string; readonly counts: Counts }[]
}

const number = (value: number): string => value.toLocaleString('en')

/** Returns the summary of a run for people, a line for the whole, then one for each pipeline and route if there are several. */
export function summaryText(parts: readonly SummaryPart[], seconds: number, colours: Colours): string {
  const sum = (of: (stats: RunStats) => number): number => parts.reduce((total, { stats }) => total + of(stats), 0)
  const read = sum((stats) => stats.read)
  const delivered = sum((stats) => stats.delivered)
  const issues = issuesText(
    sum,
    parts.every(({ routes }) => routes.length === 0),
    colours,
  )
  const rate = seconds > 0 ? ` · ${number(Math.round(read / seconds))}/s` : ''
  const head = colours.bold(`${records(read)} read, ${number(delivered)} delivered`)
  const batches = sum((stats) => stats.batches)
  return [
    `${head} in ${timeText(seconds)}${rate} · ${number(batches)} ${batches === 1 ? 'batch' : 'batches'}, ${bytesText(sum((stats) => stats.bytes))}`,
    ...(issues === '' ? [] : [issues]),
    ...parts.flatMap(({ name, stats, routes }) => [
      ...(parts.length > 1 ? [`  ${countsText(name, stats)}`] : []),
      ...routes.map((route) => `  ${countsText(`${parts.length > 1 ? `${name} ` : ''}${route.name}`, route.counts)}`),
    ]),
    '',
  ].join('\n')
}

const records = (count: number): string => `${number(count)} ${count === 1 ? 'record' : 'records'}`

const timeText = (seconds: number): string =>
  seconds < 60 ? `${seconds.toFixed(seconds < 10 ? 1 : 0)} s` : durationText(Math.round(seconds))

/** Says which records were not delivered and why; empty if there are none. */
function issuesText(
  sum: (of: (stats: RunStats) => number) => number,
  isOneOutput: boolean,
  { red, yellow }: Colours,
): string {
  const damaged = sum((stats) => stats.damaged)
  const invalid = sum((stats) => stats.rejected) - damaged
  // With routes a record counts once for each route that has it.
  const out = isOneOutput ? sum((stats) => stats.read) - invalid - sum((stats) => stats.kept) : 0
  const counts: [count: number, text: string, colour: (text: string) => string][] = [
    [out, 'filtered or sampled out', (text) => text],
    [invalid, 'invalid', yellow],
    [sum((stats) => stats.dropped), 'dropped', red],
    [sum((stats) => stats.lost), 'lost', red],
    [damaged, damaged === 1 ? 'input damaged' : 'inputs damaged', red],
  ]
  return counts.flatMap(([count, text, colour]) => (count > 0 ? [colour(`${number(count)} ${text}`)] : [])).join(' · ')
}

const countsText = (name: string, { kept, delivered, dropped, batches, bytes }: Counts): string =>
  `${printable(name)}: ${number(delivered)} of ${number(kept)} delivered · ${number(batches)} ${batches === 1 ? 'batch' : 'batches'}, ${bytesText(bytes)}` +
  (dropped > 0 ? ` · ${number(dropped)} dropped` : '')
