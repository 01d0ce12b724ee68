import { AgeClock } from '../../core/age-clock.js'
import type { Clock } from '../../core/clock.js'
import type { Closable } from '../../core/closing-stack.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { objectId, R2_OBJECTS, R2_UPLOADS, type StoredObject } from '../../core/model/objects.js'
import { R2_LIFECYCLES, type LifecycleCondition, type LifecycleRule } from '../../core/model/bucket-settings.js'
import { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import type { Scope } from '../../core/scope.js'
import { VersionConflict, type Store, type Stored, type Write } from '../../core/store.js'
import { ObjectError } from './object-error.js'
import type { ObjectUploads } from './object-uploads.js'
import { firstFrom } from './sorted.js'

const EVERY_MS = 60_000
/** Changes of one batch. */
const BATCH = 500

export interface LifecycleDeps {
  readonly store: Store
  readonly uploads: ObjectUploads
  readonly clock: Clock
  readonly log: Log
}

/** Applies the lifecycle rules of buckets. */
export class ObjectLifecycle {
  readonly #deps: Omit<LifecycleDeps, 'log'>
  readonly #ages: AgeClock
  readonly #slices = new EventLoopYield()

  constructor(deps: Omit<LifecycleDeps, 'log'>) {
    this.#deps = deps
    this.#ages = new AgeClock(deps.clock)
  }

  /** Applies all rules once. Resolves with the number of objects and uploads that changed. */
  async run(): Promise<number> {
    const { store } = this.#deps
    const now = this.#ages.now()
    let changed = 0
    for (const { scope, id: bucket, value } of store.list(R2_LIFECYCLES)) {
      const rules = value.rules.filter(({ enabled }) => enabled)
      if (rules.length === 0) continue
      changed += await this.#changeObjects(scope, bucket, rules, now)
      changed += await this.#endUploads(scope, bucket, rules, now)
    }
    return changed
  }

  async #changeObjects(scope: Scope, bucket: string, rules: readonly LifecycleRule[], now: number): Promise<number> {
    let writes: Write[] = []
    let changed = 0
    const flush = async () => {
      const batch = writes
      writes = []
      if (batch.length > 0) changed += await this.#write(batch)
    }
    for (const { id, key, version, value } of inBucket(this.#deps.store.list(R2_OBJECTS, scope), bucket)) {
      const next = changedObject(key, value, rules, now)
      if (next !== value) writes.push({ kind: R2_OBJECTS, scope, id, value: next, ifVersion: version })
      if (writes.length === BATCH) await flush()
      await this.#slices.yieldToEventLoop()
    }
    await flush()
    return changed
  }

  /** Returns the number of changes. An object that was written meanwhile keeps its batch for the next time. */
  async #write(batch: readonly Write[]): Promise<number> {
    try {
      await this.#deps.store.batch(batch)
      return batch.length
    } catch (error) {
      if (error instanceof VersionConflict) return 0
      throw error
    }
  }

  async #endUploads(scope: Scope, bucket: string, rules: readonly LifecycleRule[], now: number): Promise<number> {
    let ended = 0
    for (const { key: upload, value } of inBucket(this.#deps.store.list(R2_UPLOADS, scope), bucket)) {
      const { key, created } = value
      const isOver = rules.some(
        (rule) => isFor(rule, key) && isDue(rule.abortMultipartUploadsTransition?.condition, created, now),
      )
      if (!isOver) continue
      try {
        await this.#deps.uploads.abort({ scope, bucket, key }, upload)
        ended++
      } catch (error) {
        // It was completed meanwhile.
        if (!(error instanceof ObjectError)) throw error
      }
    }
    return ended
  }
}

/** Yields the records of a bucket, each with the rest of its id. */
function* inBucket<T>(all: readonly Stored<T>[], bucket: string): Generator<Stored<T> & { readonly key: string }> {
  const prefix = objectId(bucket, '')
  for (let at = firstFrom(all, prefix); at < all.length; at++) {
    const record = all[at]!
    if (!record.id.startsWith(prefix)) return
    yield { ...record, key: record.id.slice(prefix.length) }
  }
}

/** Returns the object as the rules make it now. Returns undefined if a rule deletes it. */
function changedObject(
  key: string,
  object: StoredObject,
  rules: readonly LifecycleRule[],
  now: number,
): StoredObject | undefined {
  const own = rules.filter((rule) => isFor(rule, key))
  const { uploaded, storage_class } = object
  if (own.some((rule) => isDue(rule.deleteObjectsTransition?.condition, uploaded, now))) return undefined
  const transition = own
    .flatMap(({ storageClassTransitions = [] }) => storageClassTransitions)
    .find(({ condition }) => isDue(condition, uploaded, now))
  if (!transition || transition.storageClass === storage_class) return object
  return { ...object, storage_class: transition.storageClass }
}

const isFor = ({ conditions: { prefix = '' } }: LifecycleRule, key: string): boolean => key.startsWith(prefix)

/** Returns whether a condition is met for an object or upload that began at a time. */
function isDue(condition: LifecycleCondition | undefined, began: number, now: number): boolean {
  if (!condition) return false
  return condition.type === 'Age' ? now - began >= condition.maxAge * 1000 : now >= Date.parse(condition.date)
}

/** Applies lifecycle rules once a minute until it is closed. */
export function startLifecycle({ log, ...deps }: LifecycleDeps): Closable {
  const ended = new AbortController()
  const lifecycle = new ObjectLifecycle(deps)
  const run = async (): Promise<void> => {
    for (;;) {
      await deps.clock.sleep(EVERY_MS, ended.signal)
      try {
        const changed = await lifecycle.run()
        if (changed > 0) log.info({ event: 'object_lifecycle_applied', changed })
      } catch (error) {
        log.warn({ event: 'object_lifecycle_failed', error: messageOf(error) })
      }
    }
  }
  // Ends by the signal alone.
  const running = run().catch(() => undefined)
  return {
    async close() {
      ended.abort()
      await running
    },
  }
}
