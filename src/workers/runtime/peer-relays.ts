import { rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { UPGRADE_SUFFIX } from './peer-sources.js'
import type { WorkerCalls } from './worker-calls.js'

/** Maximum concurrent connections between the processes of one account. Further ones are closed immediately. */
const MAX_CONNECTIONS = 4096
const BACKLOG = 1024
/** Maximum time that a handover waits for a connection without a response. Until its protocol is switched it may stay open for hours. */
const SWITCH_MS = 1000

export interface RelayDeps {
  readonly folder: string
  readonly accountId: string
  readonly log: Log
  /** Calls in flight from process to process. */
  readonly calls: WorkerCalls
  /** Opens a call from one process to another. Waits while that one is replaced. */
  readonly open: (call: PeerCall) => Promise<OpenCall>
}

/** A call from one process to another. */
export interface PeerCall {
  readonly from: string
  readonly to: string
  /** True if it may outlive the target process, for example as a WebSocket. */
  readonly mayStay: boolean
}

/** A connection to the process that is called, and how to end the call. */
export interface OpenCall {
  readonly peer: Duplex
  readonly done: () => void
}

/**
 * Connects the processes of one account with each other, because a process cannot know when another one is replaced.
 * Each connection is one call and counts as a request in flight until it ends.
 */
export class PeerRelays {
  readonly #deps: RelayDeps
  readonly #paths = new Map<string, string>()
  readonly #servers: Server[] = []
  readonly #open = new Set<Duplex>()

  constructor(deps: RelayDeps) {
    this.#deps = deps
  }

  /** Returns the path of the socket that leads from one process to another. */
  path(from: string, to: string): string {
    const name = `${from}-${to}`
    const known = this.#paths.get(name)
    if (known !== undefined) return known
    const path = join(this.#deps.folder, name)
    this.#paths.set(name, path)
    this.#listen(path, (client) => void this.#relay(client, { from, to, mayStay: false }))
    this.#listen(`${path}${UPGRADE_SUFFIX}`, (client) => void this.#relay(client, { from, to, mayStay: true }))
    return path
  }

  /** Receives a call over a connection from another machine. `opened` is called before its first byte. */
  async accept(client: Duplex, call: PeerCall, opened: () => void): Promise<void> {
    await this.#relay(client, call, opened)
  }

  close(): void {
    for (const server of this.#servers) server.close()
    for (const socket of this.#open) socket.destroy()
  }

  #listen(path: string, accept: (client: Socket) => void): void {
    const server = createServer(accept)
    server.on('error', (error) => {
      const { log, accountId } = this.#deps
      log.error({ event: 'worker_relay_failed', account: accountId, error: messageOf(error) })
      void rm(path, { force: true })
    })
    server.listen({ path, backlog: BACKLOG })
    server.unref()
    this.#servers.push(server)
  }

  async #relay(client: Duplex, call: PeerCall, opened?: () => void): Promise<void> {
    const { calls, open } = this.#deps
    client.on('error', () => client.destroy())
    const ended = this.#open.size < MAX_CONNECTIONS ? calls.begin(call.from, call.to) : undefined
    if (!ended) {
      client.destroy()
      return
    }
    const steps = [ended]
    const release = (): void => {
      for (const step of steps.splice(0)) step()
    }
    this.#open.add(client)
    client.once('close', () => {
      this.#open.delete(client)
      release()
    })
    try {
      const { peer, done } = await open(call)
      steps.push(done)
      if (client.destroyed) {
        release()
        peer.destroy()
      } else {
        opened?.()
        tunnel(client, peer)
      }
      if (call.mayStay) setTimeout(release, SWITCH_MS).unref()
    } catch {
      client.destroy()
    }
  }
}

function tunnel(client: Duplex, peer: Duplex): void {
  client.pipe(peer)
  peer.pipe(client)
  peer.on('error', () => client.destroy())
  peer.on('close', () => client.destroy())
  client.on('close', () => peer.destroy())
}
