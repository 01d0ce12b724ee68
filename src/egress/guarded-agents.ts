import { Agent as HttpAgent, type ClientRequest, type ClientRequestArgs } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { AgentOptions, GuardedAgents, NotPublic } from './egress.js'

/** Guard of connections. Its decisions may change with the configuration. */
export interface Gate {
  /** Stays the same value while nothing changed. */
  readonly rules: object
  /** Authorities to trust. Undefined for the default authorities. */
  readonly secureContext: SecureContext | undefined
  /**
   * Returns whether a connection may be attempted. False for an address that is not allowed. Names are checked by
   * {@link lookup}.
   */
  mayDial(host: string, port: number): boolean
  /** Looks up names for connections to a port. Fails unless all addresses are allowed. */
  lookup(port: number): LookupFunction
  /** The error of a connection to an address that may not be attempted. */
  notPublic(host: string, port: number): NotPublic
}

/** Agents for the requests to one destination. */
export interface Guarded extends GuardedAgents {
  /** Applies changed rules of the gate. Connections opened before get no further request. */
  renew(): void
}

/** Agents whose connections all pass the gate. */
export function guardedAgents(gate: Gate, { maxSockets = 4, rejectUnauthorized = true }: AgentOptions): Guarded {
  const common = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets }
  let retired = false
  const isRetired = () => retired
  const http = guard(new HttpAgent(common), gate, isRetired)
  const https = guard(new HttpsAgent({ ...common, rejectUnauthorized }), gate, isRetired)
  const renew = () => {
    for (const agent of [http, https])
      for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
  }
  return {
    http,
    https,
    renew,
    retire() {
      retired = true
      renew()
    },
    destroy() {
      http.destroy()
      https.destroy()
    },
  }
}

function guard<A extends HttpAgent>(agent: A, gate: Gate, isRetired: () => boolean): A {
  const madeUnder = new WeakMap<object, object>()
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = ({ socketPath, path, ...options }: ClientRequestArgs & { path?: unknown }) => {
    const host = (options.host ?? '').replace(/^\[|\]$/g, '')
    const port = Number(options.port)
    // A path here is the path of a unix socket.
    const allowed = !socketPath && !path && gate.mayDial(host, port)
    const { secureContext } = gate
    const socket = connect({
      ...options,
      ...(allowed ? { host, lookup: gate.lookup(port) } : nowhere(gate.notPublic(host, port))),
      ...(secureContext && { secureContext }),
    })
    if (socket) madeUnder.set(socket, gate.rules)
    return socket
  }
  const takers = agent as unknown as Taker
  const take = takers.addRequest.bind(agent)
  takers.addRequest = (request, ...more) => {
    request.on('upgrade', rejectSwitch)
    take(request, ...more)
  }
  // Node checks whether the socket is still writable after this listener has run.
  agent.prependListener('free', (socket: object & { destroy(): void }) => {
    if (isRetired() || madeUnder.get(socket) !== gate.rules) socket.destroy()
  })
  return agent
}

/** Accepts the requests of an agent. Not declared in the types of Node. */
interface Taker {
  addRequest(request: ClientRequest, ...more: readonly unknown[]): void
}

/**
 * No other protocol is requested here. Node ends such a request without an error for code that waits for its response.
 */
function rejectSwitch(this: ClientRequest, _response: unknown, socket: Socket): void {
  socket.destroy()
  const error = new Error('the destination switched protocols without being asked to')
  this.emit('error', Object.assign(error, { code: 'ECONNRESET' }))
}

// Fails like the lookup of a name. If an agent got an error instead of a socket, Node would report the error twice to
// requests that waited.
const nowhere = (error: NotPublic): { readonly host: string; readonly lookup: LookupFunction } => ({
  host: 'refused.invalid',
  lookup: (_name, _options, callback) => process.nextTick(callback, error, '', 0),
})
