import { isUp, stateText, type DaemonStatus, type OriginStatus } from '../daemon/state/status.js'
import { readSamples, type Sample } from '../telemetry/samples.js'

/** Totals and states of a daemon at one time. */
export interface Top {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly version: string
  readonly uptime_seconds: number
  readonly ready: boolean
  readonly memory_bytes: number
  readonly connections: number
  readonly zones: readonly {
    readonly name: string
    readonly requests: number
    readonly errors: number
    readonly markdown: number
    readonly cache_hits: number
    readonly bytes: number
    /** Of the last five minutes, in milliseconds. */
    readonly p95_ms: number | null
  }[]
  readonly origins: readonly {
    readonly zone: string
    readonly url: string
    readonly state: OriginStatus['state']
    readonly up: OriginStatus['up']
    readonly in_flight: number
  }[]
  readonly cache: { readonly bytes: number; readonly entries: number }
  /** Jobs and pipelines. */
  readonly pipelines: readonly {
    readonly name: string
    readonly read: number
    readonly delivered: number
    readonly dropped: number
    /** Times that records may have been lost before they were read, and records known to be lost. */
    readonly losses: number
    readonly lost: number
    readonly lag_records: number
    readonly lag_seconds: number
  }[]
  /** Records of the log spool that do not reach every job, by reason. */
  readonly spool_lost: Readonly<Record<string, number>>
  readonly deliveries: { readonly pending: number; readonly in_flight: number; readonly attempts: number }
  /** Calls of Workers by outcome, if scripts run. */
  readonly workers: readonly { readonly metric: string; readonly value: number }[]
}

const SPOOL_LOST = 'edged_logpush_records_lost_total'

/** Returns what `edged top` shows, from the status and the metrics of a daemon. */
export function topOf(status: DaemonStatus, metrics: string, at: number): Top {
  const samples = readSamples(metrics, 'edged_')
  const sum = (name: string, labels: Readonly<Record<string, string>> = {}): number =>
    samples
      .filter((sample) => sample.name === name && has(sample, labels))
      .reduce((total, { value }) => total + value, 0)
  const { version, uptime_seconds, ready, memory_bytes } = status
  const names = valuesOf(samples, 'edged_zone_requests_total', 'zone')
  return {
    at,
    version,
    uptime_seconds,
    ready,
    memory_bytes,
    connections: sum('edged_proxy_connections'),
    zones: [...new Set([...status.zones.map(({ name }) => name), ...names])].map((name) => ({
      name,
      requests: sum('edged_zone_requests_total', { zone: name }),
      errors: sum('edged_zone_requests_total', { zone: name, class: '5xx' }),
      markdown: sum('edged_zone_markdown_responses_total', { zone: name }),
      cache_hits: sum('edged_zone_cache_hits_total', { zone: name }),
      bytes: sum('edged_zone_response_body_bytes_total', { zone: name }),
      p95_ms: status.zones.find((zone) => zone.name === name)?.p95_ms ?? null,
    })),
    origins: samples
      .filter(({ name }) => name === 'edged_origin_asked')
      .map(({ labels: { zone = '', origin = '' }, value }) => {
        const isDown = sum('edged_origin_down', { zone, origin }) > 0
        const state = origin === '' ? 'missing' : value === 0 ? 'unknown' : isDown ? 'down' : 'up'
        const inFlight = sum('edged_origin_requests_in_flight', { zone, origin })
        return { zone, url: origin, state, up: isUp(state), in_flight: inFlight }
      }),
    cache: { bytes: sum('edged_cache_bytes'), entries: sum('edged_cache_entries') },
    pipelines: ['pipeline', 'job'].flatMap((label) =>
      valuesOf(samples, 'edged_pipeline_records_read_total', label).map((name) => {
        const of = { [label]: name }
        return {
          name: `${label} ${name}`,
          read: sum('edged_pipeline_records_read_total', of),
          delivered: sum('edged_pipeline_records_delivered_total', of),
          dropped: sum('edged_pipeline_records_dropped_total', of),
          losses: sum('edged_pipeline_losses_total', of),
          lost: sum('edged_pipeline_records_lost_total', of),
          lag_records: sum('edged_pipeline_lag_records', of),
          lag_seconds: sum('edged_pipeline_lag_seconds', of),
        }
      }),
    ),
    spool_lost: Object.fromEntries(
      valuesOf(samples, SPOOL_LOST, 'reason').map((reason) => [reason, sum(SPOOL_LOST, { reason })]),
    ),
    deliveries: {
      pending: sum('edged_webhook_deliveries_pending'),
      in_flight: sum('edged_webhook_attempts_in_flight'),
      attempts: sum('edged_webhook_attempts_total'),
    },
    workers: samples
      .filter(({ name }) => /^edged_worker.*_total$/.test(name))
      .map(({ name, labels, value }) => ({ metric: [name, ...Object.values(labels)].join(' '), value })),
  }
}

const has = ({ labels }: Sample, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([label, value]) => labels[label] === value)

const valuesOf = (samples: readonly Sample[], name: string, label: string): string[] => [
  ...new Set(samples.flatMap((sample) => (sample.name === name && sample.labels[label] ? [sample.labels[label]] : []))),
]

/** Returns the view as text. With an earlier view, requests are per second; without one they are totals. */
export function topText(now: Top, before?: Top): string {
  const seconds = before ? Math.max((now.at - before.at) / 1000, 0.001) : undefined
  const amount = (value: number, old = 0): string =>
    seconds === undefined ? value.toLocaleString('en') : `${(Math.max(value - old, 0) / seconds).toFixed(1)}/s`
  const zones = now.zones.map((zone) => {
    const old = before?.zones.find(({ name }) => name === zone.name)
    return [
      zone.name,
      amount(zone.requests, old?.requests),
      amount(zone.errors, old?.errors),
      zone.p95_ms === null ? '-' : `${Math.round(zone.p95_ms)} ms`,
      share(zone.markdown, zone.requests),
      share(zone.cache_hits, zone.requests),
      megabytes(zone.bytes),
    ]
  })
  const { deliveries, cache } = now
  return [
    `edged ${now.version}, up ${now.uptime_seconds} s, ${now.ready ? 'ready' : 'not ready'}, ${megabytes(now.memory_bytes)} of memory, ${now.connections} connections`,
    `cache ${megabytes(cache.bytes)} in ${cache.entries} responses; deliveries ${deliveries.pending} pending, ${deliveries.in_flight} in flight, ${amount(deliveries.attempts, before?.deliveries.attempts)} attempts`,
    '',
    ...columns([['ZONE', 'REQUESTS', '5XX', 'P95', 'MARKDOWN', 'CACHED', 'SENT'], ...zones]),
    '',
    ...columns([
      ['ORIGIN', 'STATE', 'IN FLIGHT', 'ZONE'],
      ...now.origins.map(({ url, state, in_flight: count, zone }) => [
        url || '-',
        stateText(state),
        String(count),
        zone,
      ]),
    ]),
    ...(now.pipelines.length === 0 ? [] : ['', ...columns([PIPELINE_TITLES, ...now.pipelines.map(pipelineRow)])]),
    ...spoolLines(now.spool_lost),
    ...(now.workers.length === 0
      ? []
      : ['', ...columns([['WORKERS', 'COUNT'], ...now.workers.map(({ metric, value }) => [metric, String(value)])])]),
    '',
  ].join('\n')
}

/** Says what the log spool has lost, if anything. */
function spoolLines(lost: Top['spool_lost']): string[] {
  const reasons = Object.entries(lost).filter(([, records]) => records > 0)
  if (reasons.length === 0) return []
  const total = reasons.reduce((sum, [, records]) => sum + records, 0)
  return [
    '',
    `log spool: ${total} records lost (${reasons.map(([reason, records]) => `${reason} ${records}`).join(', ')})`,
  ]
}

const PIPELINE_TITLES = ['JOB OR PIPELINE', 'READ', 'DELIVERED', 'DROPPED', 'LOSSES', 'LOST', 'LAG', 'SECONDS']

const pipelineRow = (one: Top['pipelines'][number]): string[] => [
  one.name,
  String(one.read),
  String(one.delivered),
  String(one.dropped),
  String(one.losses),
  String(one.lost),
  String(one.lag_records),
  one.lag_seconds.toFixed(0),
]

const share = (part: number, whole: number): string => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)}%`)

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** Returns one line per row, with columns below each other. Control characters of names are not printed. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const clean = rows.map((row) => row.map((cell) => cell.replaceAll(/\p{Cc}/gu, '?')))
  const widths = (clean[0] ?? []).map((_, at) => Math.max(...clean.map((row) => row[at]!.length)))
  return clean.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd(),
  )
}
