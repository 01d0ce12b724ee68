import { Type } from 'typebox'
import { linesSinkType } from './http/lines-sink.js'
import type { Lines } from './http/linewise.js'
import { objectOf, recordTime } from './http/record-time.js'
import { TLS } from './http/target.js'
import { reject, text } from './contract/params.js'

const PUSH_PATH = '/loki/api/v1/push'

/**
 * One stream of Loki. Each line has the time of its record. A line without a time gets the start time of its batch, one
 * nanosecond after the line before. The times are the same if the batch is sent again, so Loki recognizes duplicates.
 */
export const loki = linesSinkType({
  scheme: 'loki',
  form: 'loki://[user:password@]host:3100[/loki/api/v1/push]',
  summary: 'lines of one stream',
  // Loki accepts messages of 4 MB by default.
  limits: { bytes: 3_000_000 },
  own: Type.Object({
    labels: Type.Optional(text('Labels of the stream: NAME:VALUE, comma-separated. Default: job:edged.')),
    time: Type.Optional(
      text(
        'Field with the time of the line; batch: the time of the batch. Default: EdgeStartTimestamp, Datetime, Timestamp, ' +
          '@timestamp, timestamp, time or ts, else the time of the batch.',
      ),
    ),
    metadata: Type.Optional(
      text('Fields that become structured metadata of the line, comma-separated. Needs Loki 3. Default: none.'),
    ),
    ...TLS,
  }),
  shown: ['labels', 'time', 'metadata', 'tls', 'insecure-skip-verify'],

  prepare(target) {
    const url = new URL(target.url)
    if (url.pathname === '/') url.pathname = PUSH_PATH
    const { time, metadata } = target.own
    return {
      ...target,
      url,
      labels: JSON.stringify(labels(target.own.labels ?? 'job:edged')),
      time,
      metadata: metadata?.split(',').filter((name) => name !== '') ?? [],
    }
  },

  message(batch, { labels, time, metadata }) {
    const values = batch.lines.map((line, index) => {
      const record = time === 'batch' && metadata.length === 0 ? undefined : objectOf(line)
      const at = timeOf(batch, index, time, record)
      const facts = metadata.flatMap((name) => factOf(record, name))
      const more = facts.length === 0 ? '' : `,${JSON.stringify(Object.fromEntries(facts))}`
      return `["${at}",${JSON.stringify(line)}${more}]`
    })
    return { text: `{"streams":[{"stream":${labels},"values":[${values.join(',')}]}]}`, type: 'application/json' }
  },

  // Loki stores the other lines of such a request, and recognizes them when they are sent again.
  unfit({ status, text }, { time }, batch) {
    if (status !== 400) return []
    const { before, from, bytes } = boundsOf(text)
    const unfit = (before: bigint) =>
      batch.lines.flatMap((line, index) => {
        const at = timeOf(batch, index, time, objectOf(line))
        return at < before || at >= from || Buffer.byteLength(line) > bytes ? [index] : []
      })
    const found = unfit(before)
    // The time in the text has no fraction of a second. All lines of that second count as rejected, though Loki may
    // have stored some.
    return found.length > 0 || before === 0n ? found : unfit(before + SECOND)
  },
})

const SECOND = 1_000_000_000n

/** Returns the time of a line in nanoseconds since 1970. It is the same in each attempt, also among other lines. */
const timeOf = (
  { from, lines, numbers }: Lines,
  index: number,
  field: string | undefined,
  record: ReturnType<typeof objectOf>,
): bigint =>
  (field === 'batch' ? undefined : recordTime(lines[index]!, record, field)) ??
  BigInt(from.getTime()) * 1_000_000n + BigInt(numbers[index]!)

const TOO_OLD = /oldest acceptable timestamp is: (\d{4}-\d\d-\d\dT[\d:]{8}(?:\.\d+)?Z)/g
const TOO_NEW = /has timestamp too new: (\d{4}-\d\d-\d\dT[\d:]{8}(?:\.\d+)?Z)/g
const TOO_LONG = /Max entry size '(\d+)' bytes exceeded/g

/**
 * Returns the bounds that Loki reports for rejected lines. Lines before a time, lines from a time on and lines with too
 * many bytes are rejected.
 */
function boundsOf(text: string): { before: bigint; from: bigint; bytes: number } {
  const found = (pattern: RegExp) => Array.from(text.matchAll(pattern), ([, value = '']) => value)
  const seconds = (pattern: RegExp) => found(pattern).map((value) => Math.floor(Date.parse(value) / 1000))
  return {
    before: BigInt(Math.max(0, ...seconds(TOO_OLD))) * SECOND,
    from: BigInt(Math.min(END, ...seconds(TOO_NEW))) * SECOND,
    bytes: Math.min(Infinity, ...found(TOO_LONG).map(Number)),
  }
}

/** A time that no line has, in seconds: 64 bits hold no later one in nanoseconds. */
const END = 2 ** 34

/** Loki takes texts only. */
function factOf(record: Readonly<Record<string, unknown>> | undefined, name: string): [name: string, value: string][] {
  const value = record !== undefined && Object.hasOwn(record, name) ? record[name] : null
  if (value === null) return []
  return [[name, typeof value === 'string' ? value : JSON.stringify(value)]]
}

function labels(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const [, name = '', value = ''] = /^([a-zA-Z_][a-zA-Z0-9_]*):(.+)$/.exec(pair) ?? []
      if (name === '') reject('has labels that are not of the form name:value,name:value')
      return [name, value]
    }),
  )
}
