import type { ResourceHandler } from '../resource-server.js'

/** The Cache API of a server without a cache for scripts: `put` succeeds and `match` finds nothing. */
export const emptyCache: ResourceHandler = ({ method }) => {
  if (method === 'PUT') return { status: 204 }
  return method === 'PURGE' ? { status: 404 } : { status: 504, headers: { 'cf-cache-status': 'MISS' } }
}
