import type { ProcessConfig } from './protocol.js'

const part = (limit: number, processes: number): number => Math.ceil(limit / processes)

/** Returns the configuration of one of several processes: its share of each limit on memory and connections. */
export function sharedAmong(processes: number, config: ProcessConfig): ProcessConfig {
  const {
    data,
    store,
    egress,
    log,
    access_log,
    accounts,
    agents,
    cache,
    history,
    zones,
    lists,
    geo,
    proxy,
    telemetry,
    workers,
  } = config
  const { limits, origin } = proxy
  return {
    data,
    store,
    egress,
    log,
    ...(access_log && { access_log }),
    accounts,
    agents,
    cache: { ...cache, memory: part(cache.memory, processes) },
    history,
    zones,
    lists,
    geo,
    telemetry,
    proxy: {
      ...proxy,
      rules_body: { ...proxy.rules_body, memory: part(proxy.rules_body.memory, processes) },
      buffer_memory: part(proxy.buffer_memory, processes),
      markdown_memory: part(proxy.markdown_memory, processes),
      // The limit per address is not divided. Connections are spread unevenly, and a client must get the configured
      // limit.
      limits: { ...limits, connections: part(limits.connections, processes) },
      origin: {
        ...origin,
        connections: part(origin.connections, processes),
        queue_size: part(origin.queue_size, processes),
      },
    },
    workers: {
      ...workers,
      assets: { ...workers.assets, cache_bytes: part(workers.assets.cache_bytes, processes) },
    },
  }
}
