import { rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { HYPERDRIVES } from '../../core/model/hyperdrive.js'
import type { Scope } from '../../core/scope.js'
import type { StoreReader } from '../../core/store.js'
import { secretOf, type Vault } from '../../core/vault.js'

/** Maximum concurrent connections of one configuration. Further ones are closed immediately. */
const MAX_CONNECTIONS = 100

/** A database as a script connects to it. */
export interface HyperdriveTarget {
  /** Path of the unix socket that leads to the database. */
  readonly socket: string
  readonly scheme: string
  readonly database: string
  readonly user: string
  readonly password: string
}

export interface TunnelDeps {
  readonly store: StoreReader
  readonly vault: Pick<Vault, 'open'>
  /** Connects to an address that API users name. Rejects if it is not allowed. */
  readonly connect: (to: { readonly host: string; readonly port: number }) => Promise<Duplex>
  readonly log: Log
}

/** Connections of the scripts of one account to databases, with one socket per configuration. */
export class HyperdriveTunnels {
  readonly #deps: TunnelDeps
  readonly #scope: Scope
  readonly #folder: string
  readonly #servers = new Map<string, { readonly server: Server; readonly socket: string }>()
  readonly #open = new Set<Socket>()

  /** `folder` is for sockets, and its path must be short. */
  constructor(deps: TunnelDeps, scope: Scope, folder: string) {
    this.#deps = deps
    this.#scope = scope
    this.#folder = folder
  }

  /** Returns the server of a configuration. Undefined if it does not exist or its password cannot be decrypted. */
  target(id: string): HyperdriveTarget | undefined {
    const { store, vault, log } = this.#deps
    const config = store.get(HYPERDRIVES, this.#scope, id)?.value
    if (!config) return undefined
    const { scheme, database, user } = config.origin
    try {
      const password = vault.open(config.password.sealed, secretOf(HYPERDRIVES, this.#scope, id))
      return { socket: this.#socket(id), scheme, database, user, password }
    } catch (error) {
      log.error({ event: 'hyperdrive_password_lost', account: this.#scope.id, id, error: messageOf(error) })
      return undefined
    }
  }

  close(): void {
    for (const { server } of this.#servers.values()) server.close()
    for (const socket of this.#open) socket.destroy()
  }

  #socket(id: string): string {
    const known = this.#servers.get(id)
    if (known) return known.socket
    const socket = join(this.#folder, `h${this.#servers.size}`)
    const server = createServer((client) => void this.#tunnel(client, id))
    server.maxConnections = MAX_CONNECTIONS
    server.on('error', (error) => {
      this.#deps.log.error({ event: 'hyperdrive_failed', account: this.#scope.id, id, error: messageOf(error) })
      void rm(socket, { force: true })
    })
    server.listen(socket)
    server.unref()
    this.#servers.set(id, { server, socket })
    return socket
  }

  async #tunnel(client: Socket, id: string): Promise<void> {
    this.#open.add(client)
    client.on('error', () => client.destroy())
    client.on('close', () => this.#open.delete(client))
    const origin = this.#deps.store.get(HYPERDRIVES, this.#scope, id)?.value.origin
    if (!origin) {
      client.destroy()
      return
    }
    try {
      const database = await this.#deps.connect({ host: origin.host, port: origin.port })
      database.on('error', () => client.destroy())
      database.on('close', () => client.destroy())
      client.on('close', () => database.destroy())
      client.pipe(database)
      database.pipe(client)
    } catch (error) {
      const to = `${origin.host}:${origin.port}`
      this.#deps.log.warn({ event: 'hyperdrive_failed', account: this.#scope.id, id, to, error: messageOf(error) })
      client.destroy()
    }
  }
}
