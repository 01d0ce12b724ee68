import { httpSinkType } from './http/http-sink.js'
import { refuse } from './params.js'

/** `newrelic://log-api.newrelic.com/log/v1?Api-Key=KEY&format=cloudflare`: the Log API of New Relic; timestamps have to be `unix`. */
export const newrelic = httpSinkType({
  scheme: 'newrelic',
  // Recommended by New Relic; it refuses bodies a little larger.
  limits: { bytes: 5_000_000 },
  prepare(target) {
    if (!target.url.searchParams.has('Api-Key') && target.headers['api-key'] === undefined) refuse('needs Api-Key')
    return target
  },
})
