import type { Received, ReceiverResponse } from './http-receiver.js'

/** Limits of a tenant; times in milliseconds since 1970. */
export interface LokiLimits {
  /** Older lines are rejected (`reject_old_samples_max_age`). */
  readonly oldest?: number
  /** Newer lines are rejected (`creation_grace_period`). */
  readonly newest?: number
  /** `max_line_size`. */
  readonly lineBytes?: number
  /** A line may be this much older than the newest one of its stream (half of `max_chunk_age`). */
  readonly behindMs?: number
}

/** A stored line. */
export interface LokiLine {
  readonly ns: bigint
  readonly line: string
  readonly metadata: Readonly<Record<string, string>>
}

const MAX_INT64 = 2n ** 63n

/**
 * The push endpoint of Loki by its documented protocol: checks each member of a request, stores the valid lines of one with
 * invalid ones, and ignores a line that is repeated with the same time.
 */
export function lokiServer(limits: LokiLimits = {}) {
  const streams = new Map<string, Map<string, LokiLine>>()

  const push = (name: string, line: LokiLine): string | undefined => {
    const { oldest = 0, newest = Infinity, lineBytes = 262_144, behindMs = Infinity } = limits
    const ms = Number(line.ns / 1_000_000n)
    const stream = streams.get(name) ?? new Map<string, LokiLine>()
    streams.set(name, stream)
    const bytes = Buffer.byteLength(line.line)
    if (ms < oldest)
      return `entry for stream '${name}' has timestamp too old: ${text(ms)}, oldest acceptable timestamp is: ${text(oldest)}`
    if (ms > newest) return `entry for stream '${name}' has timestamp too new: ${text(ms)}`
    if (bytes > lineBytes)
      return `Max entry size '${lineBytes}' bytes exceeded for stream '${name}' while adding an entry with length '${bytes}' bytes`
    const last = Math.max(...[...stream.values()].map(({ ns }) => Number(ns / 1_000_000n)))
    if (ms < last - behindMs)
      return `entry with timestamp ${text(ms)} ignored, reason: 'entry too far behind, entry timestamp is: ${text(ms)}, oldest acceptable timestamp is: ${text(last - behindMs)}',`
    stream.set(`${line.ns} ${line.line}`, line)
    return undefined
  }

  return {
    streams,
    lines: (): string[] => [...streams.values()].flatMap((stream) => [...stream.values()].map(({ line }) => line)),
    response({ target, headers, text: body }: Received): ReceiverResponse {
      if (target !== '/loki/api/v1/push') return { status: 404, body: '404 page not found' }
      if (headers['content-type'] !== 'application/json') return { status: 415 }
      const request = parsed(body)
      if (typeof request === 'string') return { status: 400, body: request }
      const errors = request.flatMap(([name, line]) => push(name, line) ?? [])
      if (errors.length === 0) return { status: 204 }
      const grouped = [...new Set(errors)].map(
        (error) => `${errors.filter((other) => other === error).length} errors like: ${error}`,
      )
      return { status: 400, body: grouped.join('; ') }
    },
  }
}

const text = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
const isText = (value: unknown): value is string => typeof value === 'string'
const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isText)

/** The lines of a request with their streams, or why it is invalid. */
function parsed(body: string): (readonly [stream: string, line: LokiLine])[] | string {
  const { streams } = JSON.parse(body) as { streams?: unknown }
  if (!Array.isArray(streams)) return 'loghttp.PushRequest.Streams: expects ['
  const lines: (readonly [string, LokiLine])[] = []
  for (const { stream, values } of streams as readonly { stream?: unknown; values?: unknown }[]) {
    if (!isTexts(stream) || Object.keys(stream).length === 0)
      return 'error at least one label pair is required per stream'
    const labels = Object.entries(stream).map(([name, value]) => `${name}="${value}"`)
    if (!Object.keys(stream).every((name) => /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name))) return 'Error parsing labels'
    if (!Array.isArray(values)) return 'loghttp.Stream.Entries: expects ['
    for (const value of values as readonly unknown[]) {
      const [ns, line, metadata = {}, ...more] = Array.isArray(value) ? (value as unknown[]) : []
      if (!isText(ns) || !/^\d{1,19}$/.test(ns) || BigInt(ns) >= MAX_INT64)
        return `the time ${JSON.stringify(ns)} is invalid`
      if (!isText(line) || !isTexts(metadata) || more.length > 0)
        return 'a value has other members than time, line and metadata'
      lines.push([`{${labels.join(', ')}}`, { ns: BigInt(ns), line, metadata }])
    }
  }
  return lines
}
