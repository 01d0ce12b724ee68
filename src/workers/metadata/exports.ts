import { Type } from 'typebox'
import type { Issue } from '../../core/errors.js'
import type { ExportEntry } from '../../core/model/worker.js'
import { nearest } from '../../core/nearest.js'
import { pointerToken } from '../../core/schema.js'

const any = (description: string) => Type.Optional(Type.Unknown({ description }))

/** For the manual: {@link exportIssues} checks the members, by type and state. */
export const ExportInput = Type.Object({
  type: any('`worker` or `durable-object`.'),
  state: any('`created`, the default, `deleted`, `renamed`, `transferred` or `expecting-transfer`.'),
  storage: any('`sqlite` or `legacy-kv`.'),
  container: any('Name of the container of each object.'),
  renamed_to: any('The new name of the class.'),
  transferred_to: any('The script that gets the class.'),
  transfer_from: any('The script that has the class.'),
  cache: any('Overrides `cache_options` for this entrypoint.'),
})

type State = NonNullable<ExportEntry['state']>
type Field = 'storage' | 'container' | 'renamed_to' | 'transferred_to' | 'transfer_from'

/** Required and optional members of an entry for a Durable Object class, by state. */
const STATES: Readonly<Record<State, { readonly needs: readonly Field[]; readonly may: readonly Field[] }>> = {
  created: { needs: ['storage'], may: ['container'] },
  deleted: { needs: [], may: [] },
  renamed: { needs: ['renamed_to'], may: [] },
  transferred: { needs: ['transferred_to'], may: [] },
  'expecting-transfer': { needs: ['storage', 'transfer_from'], may: ['container'] },
}
const FIELDS: readonly Field[] = ['storage', 'container', 'renamed_to', 'transferred_to', 'transfer_from']
const SCRIPT_NAME = /^[a-z0-9_][a-z0-9-_]*$/

/** A name that JavaScript can give to a class (ECMA-262, 12.7). */
const isIdentifier = (text: string): boolean => /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(text)

/** Returns errors in the entries of `exports`, with pointers into the map. */
export function exportIssues(exports: Readonly<Record<string, ExportEntry>>): Issue[] {
  return Object.entries(exports).flatMap(([name, entry]) =>
    entryIssues(name, entry, exports).map(({ pointer, message }) => ({
      pointer: `/${pointerToken(name)}${pointer}`,
      message,
    })),
  )
}

function entryIssues(name: string, entry: ExportEntry, all: Readonly<Record<string, ExportEntry>>): Issue[] {
  if (entry.type === 'worker') return workerIssues(entry)
  if (entry.type !== 'durable-object')
    return [
      {
        pointer: '/type',
        message: entry.type === undefined ? 'is required' : 'must be one of "worker", "durable-object"',
      },
    ]
  if (!isIdentifier(name)) return [{ pointer: '', message: 'is not the name of a class' }]
  const { state = 'created' } = entry
  if (!Object.hasOwn(STATES, state))
    return [
      {
        pointer: '/state',
        message: `must be one of ${Object.keys(STATES)
          .map((one) => JSON.stringify(one))
          .join(', ')}`,
      },
    ]
  const { needs, may } = STATES[state]
  const allowed: readonly string[] = ['type', 'state', ...needs, ...may]
  const issues: Issue[] = [
    ...needs
      .filter((field) => entry[field] === undefined)
      .map((field) => ({ pointer: `/${field}`, message: 'is required' })),
    ...Object.keys(entry)
      .filter((field) => !allowed.includes(field))
      .map((field) => ({ pointer: `/${pointerToken(field)}`, message: notAllowed(field, state) })),
  ]
  return issues.length > 0 ? issues : valueIssues(name, entry, all)
}

function notAllowed(field: string, state: State): string {
  if ((FIELDS as readonly string[]).includes(field) || field === 'cache') return `is not allowed on a ${state} entry`
  const meant = nearest(field, FIELDS)
  return `is not a known member${meant === undefined ? '' : `, did you mean ${meant}`}`
}

function valueIssues(name: string, entry: ExportEntry, all: Readonly<Record<string, ExportEntry>>): Issue[] {
  const { storage, container, renamed_to: to, transferred_to: target, transfer_from: source } = entry
  const issues: Issue[] = []
  const issue = (field: Field, message: string) => issues.push({ pointer: `/${field}`, message })
  if (storage !== undefined && storage !== 'sqlite' && storage !== 'legacy-kv')
    issue('storage', 'must be one of "sqlite", "legacy-kv"')
  if (container !== undefined) {
    if (typeof container !== 'string' || container === '') issue('container', 'must be the name of a container')
    else if (storage !== 'sqlite') issue('container', 'needs the storage sqlite')
  }
  if (to !== undefined) {
    const live = typeof to === 'string' && Object.hasOwn(all, to) ? all[to] : undefined
    if (typeof to !== 'string' || !isIdentifier(to)) issue('renamed_to', 'is not the name of a class')
    else if (to === name) issue('renamed_to', 'must differ from the class itself')
    else if (live?.type !== 'durable-object' || (live.state ?? 'created') !== 'created')
      issue('renamed_to', 'must be a created entry of the same map')
  }
  for (const [field, script] of [
    ['transferred_to', target],
    ['transfer_from', source],
  ] as const)
    if (script !== undefined && (typeof script !== 'string' || !SCRIPT_NAME.test(script)))
      issue(field, 'must be the name of a script')
  return issues
}

function workerIssues(entry: ExportEntry): Issue[] {
  const issues: Issue[] = []
  if (entry.state !== undefined && entry.state !== 'created')
    issues.push({ pointer: '/state', message: 'must be "created"' })
  for (const field of FIELDS)
    if (entry[field] !== undefined) issues.push({ pointer: `/${field}`, message: 'is not allowed on a worker entry' })
  const { cache } = entry as { cache?: unknown }
  if (cache === undefined) return issues
  if (cache === null || typeof cache !== 'object' || Array.isArray(cache))
    issues.push({ pointer: '/cache', message: 'must be an object' })
  else {
    const { enabled } = cache as { enabled?: unknown }
    if (enabled === undefined) issues.push({ pointer: '/cache/enabled', message: 'is required' })
    else if (typeof enabled !== 'boolean') issues.push({ pointer: '/cache/enabled', message: 'must be boolean' })
  }
  return issues
}
