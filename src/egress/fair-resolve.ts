import { lookup } from 'node:dns/promises'

/** Returns all addresses of a name. `tenant` is the tenant of the lookup. */
export type Resolve = (name: string, tenant?: string) => Promise<readonly string[]>

/** Queries the system resolver, which uses its hosts file, its search domains and its name servers. */
export const systemResolve: Resolve = async (name) =>
  (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address)

/** Node uses four threads for lookups and files. One is reserved for files. */
const MAX_QUICK = 2
const MAX_SLOW = 1
/** A name that took longer than this is slow, and so is its tenant, until a lookup is quick again. */
const SLOW_MS = 1000
const MAX_SLOW_NAMES = 10_000
const MAX_QUEUED_PER_TENANT = 1000

type Addresses = Promise<readonly string[]>

interface Job {
  readonly name: string
  readonly tenant: string | undefined
  /** Resolve the promises of its callers. */
  readonly callers: ((addresses: Addresses) => void)[]
}

/**
 * Lookups that delay neither the disk nor each other. Callers that want the same name share one lookup, a tenant has
 * one concurrent lookup, and slow names, like the names of a tenant with slow names, wait only for each other.
 */
export function fairResolve(resolve: Resolve, now: () => number = () => performance.now()): Resolve {
  /** Running lookups, by name. */
  const inProgress = new Map<string, Addresses>()
  /** By tenant and name. A tenant does not wait for a queued job of another tenant. */
  const queues = new Map<string | undefined, Map<string, Job>>()
  const slow = { names: new Set<string>(), tenants: new Set<string>() }
  const busyTenants = new Set<string>()
  const running = { quick: 0, slow: 0 }

  const isSlow = ({ name, tenant }: Job): boolean =>
    slow.names.has(name) || (tenant !== undefined && slow.tenants.has(tenant))

  const startNext = (): void => {
    for (const [tenant, queue] of queues) {
      for (const job of queue.values()) {
        const same = inProgress.get(job.name)
        if (!same) {
          if (tenant !== undefined && busyTenants.has(tenant)) break
          if (isSlow(job) ? running.slow >= MAX_SLOW : running.quick >= MAX_QUICK) continue
        }
        queue.delete(job.name)
        const addresses = same ?? timed(job)
        for (const resolveCaller of job.callers) resolveCaller(addresses)
      }
      if (queue.size === 0) queues.delete(tenant)
    }
  }

  const timed = (job: Job): Addresses => {
    const { name, tenant } = job
    const lane = isSlow(job) ? 'slow' : 'quick'
    const started = now()
    running[lane]++
    if (tenant !== undefined) busyTenants.add(tenant)
    const addresses = resolve(name, tenant).finally(() => {
      running[lane]--
      const tookLong = now() - started > SLOW_MS
      mark(slow.names, name, tookLong)
      if (tenant !== undefined) {
        busyTenants.delete(tenant)
        mark(slow.tenants, tenant, tookLong)
        // The other tenants are served first from now on.
        const queue = queues.get(tenant)
        if (queue && queues.delete(tenant)) queues.set(tenant, queue)
      }
      inProgress.delete(name)
      startNext()
    })
    inProgress.set(name, addresses)
    return addresses
  }

  return async (name, tenant) => {
    const queue = queues.get(tenant) ?? new Map<string, Job>()
    const running = inProgress.get(name)
    if (running) return await running
    const addresses = new Promise<readonly string[]>((resolveCaller) => {
      const queued = queue.get(name)
      if (queued) queued.callers.push(resolveCaller)
      else if (queue.size < MAX_QUEUED_PER_TENANT) queue.set(name, { name, tenant, callers: [resolveCaller] })
      else throw Object.assign(new Error('too many lookups wait'), { code: 'EAI_AGAIN' })
    })
    queues.set(tenant, queue)
    startNext()
    return await addresses
  }
}

function mark(names: Set<string>, name: string, isSlow: boolean): void {
  names.delete(name)
  if (isSlow && names.size < MAX_SLOW_NAMES) names.add(name)
}
