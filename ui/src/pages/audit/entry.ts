/** A change as `GET /accounts/{id}/edged/audit` returns it. */
export interface Entry {
  readonly at: string
  readonly actor: { readonly type: string; readonly id: string; readonly name?: string }
  readonly action: string
  readonly resource: { readonly kind: string; readonly id: string; readonly zone_id: string | null }
  readonly object: {
    readonly type: string
    readonly id: string
    readonly name: string | null
    readonly zone: string | null
  }
  readonly before?: unknown
  readonly after?: unknown
  readonly request_id: string
}

const VERBS: Readonly<Record<string, string>> = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  purge: 'purged',
  deploy: 'deployed',
  retry: 'sent again',
  test: 'tested',
}

/** Names of kinds for people, where the name of the API says less. */
const KINDS: Readonly<Record<string, string>> = {
  logpush_job: 'log job',
  worker_script: 'Worker',
  worker_domain: 'Worker domain',
  worker_route: 'Worker route',
  hostname: 'host name',
  custom_hostname: 'host name',
}

/** Ids that say nothing to people. */
const ID = /^[0-9a-f]{32,64}$|^[0-9a-f]{8}-[0-9a-f-]{27}$/

/** Members that name an object, the best one first. */
const NAMES = ['name', 'label', 'hostname', 'pattern', 'description', 'phase']

/** Returns the name that the values of an object have. */
function nameIn(value: unknown): string | undefined {
  const members = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  const name = NAMES.map((key) => members[key]).find((one) => typeof one === 'string' && one !== '')
  return name as string | undefined
}

/** Returns an entry whose setting has its title in place of its id. `titles`: by id. */
export function titled(entry: Entry, titles: ReadonlyMap<string, string>): Entry {
  const { object } = entry
  const title = object.type === 'setting' ? titles.get(object.id) : undefined
  return title === undefined ? entry : { ...entry, object: { ...object, name: title } }
}

/** `changed rule "No entry" in example.test`. */
export function sentenceOf({ action, object, before, after }: Entry): string {
  const verb = VERBS[action] ?? action.replaceAll('_', ' ')
  const kind = KINDS[object.type] ?? object.type.replaceAll('_', ' ')
  const name = [object.name, nameIn(after), nameIn(before), object.id].find((one) => one && !ID.test(one)) ?? ''
  return `${verb} ${kind} ${name === '' ? '' : `“${name}”`}${object.zone ? ` in ${object.zone}` : ''}`
}

/** One member that a change touched. */
export interface Difference {
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Returns the members that differ between two values, by their path. */
export function differences(before: unknown, after: unknown): readonly Difference[] {
  const old = leaves(before)
  const next = leaves(after)
  const paths = [...new Set([...old.keys(), ...next.keys()])]
  return paths
    .filter((path) => old.get(path) !== next.get(path))
    .map((path) => ({ path, before: old.get(path), after: next.get(path) }))
}

function leaves(value: unknown, path = '', found = new Map<string, string>()): ReadonlyMap<string, string> {
  if (value === undefined || value === null) return path === '' ? found : found.set(path, 'null')
  if (typeof value !== 'object') return found.set(path, typeof value === 'string' ? value : JSON.stringify(value))
  for (const [name, one] of Object.entries(value)) leaves(one, path === '' ? name : `${path}.${name}`, found)
  return found
}

/** `block → log`, for the first difference of a change that has few of them. */
export function shortDifference(entry: Entry): string {
  if (entry.action !== 'update') return ''
  const [first, ...others] = differences(entry.before, entry.after)
  if (!first) return ''
  const name = first.path.split('.').at(-1)
  return `${name}: ${first.before ?? '–'} → ${first.after ?? '–'}${others.length > 0 ? ` and ${others.length} more` : ''}`
}
