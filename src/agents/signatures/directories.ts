import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { ClientRate } from './client-rate.js'
import { keySetOf, type KeySet, type VerificationKey } from './keys.js'
import type { AgentDirectory } from './signature-agent.js'
import type { NoKey } from './verify.js'

/** A response to a request for a key directory. */
export interface DirectoryAnswer {
  readonly status: number
  /** The value of `content-type`. */
  readonly type: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Buffer
}

export interface DirectoriesDeps {
  /** Gets an address through the guarded egress, without redirects, within {@link DIRECTORY_LIMITS}. Rejects without a response. */
  readonly fetch: (url: URL) => Promise<DirectoryAnswer>
  readonly clock: Clock
  readonly log: Log
}

export const DIRECTORY_TYPE = 'application/http-message-signatures-directory+json'

/** Limits of one fetch. */
export const DIRECTORY_LIMITS = { maxBytes: 65_536, timeoutMs: 3000, accept: DIRECTORY_TYPE } as const

const MAX_DIRECTORIES = 1000
/** Directories that are not known yet. */
const NEW_HOSTS = { periodMs: 60_000, perClient: 60 }
const MAX_FETCHES = 8
/** Of these for one client address, so that one client with slow directories leaves some to others. */
const MAX_FETCHES_PER_CLIENT = 4
const SECOND = 1000
const HOUR = 3600 * SECOND
const DAY = 24 * HOUR
const MIN_FRESH = 5 * SECOND
/** Another fetch because of an unknown key is allowed after this time. */
const REFETCH = 60 * SECOND
/** A directory that responded with something else is fetched again after this time. */
const WRONG = 60 * SECOND
const MIN_UNREACHABLE = 10 * SECOND
const MAX_UNREACHABLE = 300 * SECOND

interface Entry {
  readonly url: string
  readonly type: AgentDirectory['type']
  /** The configuration or the catalogue has it. Others make room for it. */
  readonly isKept: boolean
  keys: KeySet | undefined
  /** On the clock's `monotonic` scale, as the others. */
  freshUntil: number
  /** The keys are used until then if fetches fail. */
  staleUntil: number
  /** No fetch before, after a failure. */
  retryAt: number
  /** No fetch because of an unknown key before. */
  refetchAt: number
  failures: number
  fetching: Promise<void> | undefined
}

/** Key directories of signers. They are fetched when a signature asks for one, and no request waits for a fetch. */
export class KeyDirectories {
  /** The least used one first. */
  readonly #entries = new Map<string, Entry>()
  readonly #deps: DirectoriesDeps
  readonly #newHosts: ClientRate
  #inFlight = 0
  readonly #inFlightOf = new Map<string, number>()

  constructor(deps: DirectoriesDeps) {
    this.#deps = deps
    this.#newHosts = new ClientRate(deps.clock, NEW_HOSTS)
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * Returns a key by its directory and thumbprint, or why there is none now. `share`: key of the client's share.
   * `replaced`: the address or file of a key set that the operator gives in place of the directory. `isKnown`: the catalogue has
   * the directory, so that no client and no other directory delays it or displaces its keys.
   */
  key(
    directory: AgentDirectory,
    keyid: string,
    { share, replaced, isKnown }: { share: string; replaced?: string | undefined; isKnown: boolean },
  ): VerificationKey | NoKey {
    const type = replaced === undefined ? directory.type : 'jwks_uri'
    const client = isKnown || replaced !== undefined ? OPERATOR : share
    const entry = this.#entryOf(replaced ?? directory.url, type, client)
    if (entry === undefined) return 'directory'
    const now = this.#deps.clock.monotonic()
    if (now >= entry.freshUntil && now >= entry.retryAt) this.#fetch(entry, client)
    if (entry.keys === undefined || now >= entry.staleUntil) return 'directory'
    const key = entry.keys.get(keyid)
    if (key === undefined) {
      if (now >= Math.max(entry.retryAt, entry.refetchAt)) this.#fetch(entry, client)
      return 'key'
    }
    const seconds = this.#deps.clock.now() / SECOND
    return seconds < key.notBefore || seconds >= key.expires ? 'key' : key
  }

  /** Fetches the key sets that the operator gives, ahead of signatures. Files are read again. */
  preload(urls: Iterable<string>): void {
    for (const url of urls) {
      const entry = this.#entryOf(url, 'jwks_uri', OPERATOR)
      if (entry && (entry.keys === undefined || url.startsWith('file:'))) this.#fetch(entry, OPERATOR)
    }
  }

  /** Resolves when no fetch is in flight. */
  async settled(): Promise<void> {
    for (const { fetching } of this.#entries.values()) await fetching
  }

  #entryOf(url: string, type: Entry['type'], client: string): Entry | undefined {
    const id = `${type} ${url}`
    const known = this.#entries.get(id)
    if (known !== undefined) {
      this.#entries.delete(id)
      this.#entries.set(id, known)
      return known
    }
    if (client !== OPERATOR && !this.#newHosts.take(client)) return undefined
    if (this.#entries.size >= MAX_DIRECTORIES) this.#drop()
    const entry: Entry = {
      url,
      type,
      isKept: client === OPERATOR,
      keys: undefined,
      freshUntil: -Infinity,
      staleUntil: -Infinity,
      retryAt: -Infinity,
      refetchAt: -Infinity,
      failures: 0,
      fetching: undefined,
    }
    this.#entries.set(id, entry)
    return entry
  }

  /** Makes room: a directory without keys goes first, so that names of nothing displace no keys. */
  #drop(): void {
    let oldest: string | undefined
    for (const [id, { keys, fetching, isKept }] of this.#entries) {
      if (fetching || isKept) continue
      oldest ??= id
      if (keys !== undefined) continue
      this.#entries.delete(id)
      return
    }
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  #fetch(entry: Entry, client: string): void {
    const own = this.#inFlightOf.get(client) ?? 0
    if (entry.fetching || (client !== OPERATOR && (this.#inFlight >= MAX_FETCHES || own >= MAX_FETCHES_PER_CLIENT)))
      return
    this.#inFlight++
    this.#inFlightOf.set(client, own + 1)
    entry.fetching = this.#read(entry).finally(() => {
      entry.fetching = undefined
      this.#inFlight--
      const left = this.#inFlightOf.get(client)! - 1
      if (left > 0) this.#inFlightOf.set(client, left)
      else this.#inFlightOf.delete(client)
    })
  }

  /** Never rejects. */
  async #read(entry: Entry): Promise<void> {
    const { clock, fetch } = this.#deps
    try {
      const answer = entry.url.startsWith('file:') ? await fileAnswer(entry.url) : await fetch(new URL(entry.url))
      const now = clock.monotonic()
      const wrong = issueOf(answer, entry.type)
      if (wrong !== undefined) return this.#failed(entry, now + (answer.status >= 500 ? backoff(entry) : WRONG), wrong)
      let keys: KeySet
      try {
        keys = keySetOf(answer.bytes.toString(), entry.keys)
      } catch (error) {
        return this.#failed(entry, now + WRONG, messageOf(error))
      }
      entry.keys = keys
      entry.freshUntil = now + freshness(answer.headers, clock.now())
      entry.staleUntil = now + DAY
      entry.retryAt = now
      entry.refetchAt = now + REFETCH
      entry.failures = 0
    } catch (error) {
      this.#failed(entry, clock.monotonic() + backoff(entry), messageOf(error))
    }
  }

  /** An outage revokes no keys. The keys of the last copy stay for a day. */
  #failed(entry: Entry, retryAt: number, reason: string): void {
    entry.failures++
    entry.retryAt = retryAt
    if (entry.failures === 1)
      this.#deps.log.info({ event: 'key_directory_failed', url: entry.url.slice(0, 300), reason: reason.slice(0, 300) })
  }
}

/** The client for directories that the configuration or the catalogue names. */
const OPERATOR = ''

const backoff = ({ failures }: Entry): number => Math.min(MAX_UNREACHABLE, MIN_UNREACHABLE * 2 ** Math.min(failures, 5))

const JSON_TYPE = /^(?:[a-z0-9!#$&^_.+-]+\/(?:[a-z0-9!#$&^_.-]+\+)?json)$/

function issueOf({ status, type }: DirectoryAnswer, wanted: Entry['type']): string | undefined {
  if (status !== 200) return `the status is ${status}`
  const media = type.split(';', 1)[0]!.trim().toLowerCase()
  if (wanted === 'directory' ? media === DIRECTORY_TYPE : JSON_TYPE.test(media)) return undefined
  return `the media type is ${media || 'missing'}`
}

async function fileAnswer(url: string): Promise<DirectoryAnswer> {
  const path = url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length)
  return { status: 200, type: 'application/json', headers: {}, bytes: await readFile(path) }
}

/** Returns how long a response is fresh (RFC 9111, 4.2.1), from 5 seconds to a day; an hour if it does not say. */
function freshness(headers: DirectoryAnswer['headers'], now: number): number {
  const control = (headers['cache-control'] ?? '').toLowerCase()
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])/.test(control)) return MIN_FRESH
  const age = Number(headers['age'] ?? 0) * SECOND || 0
  const listed = /(?:^|[\s,])max-age="?(\d{1,10})/.exec(control)?.[1]
  const expires = headers['expires']
  const date = Date.parse(headers['date'] ?? '') || now
  const lifetime =
    listed !== undefined
      ? Number(listed) * SECOND - age
      : expires !== undefined
        ? (Date.parse(expires) || date) - date - age
        : HOUR
  return Math.min(DAY, Math.max(MIN_FRESH, lifetime))
}
