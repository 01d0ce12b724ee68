import { createHmac, randomBytes } from 'node:crypto'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'

/** One comparison, as the thread gets it. */
export interface PasswordCheck {
  readonly id: number
  readonly password: string
  readonly hash: string
}

/** Comparisons that wait for the thread, at about 100 ms each. */
const MAX_WAITING = 64
/** Comparisons of one client that wait. */
const MAX_WAITING_PER_CLIENT = 4
const REMEMBERED_MS = 10 * 60_000
const MAX_REMEMBERED = 10_000
/** Wrong passwords of one client per period. */
const MAX_FAILURES = 10
const FAILURE_MS = 60_000
const MAX_CLIENTS = 10_000

const THREAD = new URL(`./password-thread${extname(import.meta.url)}`, import.meta.url)

/** `limited`: the client has sent too many wrong passwords. `busy`: too many comparisons wait. */
export type Verdict = 'right' | 'wrong' | 'limited' | 'busy'

/**
 * Compares passwords with bcrypt hashes in a thread. Right ones are remembered for 10 minutes by an HMAC under a random
 * key, so that one comparison serves many requests.
 */
export class Passwords {
  readonly #key = randomBytes(32)
  readonly #right = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS })
  readonly #failures = new LRUCache<string, { count: number }>({ max: MAX_CLIENTS, ttl: FAILURE_MS })
  readonly #waiting = new Map<number, (isRight: boolean) => void>()
  readonly #clients = new Map<string, number>()
  #thread: Worker | undefined
  #ids = 0

  /** Returns the verdict, at once if it is known. `client` is the key under which wrong passwords are counted. */
  check(client: string, password: string, hash: string): Verdict | Promise<Verdict> {
    const key = createHmac('sha256', this.#key).update(`${hash}\n${password}`).digest('base64')
    if (this.#right.has(key)) return 'right'
    if ((this.#failures.get(client)?.count ?? 0) >= MAX_FAILURES) return 'limited'
    const waiting = this.#clients.get(client) ?? 0
    if (this.#waiting.size >= MAX_WAITING || waiting >= MAX_WAITING_PER_CLIENT) return 'busy'
    this.#clients.set(client, waiting + 1)
    return this.#compare(password, hash).then((isRight) => {
      const left = (this.#clients.get(client) ?? 1) - 1
      if (left > 0) this.#clients.set(client, left)
      else this.#clients.delete(client)
      if (isRight) this.#right.set(key, true)
      else this.#failed(client)
      return isRight ? 'right' : 'wrong'
    })
  }

  #failed(client: string): void {
    const known = this.#failures.get(client)
    if (known) known.count++
    else this.#failures.set(client, { count: 1 })
  }

  async #compare(password: string, hash: string): Promise<boolean> {
    const id = ++this.#ids
    return await new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
      this.#running().postMessage({ id, password, hash })
    })
  }

  #running(): Worker {
    if (this.#thread) return this.#thread
    const thread = new Worker(THREAD)
    thread.on('message', ({ id, isRight }: { id: number; isRight: boolean }) => {
      this.#waiting.get(id)?.(isRight)
      this.#waiting.delete(id)
    })
    const ended = (): void => {
      if (this.#thread !== thread) return
      this.#thread = undefined
      for (const resolve of this.#waiting.values()) resolve(false)
      this.#waiting.clear()
    }
    thread.on('error', ended)
    thread.on('exit', ended)
    // After the listeners, which would keep the process running.
    thread.unref()
    return (this.#thread = thread)
  }
}
