import { linesSinkType } from './http/lines-sink.js'
import { refuse } from './params.js'

const PUSH_PATH = '/loki/api/v1/push'

/**
 * `loki://[user:password@]host:3100[/loki/api/v1/push][?labels=job:edged,env:prod&header_X-Scope-OrgID=TENANT]`: one stream
 * of Loki. Lines stand at the time their batch began, a nanosecond apart, so that a batch that comes again makes none twice.
 * `tls=false` and `insecure-skip-verify=true` where the operator allows that.
 */
export const loki = linesSinkType({
  scheme: 'loki',
  // Loki takes messages of 4 MB unless it is told otherwise.
  limits: { bytes: 3_000_000 },
  own: ['labels', 'tls', 'insecure-skip-verify'],
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
