import { endpoints } from '../../control/index.js'
import type { Endpoint } from '../../control/http/endpoint.js'
import { readConfig } from '../config/load.js'
import { systemClock } from '../core/clock.js'
import { silentLog } from '../core/log.js'
import { openStore } from '../store/index.js'

/** Services of the endpoints are not called while the endpoints are described. */
const uncalled = (): never => {
  throw new Error('endpoints that are only described call no service')
}

/** Returns every endpoint of the API, to be described. None of them can be called. */
export async function everyEndpoint(): Promise<Endpoint[]> {
  const config = readConfig('{}', 'edged.yaml', {})
  const store = await openStore('memory', { folder: config.data, log: silentLog })
  return endpoints({
    config: () => config,
    store,
    clock: systemClock,
    log: silentLog,
    trace: () => undefined,
    logpush: uncalled,
    posture: uncalled,
    workers: uncalled,
    overview: uncalled,
    requests: uncalled,
    fetchPage: uncalled,
  })
}
