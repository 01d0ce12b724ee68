import { isObject, linesSinkType } from './http/lines-sink.js'
import { refuse } from './params.js'

/**
 * `datadog://host/api/v2/logs?header_DD-API-KEY=KEY&ddsource=cloudflare&service=S&host=H&ddtags=T`: the log intake of Datadog.
 * Lines of JSON are sent as one array; other text as it is.
 */
export const datadog = linesSinkType({
  scheme: 'datadog',
  // Hard limits of the intake.
  limits: { bytes: 5_000_000, records: 1000 },
  prepare(target) {
    if (target.headers['dd-api-key'] === undefined) refuse('needs header_DD-API-KEY')
    return target
  },
  message({ lines }) {
    if (lines.every(isObject)) return { text: `[${lines.join(',')}]`, type: 'application/json' }
    const text = lines.join('\n')
    return { text, type: text.startsWith('[') ? 'application/json' : 'text/plain; charset=utf-8' }
  },
})
