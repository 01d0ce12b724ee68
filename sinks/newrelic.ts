import { Type } from 'typebox'
import { httpSinkType } from './http/http-sink.js'
import { reject, secret, text } from './contract/params.js'

/** Log API of New Relic. Timestamps must be `unix`. */
export const newrelic = httpSinkType({
  scheme: 'newrelic',
  form: 'newrelic://log-api.newrelic.com/log/v1',
  summary: 'one gzipped POST',
  sent: Type.Object({
    'Api-Key': Type.Optional(secret('License key. Required, unless the header Api-Key is set.')),
    format: Type.Optional(text('Format of the logs, for example cloudflare.')),
  }),
  // Recommended by New Relic, which rejects slightly larger bodies.
  limits: { bytes: 5_000_000 },
  prepare(target) {
    if (!target.url.searchParams.has('Api-Key') && target.headers['api-key'] === undefined) reject('needs Api-Key')
    return target
  },
})
