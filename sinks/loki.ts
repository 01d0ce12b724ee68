import { Type } from 'typebox'
import { linesSinkType } from './http/lines-sink.js'
import { objectOf, recordTime } from './http/record-time.js'
import { TLS } from './http/target.js'
import { reject, text } from './params.js'

const PUSH_PATH = '/loki/api/v1/push'

/**
 * One stream of Loki. Lines have the time of their record, or that at which their batch began, a nanosecond apart: the same
 * whenever the batch is sent again, so that Loki recognizes duplicates.
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

  message({ from, lines }, { labels, time, metadata }) {
    const start = BigInt(from.getTime()) * 1_000_000n
    const values = lines.map((line, index) => {
      const record = time === 'batch' && metadata.length === 0 ? undefined : objectOf(line)
      const at = (time === 'batch' ? undefined : recordTime(line, record, time)) ?? start + BigInt(index)
      const facts = metadata.flatMap((name) => factOf(record, name))
      const more = facts.length === 0 ? '' : `,${JSON.stringify(Object.fromEntries(facts))}`
      return `["${at}",${JSON.stringify(line)}${more}]`
    })
    return { text: `{"streams":[{"stream":${labels},"values":[${values.join(',')}]}]}`, type: 'application/json' }
  },
})

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
