import { once } from 'node:events'
import type { Server } from 'node:net'
import { bind, listenFailure } from '../../http/listen.js'

/** The listeners that systemd may open. */
const NAMES = ['proxy', 'proxy_tls', 'control'] as const
type ActivatedName = (typeof NAMES)[number]

/** The first file descriptor of those that are passed (sd_listen_fds(3)). */
const FIRST_FD = 3

/**
 * The listening sockets that systemd passes to the daemon (socket activation). Each is used once, instead of the address
 * of the configuration; a reload that changes the address opens that one.
 */
export class ActivatedSockets {
  readonly #fds = new Map<ActivatedName, number>()

  /**
   * Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, and removes them: child processes must not use them. Sockets without
   * a known name are used in the order proxy, proxy_tls, control.
   */
  constructor(env: NodeJS.ProcessEnv, pid = process.pid) {
    const { LISTEN_PID: owner, LISTEN_FDS: count, LISTEN_FDNAMES: names = '' } = env
    for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete env[name]
    if (Number(owner) !== pid) return
    const given = names.split(':')
    for (let i = 0; i < Number(count); i++) {
      const name = NAMES.find((each) => each === given[i]) ?? NAMES.find((each) => !this.#fds.has(each))
      if (name !== undefined) this.#fds.set(name, FIRST_FD + i)
    }
  }

  /** Returns the descriptor for a listener, if it was passed and is not used yet. */
  take(name: ActivatedName): number | undefined {
    const fd = this.#fds.get(name)
    this.#fds.delete(name)
    return fd
  }

  /** Makes a server listen on its passed socket, or on the address if there is none. */
  readonly bind = async (server: Server, address: string, name: ActivatedName): Promise<void> => {
    const fd = this.take(name)
    if (fd === undefined) return await bind(server, address, name)
    server.listen({ fd })
    try {
      await once(server, 'listening')
    } catch (error) {
      throw new Error(`the socket ${name} of systemd is not usable: ${listenFailure(address, error, name)}`, {
        cause: error,
      })
    }
  }
}
