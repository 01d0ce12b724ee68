import { AgeClock } from '../../core/age-clock.js'
import { messageOf } from '../../core/errors.js'
import {
  StoreUnavailable,
  VersionConflict,
  type AuditEntry,
  type AuditOrder,
  type FoundEntry,
  type Store,
} from '../../core/store.js'
import { keptFrom } from '../records/audit-trail.js'
import { KeyedMutex } from '../../core/keyed-mutex.js'
import type { StoreOptions } from '../records/options.js'
import { committed, conflict, isNothing, type Commit, type Decided } from '../records/record.js'
import {
  commit,
  identity,
  isRefusal,
  openLink,
  RedisEmptied,
  RedisUnreachable,
  RedisUnusable,
  replicated,
  type Link,
} from './connection.js'
import { hasData, KnownEpoch } from './emptied.js'
import { copyRedis } from './copy.js'
import { migrateRedis } from './migrate.js'
import { followed, loadAll, versionOf } from './load.js'
import { refillRedis } from './refill.js'
import { rewriteLog } from './rewrite.js'
import { AUDIT, CHANGES, CHANGES_KEPT, META, rowKey } from './script.js'
import { MemoryIndex } from '../records/memory-index.js'
import { SharedRun } from './shared-run.js'
import { createStore, type Backend } from '../records/create-store.js'
import { VisibleRecords } from '../records/visible-records.js'

const MAX_IN_FLIGHT = 10_000
// How often one change is decided again because another machine was faster.
const MAX_ATTEMPTS = 100
const FOLLOW_MS = 1000
const PROBE_MS = 5000
const RETRY_MS = 250
const TRIM_MS = 60_000
const OWNER_MS = 2000
const ALONE_MS = 1000
const AUDIT_PAGE = 256
const AVERAGED = 16
/** Different errors that are logged while the store is unavailable. */
const MAX_LOGGED = 20
/** Approximate memory of the change stream in Redis if batches are large. */
const CHANGES_BYTES = 16 * 2 ** 20
const MIN_CHANGES_KEPT = 64
/** Maximum time that a change of another machine waits to be read while this machine writes. */
const POLL_MS = 10

/** Opens the store that several machines share. Confirmed data is in Redis, and each machine follows all changes. */
export async function openRedis(url: string, options: StoreOptions, linkOf = openLink): Promise<Store> {
  const link = await linkOf(url, options.log)
  const place = new RedisPlace(url, link, options)
  try {
    await place.begin()
  } catch (error) {
    await place.close()
    const message = `${link.where} cannot be used: ${messageOf(error)}`
    if (link.redis.status === 'ready' && !(error instanceof RedisUnreachable))
      throw new Error(message, { cause: error })
    throw new RedisUnreachable(message, { cause: error })
  }
  return createStore(place)
}

class RedisPlace implements Backend {
  readonly resident: MemoryIndex
  readonly cursors = /^\d{1,15}-\d{1,15}$/
  readonly #url: string
  readonly #link: Link
  readonly #options: StoreOptions
  readonly #visible: VisibleRecords
  readonly #turns = new KeyedMutex()
  readonly #closing = new AbortController()
  #following: Promise<void> | undefined
  #known = { run: '', epoch: '' }
  /** False from the loss of a connection until memory and Redis are known to have the same data. */
  #inSync = false
  /** Reason why the data of a Redis that responds cannot be used. */
  #issue: Error | undefined
  /** Errors that were logged since memory and Redis had the same data last. */
  readonly #logged = new Set<string>()
  /** Redis responds, but rejects writes. */
  #refusing = false
  #probeAt = 0
  #trimAt = 0
  readonly #ages: AgeClock
  #ownerAt = 0
  #aloneUntil = 0
  /** Moving average of the bytes of a batch. */
  #batchBytes = 0
  readonly #underWay = new Set<Promise<Commit>>()
  readonly #epochs: KnownEpoch
  /** True if this machine wrote since the change stream was read. */
  #wrote = false
  /** Ends the pause before the change stream is read again. */
  #wake = new AbortController()
  readonly #catchUp = new SharedRun(async () => await this.#reachLast())

  constructor(url: string, link: Link, options: StoreOptions) {
    this.#url = url
    this.#link = link
    this.#options = options
    this.#ages = new AgeClock(options.clock)
    this.resident = new MemoryIndex(options.log)
    this.#epochs = new KnownEpoch(options)
    this.resident.watch((changes) => {
      const { epoch } = this.#known
      if (epoch !== '' && !this.#epochs.is(epoch) && hasData(changes)) void this.#epochs.write(epoch)
    })
    this.#visible = new VisibleRecords(this.resident, 0)
  }

  /** Loads all records, then follows changes in the background. */
  async begin(): Promise<void> {
    this.#link.redis.on('close', () => this.#lost(`the connection to ${this.#link.where} was lost`))
    await this.#resync()
    this.#following = this.#follow()
  }

  readonly unavailable = (): string | undefined => {
    if (!this.#inSync) return this.#unusable()
    return this.#refusing ? `${this.#link.where} takes no writes` : undefined
  }

  readonly write: Backend['write'] = async (decide, only) => {
    const row = (name: string) => this.resident.row(name)
    if (only === undefined) return await this.#commit(decide(row))
    return await this.#turns.run(only, async () => {
      for (let tries = 1; ; tries += 1) {
        const decided = decide(row)
        try {
          return await this.#commit(decided)
        } catch (error) {
          if (!(error instanceof VersionConflict) || tries === MAX_ATTEMPTS) throw error
        }
      }
    })
  }

  readonly caughtUp = async (): Promise<void> => await this.#catchUp.run()

  readonly close = async (): Promise<void> => {
    await Promise.allSettled(this.#underWay)
    this.#closing.abort()
    this.#link.follower.disconnect()
    await this.#link.redis.quit().catch(() => this.#link.redis.disconnect())
    await this.#following
  }

  async *audit(start: string | undefined, limit: number, order: AuditOrder): AsyncGenerator<FoundEntry> {
    let cursor = start
    for (let left = limit; left > 0;) {
      const page = await this.#auditPage(cursor, Math.min(left, AUDIT_PAGE), order)
      for (const [id, [, json = '{}']] of page) {
        cursor = id
        yield { cursor, entry: JSON.parse(json) as AuditEntry }
      }
      if (page.length < AUDIT_PAGE) return
      left -= page.length
    }
  }

  async #commit(decided: Decided): Promise<Commit> {
    if (isNothing(decided)) return committed(decided, this.#visible.version)
    const { where } = this.#link
    const unavailable = this.unavailable()
    if (unavailable !== undefined) throw new StoreUnavailable(unavailable)
    if (this.#underWay.size >= MAX_IN_FLIGHT)
      throw new StoreUnavailable(`${where} is ${MAX_IN_FLIGHT} writes behind; try again later`)

    const done = this.#confirmed(decided)
    this.#underWay.add(done)
    this.#wrote = true
    try {
      return await done
    } finally {
      this.#underWay.delete(done)
    }
  }

  async #confirmed(decided: Decided): Promise<Commit> {
    const [outcome, version = 0, position = 0, found = 0] = await this.#send(decided)
    if (outcome === 'epoch') {
      this.#lost('its data is not what it was')
      throw new StoreUnavailable(`the data in ${this.#link.where} was replaced and is read anew`)
    }
    if (outcome === 'conflict') {
      // A caller that reads again after this must see the conflicting change.
      await this.#reached(version)
      const { name, ifVersion = 0 } = decided.writes[position - 1]!
      throw conflict(name, found, ifVersion)
    }
    const done = committed(decided, version)
    this.#visible.deliver(version, done.changes)
    await this.#reached(version)
    return done
  }

  /** Resolves after the batch is visible to reads. The change stream is read now if a batch before it is missing. */
  async #reached(version: number): Promise<void> {
    if (version > this.#visible.version) this.#wake.abort()
    await this.#visible.reached(version)
  }

  async #send({ writes, audit }: Decided): Promise<[string, ...number[]]> {
    const bytes = writes.reduce((sum, { json }) => sum + (json?.length ?? 0), 0)
    this.#batchBytes += (bytes - this.#batchBytes) / AVERAGED
    const args = [
      this.#known.epoch,
      Math.max(MIN_CHANGES_KEPT, Math.min(CHANGES_KEPT, Math.floor(CHANGES_BYTES / (this.#batchBytes + 1)))),
      this.#options.retention.entries,
      writes.length,
      ...writes.flatMap(({ ifVersion, json }) => [ifVersion ?? '', json ?? '']),
      ...audit.map((entry) => JSON.stringify(entry)),
    ]
    const keys = writes.map(({ name }) => rowKey(name))
    const { redis, where, failsOver } = this.#link
    try {
      const reply = await commit(redis, keys, args)
      if (!failsOver || reply[0] !== 'done' || (await this.#isSafe())) return reply
    } catch (error) {
      if (!isRefusal(error)) throw this.#broken(error)
      const reason = `${where}: ${messageOf(error)}`
      this.#reject(reason)
      throw new StoreUnavailable(reason, { cause: error })
    }
    // The change stream makes it visible if it stays.
    throw new StoreUnavailable(`no replica of ${where} confirmed the change in time; it may have been made`)
  }

  /** Returns whether the writes so far survive the loss of the master, as far as that is possible now. */
  async #isSafe(): Promise<boolean> {
    const { clock, log } = this.#options
    // Every write would wait for a replica that does not exist.
    if (clock.monotonic() < this.#aloneUntil) return true
    const found = await replicated(this.#link.redis)
    if (found !== 'alone') return found === 'yes'
    this.#aloneUntil = clock.monotonic() + ALONE_MS
    log.warn({ event: 'redis_without_replica', store: this.#link.where })
    return true
  }

  /** Waits until memory has the last batch of Redis. */
  async #reachLast(): Promise<void> {
    const { redis, where } = this.#link
    if (!this.#inSync) throw new StoreUnavailable(this.#unusable())
    const [epoch, version] = await redis.hmget(META, 'epoch', 'version').catch((error: unknown) => {
      throw this.#broken(error)
    })
    if (epoch === this.#known.epoch) return await this.#reached(Number(version))
    this.#lost('its data is not what it was')
    throw new StoreUnavailable(`the data in ${where} was replaced and is read anew`)
  }

  /** Treats the connection as lost. Returns the error for the caller. */
  #broken(error: unknown): StoreUnavailable {
    const reason = `${this.#link.where}: ${messageOf(error)}`
    this.#lost(reason)
    // In any other state it connects already, and would stop.
    if (this.#link.redis.status === 'ready') this.#link.redis.disconnect(true)
    return new StoreUnavailable(reason, { cause: error })
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        if (!this.#inSync) await this.#resync()
        await this.#readChanges()
        await this.#upkeep()
      } catch (error) {
        if (signal.aborted) return
        if (this.#lost(messageOf(error))) this.#logged.add(messageOf(error))
        this.#blocked(error)
        if (this.#link.follower.status === 'ready') this.#link.follower.disconnect(true)
        await this.#options.clock.sleep(RETRY_MS, signal).catch(() => undefined)
      }
    }
  }

  async #readChanges(): Promise<void> {
    const isWriting = this.#wrote || this.#underWay.size > 0
    this.#wrote = false
    if (isWriting && !(await this.#mustRead())) return
    const from = `${this.#visible.version}-0`
    // A blocked read would return each batch of this machine, whose content it knows.
    const { follower } = this.#link
    const response = isWriting
      ? await follower.xread('COUNT', 256, 'STREAMS', CHANGES, from)
      : await follower.xread('COUNT', 256, 'BLOCK', FOLLOW_MS, 'STREAMS', CHANGES, from)
    for (const entry of response?.[0]?.[1] ?? []) {
      // Most entries are changes of this machine, which it has already applied.
      if (versionOf(entry) <= this.#visible.version) continue
      const { version, changes } = followed(entry)
      // The next change was already cut from the stream.
      if (version > this.#visible.version + 1) return await this.#reload()
      this.#visible.deliver(version, changes)
    }
  }

  /** Waits for a moment. Returns whether the change stream is to be read although this machine writes. */
  async #mustRead(): Promise<boolean> {
    const signal = AbortSignal.any([this.#closing.signal, this.#wake.signal])
    await this.#options.clock.sleep(POLL_MS, signal).catch(() => undefined)
    if (this.#wake.signal.aborted) {
      this.#wake = new AbortController()
      return true
    }
    // A batch of another machine among those in flight is noticed by the version of the response.
    const version = Number(await this.#link.follower.hget(META, 'version'))
    return version > this.#visible.version + this.#underWay.size
  }

  /** Ensures that memory has the data of Redis, which may be another server or have been restarted. */
  async #resync(): Promise<void> {
    const { redis, follower } = this.#link
    const audit: Store['audit'] = (cursor, limit = Infinity, order = 'oldest_first') => this.audit(cursor, limit, order)
    await follower.ping()
    // Keys of another type fail here, not in the middle of a batch.
    await redis.xlen(CHANGES)
    await redis.xlen(AUDIT)
    await migrateRedis(redis, {
      log: this.#options.log,
      copy: async (schema, version, rows) =>
        await copyRedis({ url: this.#url, redis, schema, version, rows, audit }, this.#options),
    })
    let found = await identity(redis)
    if (found.run !== this.#known.run || found.epoch !== this.#known.epoch) {
      if (await this.#refilled(found.epoch)) found = await identity(redis)
      await rewriteLog(redis, found.run, this.#options.log, this.#options.clock)
      await this.#reload({ anew: true })
      this.#known = found
      const hadData = (await this.#epochs.read()) !== undefined
      if (hadData || hasData(this.resident.rows())) await this.#epochs.write(found.epoch)
    }
    this.#inSync = true
    this.#issue = undefined
    this.#logged.clear()
    this.#options.log.info({ event: 'store_available', store: this.#link.where })
  }

  /**
   * Writes the records of this machine into a Redis that has lost all records of users. Returns false if that is not
   * needed. Throws RedisEmptied if this machine had some before its start.
   */
  async #refilled(epoch: string): Promise<boolean> {
    const known = await this.#epochs.read()
    if (known === undefined || known === epoch) return false
    const { redis, where } = this.#link
    const { rows } = await loadAll(redis)
    if (hasData(rows.values())) return false
    if (this.#known.epoch !== '') {
      if (!hasData(this.resident.rows())) return false
      const refilled = await refillRedis(redis, this.resident.rows(), this.#visible.version)
      const error = 'all records in it were gone; this machine has written its own into it again'
      if (refilled) this.#options.log.error({ event: 'store_replaced', store: where, error })
      return true
    }
    // One machine accepts for all.
    if (this.#options.acceptEmpty === true) await redis.hset(META, 'accepted', epoch)
    else if ((await redis.hget(META, 'accepted')) !== epoch) throw new RedisEmptied()
    return false
  }

  async #reload(options?: { anew: boolean }): Promise<void> {
    const { version, rows } = await loadAll(this.#link.redis)
    this.#visible.replace(rows, version, options)
  }

  /** Returns false if that was known. */
  #lost(reason: string): boolean {
    if (!this.#inSync) return false
    this.#inSync = false
    this.#visible.breakOff(reason)
    if (!this.#closing.signal.aborted) this.#options.log.error({ event: 'store_unavailable', error: reason })
    return true
  }

  #unusable(): string {
    const { where } = this.#link
    return this.#issue === undefined ? `${where} is out of reach` : `${where} cannot be used: ${this.#issue.message}`
  }

  /** Notes why the data cannot be used although Redis responds, and logs each error once. */
  #blocked(error: unknown): void {
    const isIssue = error instanceof RedisUnusable || error instanceof RedisUnreachable || isRefusal(error)
    const message = messageOf(error)
    this.#issue = isIssue ? new Error(message) : undefined
    if (this.#logged.has(message) || this.#logged.size >= MAX_LOGGED) return
    this.#logged.add(message)
    const line = {
      event: isIssue ? 'store_unusable' : 'store_still_unavailable',
      store: this.#link.where,
      error: message,
    }
    if (isIssue) this.#options.log.error(line)
    else this.#options.log.warn(line)
  }

  #reject(reason: string): void {
    if (this.#refusing) return
    this.#refusing = true
    this.#probeAt = this.#options.clock.monotonic() + PROBE_MS
    this.#options.log.error({ event: 'store_unavailable', error: reason })
  }

  /** Checks whether Redis accepts writes again, and drops audit entries that are too old. */
  async #upkeep(): Promise<void> {
    const { clock, log, retention } = this.#options
    const { redis, where } = this.#link
    const now = clock.monotonic()
    if (this.#refusing && now >= this.#probeAt) {
      this.#probeAt = now + PROBE_MS
      try {
        await redis.hset(META, 'probe', clock.now())
        this.#refusing = false
        log.info({ event: 'store_available', store: where })
      } catch (error) {
        if (!isRefusal(error)) throw error
        log.debug({ event: 'store_still_unavailable', error: messageOf(error) })
      }
    }
    if (this.#link.failsOver && now >= this.#ownerAt) {
      this.#ownerAt = now + OWNER_MS
      // A master that was cut off from the others still responds, and its writes will be lost.
      if (await this.#link.isReplaced()) throw this.#broken(new Error('another server took over'))
    }
    if (retention.days !== undefined && now >= this.#trimAt) {
      this.#trimAt = now + TRIM_MS
      await redis.xtrim(AUDIT, 'MINID', '~', String(keptFrom(retention, this.#ages.now())))
    }
  }

  async #auditPage(
    cursor: string | undefined,
    limit: number,
    order: AuditOrder,
  ): Promise<[id: string, fields: string[]][]> {
    const { redis } = this.#link
    const behind = cursor === undefined ? undefined : `(${cursor}`
    try {
      return order === 'newest_first'
        ? await redis.xrevrange(AUDIT, behind ?? '+', '-', 'COUNT', limit)
        : await redis.xrange(AUDIT, behind ?? '-', '+', 'COUNT', limit)
    } catch (error) {
      throw new StoreUnavailable(`the audit record cannot be read: ${messageOf(error)}`, { cause: error })
    }
  }
}
