import { Agent as HttpAgent, type ClientRequest, type ClientRequestArgs } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { NotPublic, type AgentOptions, type GuardedAgents } from './egress.js'

/** What guards connections; what it says may change with the configuration. */
export interface Gate {
  /** The same value as long as nothing changed. */
  readonly rules: object
  /** Authorities to trust; undefined: the default ones. */
  readonly secureContext: SecureContext | undefined
  /** Whether a connection may be tried: false for an address that is not allowed. Names are left to {@link lookup}. */
  mayDial(host: string, port: number): boolean
  /** Looks names up for connections to a port; fails unless all answers are allowed. */
  lookup(port: number): LookupFunction
}

/** Agents that are the way out of one destination. */
export interface Guarded extends GuardedAgents {
  /** The gate's rules have changed: no connection that was made before gets another request. */
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
    // A path here is that of a unix socket.
    const allowed = !socketPath && !path && gate.mayDial(host, port)
    const { secureContext } = gate
    const socket = connect({
      ...options,
      ...(allowed ? { host, lookup: gate.lookup(port) } : NOWHERE),
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
  // Node looks whether the socket is still writable once this listener has run.
  agent.prependListener('free', (socket: object & { destroy(): void }) => {
    if (isRetired() || madeUnder.get(socket) !== gate.rules) socket.destroy()
  })
  return agent
}

/** What takes the requests of an agent; not among the types of Node. */
interface Taker {
  addRequest(request: ClientRequest, ...more: readonly unknown[]): void
}

/** Nobody asks for another protocol here. Node ends such a request without a word to whoever waits for its answer. */
function rejectSwitch(this: ClientRequest, _response: unknown, socket: Socket): void {
  socket.destroy()
  const error = new Error('the destination switched protocols without being asked to')
  this.emit('error', Object.assign(error, { code: 'ECONNRESET' }))
}

const refuse: LookupFunction = (_name, _options, callback) => process.nextTick(callback, new NotPublic(), '', 0)
// A lookup that fails, like that of a name: handing an agent an error in place of a socket makes Node report it twice to
// requests that waited.
const NOWHERE = { host: 'refused.invalid', lookup: refuse }
