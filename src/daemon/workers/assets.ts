import type { Blobs } from '../../core/blobs.js'
import type { ResourceHandler } from '../../workers/runtime/resource-server.js'
import type { WorkerRegistry } from './registry.js'

const CACHE_CONTROL = 'public, max-age=0, must-revalidate'

/** The assets binding of scripts: serves the files of the version, without running the Worker. */
export function assetsResource(workers: WorkerRegistry, blobs: Blobs): ResourceHandler {
  return async ({ scope, id, method, url, headers }) => {
    const site = await workers.assetSite(scope, id)
    if (!site) return { status: 404 }
    const host = (headers.host ?? '').split(':', 1)[0]?.toLowerCase() ?? ''
    const decision = site.decide({ method, host, target: url, navigates: false })
    const fields = (path: string, own: readonly string[]): Record<string, string> => {
      const all = site.headers(host, path, own)
      return Object.fromEntries(all.flatMap((name, i) => (i % 2 === 0 ? [[name, all[i + 1] ?? '']] : [])))
    }
    switch (decision.kind) {
      case 'redirect':
        return { status: decision.status, headers: fields(decision.path, ['location', decision.location]) }
      case 'method_not_allowed':
        return { status: 405, headers: { allow: 'GET, HEAD' } }
      case 'worker':
        return { status: 404 }
      case 'missing':
        return { status: 404, headers: fields(decision.path, []) }
      case 'file': {
        const { file, status, path } = decision
        const etag = `"${file.blob.slice(0, 32)}"`
        const type = file.type === undefined ? [] : ['content-type', file.type]
        const sent = fields(path, [...type, 'etag', etag, 'cache-control', CACHE_CONTROL])
        const asked = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
        if (status === 200 && (asked.includes(etag) || asked.includes('*'))) return { status: 304, headers: sent }
        const bytes = method === 'HEAD' ? undefined : await blobs.get(file.blob)
        return { status, headers: sent, ...(bytes && { body: bytes }) }
      }
    }
  }
}
