import { Type } from 'typebox'
import { httpSinkType } from './http/http-sink.js'
import { TLS, type Target } from './http/target.js'
import { reject, text } from './contract/params.js'

const RAW_PATH = '/services/collector/raw'

const COLLECTOR = {
  summary: 'one gzipped POST to the raw endpoint of a collector',
  own: Type.Object({ 'insecure-skip-verify': TLS['insecure-skip-verify'] }),
  sent: Type.Object({
    header_Authorization: Type.Optional(text('Token of the collector, for example `Splunk TOKEN`. Required.')),
    channel: Type.Optional(text('Channel of the events.')),
    sourcetype: Type.Optional(text('Source type of the events.')),
    source: Type.Optional(text('Source of the events.')),
    host: Type.Optional(text('Host of the events.')),
    index: Type.Optional(text('Index of the events.')),
  }),
  prepare: rawEndpoint,
}

/** The raw endpoint of an HTTP Event Collector. */
export const splunk = httpSinkType({ scheme: 'splunk', form: `splunk://host:8088${RAW_PATH}`, ...COLLECTOR })

/** The collector of SentinelOne. */
export const sentinelone = httpSinkType({ scheme: 'sentinelone', form: `sentinelone://host${RAW_PATH}`, ...COLLECTOR })

function rawEndpoint(target: Target): Target {
  if (target.url.pathname !== RAW_PATH) reject(`must have the path ${RAW_PATH}`)
  if (target.headers['authorization'] === undefined) reject('needs header_Authorization')
  return target
}
