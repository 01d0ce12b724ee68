import { httpSinkType } from './http/http-sink.js'
import { refuse } from './params.js'
import type { Target } from './http/target.js'

const RAW_PATH = '/services/collector/raw'

/**
 * `splunk://host:8088/services/collector/raw?channel=GUID&sourcetype=T&insecure-skip-verify=false&header_Authorization=Splunk%20TOKEN`:
 * the raw endpoint of an HTTP Event Collector.
 */
export const splunk = httpSinkType({ scheme: 'splunk', own: ['insecure-skip-verify'], prepare: rawEndpoint })

/** `sentinelone://host/services/collector/raw?sourcetype=T&header_Authorization=Bearer%20TOKEN`: the collector of SentinelOne. */
export const sentinelone = httpSinkType({ scheme: 'sentinelone', own: ['insecure-skip-verify'], prepare: rawEndpoint })

function rawEndpoint(target: Target): Target {
  if (target.url.pathname !== RAW_PATH) refuse(`must have the path ${RAW_PATH}`)
  if (target.headers['authorization'] === undefined) refuse('needs header_Authorization')
  return target
}
