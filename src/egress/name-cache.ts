/** An address is used this long before it is looked up again. The system's resolver does not report a TTL. */
const FRESH_MS = 5000
/** Maximum age of an address if no newer one is available. */
const STALE_MS = 60_000
/** A name with an address that is not too old waits this long for a newer one. */
const PATIENCE_MS = 500
/** A name that could not be resolved is not looked up again for this long. */
const FAILED_MS = 1000
const MAX_NAMES = 10_000

type Resolve = (name: string, tenant: string) => Promise<readonly string[]>

interface Entry {
  addresses: readonly string[]
  /** Until when `addresses` are used without a new lookup, and until when if lookups fail. */
  freshUntil: number
  staleUntil: number
  /** Error of the last lookup, and until when no other is attempted. */
  error: unknown
  failedUntil: number
  /** Lookups by tenant. A name that another tenant waits for may be delayed by that tenant's slow names. */
  readonly pending: Map<string, Promise<readonly string[]>>
}

/**
 * Caches addresses of names. The function that it returns resolves a name as `resolve` does, with one lookup for all
 * callers of a tenant, and returns the last addresses for a time if lookups fail or take long.
 */
export function cachedResolve(resolve: Resolve, now: () => number = () => performance.now()): Resolve {
  const entries = new Map<string, Entry>()

  const lookUp = async (name: string, tenant: string, entry: Entry): Promise<readonly string[]> => {
    try {
      const addresses = await resolve(name, tenant)
      Object.assign(entry, { addresses, freshUntil: now() + FRESH_MS, staleUntil: now() + STALE_MS })
      return addresses
    } catch (error) {
      // A resolver that is overloaded or out of order says nothing about the name.
      if ((error as NodeJS.ErrnoException).code !== 'EAI_AGAIN')
        Object.assign(entry, { error, failedUntil: now() + FAILED_MS })
      if (now() < entry.staleUntil) return entry.addresses
      throw error
    } finally {
      entry.pending.delete(tenant)
    }
  }

  const entryOf = (name: string): Entry => {
    const known = entries.get(name)
    if (known) return known
    if (entries.size >= MAX_NAMES) entries.delete(entries.keys().next().value!)
    const never = { freshUntil: -Infinity, staleUntil: -Infinity, failedUntil: -Infinity }
    const entry: Entry = { addresses: [], error: undefined, ...never, pending: new Map() }
    entries.set(name, entry)
    return entry
  }

  return async (name, tenant) => {
    const entry = entryOf(name)
    const time = now()
    if (time < entry.freshUntil) return entry.addresses
    const usable = time < entry.staleUntil
    if (time < entry.failedUntil) {
      if (usable) return entry.addresses
      throw entry.error
    }
    let pending = entry.pending.get(tenant)
    if (!pending) entry.pending.set(tenant, (pending = lookUp(name, tenant, entry)))
    return usable ? await within(PATIENCE_MS, pending, entry.addresses) : await pending
  }
}

/** Returns the result of `pending` or, if that takes longer, `otherwise`. */
async function within<T>(ms: number, pending: Promise<T>, otherwise: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, ms, otherwise)
  })
  try {
    return await Promise.race([pending, late])
  } finally {
    clearTimeout(timer)
  }
}
