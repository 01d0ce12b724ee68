import { Type } from 'typebox'
import { NONE } from './http/http-sink.js'
import { arrayMessage, linesSinkType } from './http/lines-sink.js'
import { reject, text } from './contract/params.js'

/** Log intake of Datadog. JSON lines are sent as one array. Other text is sent unchanged. */
export const datadog = linesSinkType({
  scheme: 'datadog',
  form: 'datadog://host/api/v2/logs',
  summary: 'one array of JSON, of at most 1000 records',
  sent: Type.Object({
    'header_DD-API-KEY': Type.Optional(text('API key. Required.')),
    ddsource: Type.Optional(text('Source of the logs, for example cloudflare.')),
    service: Type.Optional(text('Service of the logs.')),
    host: Type.Optional(text('Host of the logs.')),
    ddtags: Type.Optional(text('Tags of the logs.')),
  }),
  own: NONE,
  // Hard limits of the intake.
  limits: { bytes: 5_000_000, records: 1000 },
  prepare(target) {
    if (target.headers['dd-api-key'] === undefined) reject('needs header_DD-API-KEY')
    return target
  },
  message: arrayMessage,
})
