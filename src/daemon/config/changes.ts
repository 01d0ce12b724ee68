import type { Config } from '../../config/schema.js'
import type { KeptRules } from './kept-rules.js'
import type { Pause } from '../../core/schedule/event-loop-yield.js'

/** Differences between two configurations, by the names of options. They contain no values: those may be secret. */
export interface ConfigChanges {
  /** For example `proxy.limits`, or `zones: changed example.com`. */
  readonly changed: readonly string[]
  /** Changed options that take effect with the next start. */
  readonly restartNeeded: readonly string[]
  /** Rules that the API stored and that are not in force, because the file has their phase. Undefined if there are none. */
  readonly keptRules?: readonly KeptRules[]
}

/** Returns what differs between the configuration in force and the next one; `pause` is called for each entry of a list. */
export async function configChanges(old: Config, next: Config, pause: Pause): Promise<ConfigChanges> {
  const before = comparable(old)
  const after = comparable(next)
  const changed: string[] = []
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
    changed.push(...(await differences(name, before[name], after[name], pause)))
  return {
    changed,
    restartNeeded: Object.entries(AT_START).flatMap(([name, read]) => (isEqual(read(old), read(next)) ? [] : [name])),
  }
}

const comparable = ({ places: _places, ...config }: Config): Readonly<Record<string, unknown>> => ({
  ...config,
  pipelines: withModules(config.pipelines),
})

const isEqual = (a: unknown, b: unknown): boolean => a === b || textOf(a) === textOf(b)

/** Numbers in filters and constants of pipelines can have more digits than JSON allows for. */
const textOf = (value: unknown): string | undefined =>
  JSON.stringify(value, (_name, member: unknown) => (typeof member === 'bigint' ? `${member}n` : member))

async function differences(name: string, old: unknown, next: unknown, pause: Pause): Promise<string[]> {
  if (old === next) return []
  if (Array.isArray(old) && Array.isArray(next)) return await entryDifferences(name, old, next, pause)
  if (isEqual(old, next)) return []
  if (!isObject(old) || !isObject(next)) return [name]
  return [...new Set([...Object.keys(old), ...Object.keys(next)])]
    .filter((member) => !isEqual(old[member], next[member]))
    .map((member) => `${name}.${member}`)
}

/** Compares two lists whose entries have names. */
async function entryDifferences(
  list: string,
  old: readonly unknown[],
  next: readonly unknown[],
  pause: Pause,
): Promise<string[]> {
  const before = byName(old)
  const after = byName(next)
  if (!before || !after) return isEqual(old, next) ? [] : [list]
  const changes: string[] = []
  for (const [name, entry] of after) {
    if (!before.has(name)) changes.push(`added ${name}`)
    else if (!isEqual(before.get(name), entry)) changes.push(`changed ${name}`)
    await pause()
  }
  for (const name of before.keys()) if (!after.has(name)) changes.push(`removed ${name}`)
  if (changes.length > 0) return changes.map((change) => `${list}: ${change}`)
  const order = [...after.keys()]
  return [...before.keys()].every((name, place) => name === order[place]) ? [] : [list]
}

/** Returns the entries by name, or undefined if one has no name, or two have the same. */
function byName(entries: readonly unknown[]): Map<string, unknown> | undefined {
  const found = new Map<string, unknown>()
  for (const entry of entries) {
    const name = isObject(entry) ? (entry['name'] ?? entry['email']) : undefined
    if (typeof name !== 'string' || found.has(name)) return undefined
    found.set(name, entry)
  }
  return found
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the pipelines as in their documents. */
const described = (pipelines: Config['pipelines']): object[] =>
  pipelines.map(({ outputs: _outputs, stored: _stored, tests: _tests, ...document }) => document)

/** As {@link described}, with what differs if the code of a transform has changed. */
const withModules = (pipelines: Config['pipelines']): object[] =>
  described(pipelines).map((document, index) => ({
    ...document,
    modules: pipelines[index]?.outputs.map(({ job }) => job.settings.transform?.digest),
  }))

/** Returns a text that is the same for the same pipelines with the same modules. */
export const describedText = (pipelines: Config['pipelines']): string => textOf(withModules(pipelines)) ?? ''

/** Options that are read only at the start. */
const AT_START: Readonly<Record<string, (config: Config) => unknown>> = {
  data: ({ data }) => data,
  'cache.disk.folder': ({ cache }) => cache.disk?.folder,
  processes: ({ processes }) => processes,
  store: ({ store }) => store,
  secrets: ({ secrets }) => secrets,
  machines: ({ machines }) => machines,
  plugins: ({ plugins }) => plugins,
  'admin.listen': ({ admin }) => admin.listen,
  pipelines: ({ pipelines }) => described(pipelines),
  'control.listen': ({ control }) => control.listen,
  'control.tls': ({ control }) => control.tls,
  'logpush.spool': ({ logpush }) => logpush.spool,
  'logpush.retention_bytes': ({ logpush }) => logpush.retention_bytes,
  'logpush.retention_age': ({ logpush }) => logpush.retention_age,
  'logpush.dead_letter': ({ logpush }) => logpush.dead_letter,
  'logpush.uploads.in_flight': ({ logpush }) => logpush.uploads.in_flight,
  'logpush.uploads.in_flight_per_destination': ({ logpush }) => logpush.uploads.in_flight_per_destination,
  'logpush.uploads.timeout': ({ logpush }) => logpush.uploads.timeout,
  'webhooks.attempts.in_flight_per_destination': ({ webhooks }) => webhooks.attempts.in_flight_per_destination,
  'webhooks.circuit_breaker': ({ webhooks }) => webhooks.circuit_breaker,
  'workers.runtime': ({ workers }) => workers.runtime,
  'workers.domain': ({ workers }) => workers.domain,
  'workers.email': ({ workers }) => workers.email,
  'workers.cache_bytes': ({ workers }) => workers.cache_bytes,
  'workers.assets.cache_bytes': ({ workers }) => workers.assets.cache_bytes,
}
