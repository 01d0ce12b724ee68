import type { DaemonStatus } from '../../daemon/state/status.js'
import { readSamples, type Sample } from '../../telemetry/samples.js'
import { topOf, type Top } from './view.js'

/** Everything that one refresh of `edged top` shows. */
export interface Frame {
  readonly top: Top
  readonly status: DaemonStatus
  /** Responses with a 4xx status since the start, by zone. */
  readonly clientErrors: ReadonlyMap<string, number>
  /** Requests since the start with at most so many seconds. The counts add up, as in the metric. */
  readonly durations: ReadonlyMap<number, number>
}

/** Returns a frame from the status and the metrics of a daemon. */
export function frameOf(status: DaemonStatus, metrics: string, at: number): Frame {
  const samples = readSamples(metrics, 'edged_')
  return {
    top: topOf(status, metrics, at),
    status,
    clientErrors: sums(samples, 'edged_zone_requests_total', ({ labels }) =>
      labels['class'] === '4xx' ? labels['zone'] : undefined,
    ),
    durations: sums(samples, 'edged_proxy_request_duration_seconds_bucket', ({ labels }) =>
      labels['le'] === '+Inf' ? Infinity : Number(labels['le']),
    ),
  }
}

function sums<K>(samples: readonly Sample[], name: string, keyOf: (sample: Sample) => K | undefined): Map<K, number> {
  const found = new Map<K, number>()
  for (const sample of samples) {
    const key = sample.name === name ? keyOf(sample) : undefined
    if (key !== undefined) found.set(key, (found.get(key) ?? 0) + sample.value)
  }
  return found
}

/** Returns a quantile of the durations between two frames in seconds, undefined without requests. */
export function quantile(now: Frame, before: Frame | undefined, part: number): number | undefined {
  const counts = [...now.durations]
    .map(([limit, count]): [number, number] => [limit, count - (before?.durations.get(limit) ?? 0)])
    .sort(([a], [b]) => a - b)
  const total = counts.at(-1)?.[1] ?? 0
  if (total <= 0) return undefined
  const wanted = total * part
  let [low, below] = [0, 0]
  for (const [limit, count] of counts) {
    if (count >= wanted) return limit === Infinity ? low : low + ((limit - low) * (wanted - below)) / (count - below)
    ;[low, below] = [limit, count]
  }
  return low
}
