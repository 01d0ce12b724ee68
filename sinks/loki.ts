import { Type } from 'typebox'
import { linesSinkType } from './http/lines-sink.js'
import { TLS } from './http/target.js'
import { refuse, text } from './params.js'

const PUSH_PATH = '/loki/api/v1/push'

/**
 * One stream of Loki. Lines have the time at which their batch began, a nanosecond apart, so that a batch that is sent
 * again creates no duplicates.
 */
export const loki = linesSinkType({
  scheme: 'loki',
  form: 'loki://[user:password@]host:3100[/loki/api/v1/push]',
  summary: 'lines of one stream',
  // Loki accepts messages of 4 MB by default.
  limits: { bytes: 3_000_000 },
  own: Type.Object({
    labels: Type.Optional(text('Labels of the stream: NAME:VALUE, comma-separated. Default: job:edged.')),
    ...TLS,
  }),
  shown: ['labels', 'tls', 'insecure-skip-verify'],

  prepare(target) {
    const url = new URL(target.url)
    if (url.pathname === '/') url.pathname = PUSH_PATH
    return { ...target, url, labels: JSON.stringify(labels(target.own.labels ?? 'job:edged')) }
  },

  message({ from, lines }, { labels }) {
    const start = BigInt(from.getTime()) * 1_000_000n
    const values = lines.map((line, index) => `["${start + BigInt(index)}",${JSON.stringify(line)}]`)
    return { text: `{"streams":[{"stream":${labels},"values":[${values.join(',')}]}]}`, type: 'application/json' }
  },
})

function labels(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const [, name = '', value = ''] = /^([a-zA-Z_][a-zA-Z0-9_]*):(.+)$/.exec(pair) ?? []
      if (name === '') refuse('has labels that are not of the form name:value,name:value')
      return [name, value]
    }),
  )
}
