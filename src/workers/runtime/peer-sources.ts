/*
 * Workers of our own that connect the processes of one account.
 */

import { DATABASE_HEADER } from './types.js'

/** Entrypoint of the Worker that calls services of other processes. */
export const PEER_ENTRYPOINT = 'Peer'
/** Suffix for the path of a socket. It names the socket of connections that outlive a handover, such as WebSockets. */
export const UPGRADE_SUFFIX = 'u'

/** Name of the class that forwards to a class in another process. */
export const remoteClass = (namespace: string): string => `Remote_${namespace}`

/**
 * Forwards requests, RPC calls and trace events to services of other processes of the account. Each call opens a
 * separate connection, which ends with the call, because the daemon counts connections to know the calls in flight. A
 * Durable Object therefore calls through an entrypoint, because the context of an object outlives its calls.
 */
export const peersWorker = (
  classes: ReadonlyMap<string, string>,
): string => `import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers'
const isUpgrade = (request) => request.headers.has('upgrade')
export class ${PEER_ENTRYPOINT} extends WorkerEntrypoint {
  constructor(ctx, env) {
    super(ctx, env)
    const { peer, service, entrypoint, props } = ctx.props
    const target = (suffix = '') => env.PEERS.connect('unix:' + peer + suffix).getEntrypoint(service, entrypoint, props)
    const fetch = (request) => target(isUpgrade(request) ? '${UPGRADE_SUFFIX}' : '').fetch(request)
    // Trace events cannot be sent to another process, but their JSON can.
    const tail = (events) => target().tail(JSON.parse(JSON.stringify(events)))
    const own = { fetch, tail }
    let called
    return new Proxy(this, {
      get: (self, name) => (Object.hasOwn(own, name) ? own[name] : name in self ? self[name] : (called ??= target())[name]),
    })
  }
  fetch() {}
  tail() {}
}
const remote = (peer, namespace) => class extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env)
    const object = { namespace, id: ctx.id.toString(), name: ctx.id.name }
    const target = () => ctx.exports.${PEER_ENTRYPOINT}({ props: { peer, service: 'object-calls', entrypoint: 'ObjectCall', props: object } })
    const fetch = (request) => target().fetch(request)
    return new Proxy(this, { get: (self, name) => (name === 'fetch' ? fetch : name in self ? self[name] : target()[name]) })
  }
  fetch() {}
}
${[...classes]
  .map(
    ([id, peer]) => `export const ${remoteClass(id)} = remote(${JSON.stringify(peer)}, ${JSON.stringify(id)})
`,
  )
  .join('')}export default {}
`

/** Receives calls of Durable Objects from other processes. */
export const OBJECTS_WORKER = `import { WorkerEntrypoint } from 'cloudflare:workers'
export class ObjectCall extends WorkerEntrypoint {
  constructor(ctx, env) {
    super(ctx, env)
    const { namespace, id, name } = ctx.props
    const objects = env[namespace]
    const object = name === undefined ? objects.get(objects.idFromString(id)) : objects.getByName(name)
    const fetch = (request) => object.fetch(request)
    return new Proxy(this, { get: (self, name) => (name === 'fetch' ? fetch : name in self ? self[name] : object[name]) })
  }
  fetch() {}
}
export default {}
`

/** Entrypoint of the D1 databases for the API. */
export const D1_ENTRYPOINT = 'Api'

/**
 * Runs the D1 databases of an account for the API and for scripts. A script names a database by the properties of its
 * binding.
 */
export const D1_WORKER = `import { WorkerEntrypoint } from 'cloudflare:workers'
export { default, D1Database } from 'd1.js'
export class ${D1_ENTRYPOINT} extends WorkerEntrypoint {
  fetch(request) {
    return this.ctx.exports.default({ props: { database: request.headers.get('${DATABASE_HEADER}') } }).fetch(request)
  }
}
`
