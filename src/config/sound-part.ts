import type { Issue } from '../core/errors.js'
import { soundMembers } from '../core/schema.js'

/** Sections whose entries are checked one by one. Other parts of a file do not refer to them by the contents of an entry. */
const LISTED = ['zones', 'tokens', 'legacy_keys'] as const
const ENTRY = new RegExp(`^/(${LISTED.join('|')})/(\\d+)(?=/|$)`)

/** The part of a configuration file without issues, which can be checked further. */
export interface SoundPart {
  readonly value: Readonly<Record<string, unknown>>
  /** Ids of the file's accounts and zones, those with other issues included. */
  readonly ids: KnownIds
  /** Index and account of each zone of the file whose account has the right form. */
  readonly owned: readonly (readonly [index: number, account: string])[]
  /** Returns an issue found in {@link value} with the pointer that it has in the file. */
  readonly place: (issue: Issue) => Issue
}

/** Ids of a file. Undefined if an entry without a valid id can be the one that is named elsewhere. */
export interface KnownIds {
  readonly accounts: ReadonlySet<string> | undefined
  readonly zones: ReadonlySet<string> | undefined
}

/** Leaves out each section with issues. Of zones, tokens and legacy keys only the entries with issues are left out. */
export function soundPart(given: object, issues: readonly Issue[]): SoundPart {
  const elsewhere = issues.filter(({ pointer }) => !ENTRY.test(pointer))
  const wrong = new Set(issues.map(({ pointer }) => ENTRY.exec(pointer)?.[0]))
  const value: Record<string, unknown> = { ...soundMembers(given, elsewhere) }
  const kept = new Map<string, readonly number[]>()
  for (const section of LISTED) {
    const entries: unknown = value[section]
    if (!Array.isArray(entries)) continue
    const sound = [...entries.keys()].filter((index) => !wrong.has(`/${section}/${index}`))
    kept.set(section, sound)
    value[section] = sound.map((index) => entries[index] as unknown)
  }
  const inFile = (_: string, section: string, index: string) =>
    `/${section}/${kept.get(section)?.[Number(index)] ?? index}`
  return {
    value,
    ids: { accounts: idsOf('accounts', given, issues), zones: idsOf('zones', given, issues) },
    owned: ownedZones(given, issues),
    place: ({ pointer, ...issue }) => ({ ...issue, pointer: pointer.replace(ENTRY, inFile) }),
  }
}

type Entries = readonly Readonly<Record<string, unknown>>[]

/** Returns the entries of a section without an issue of its own. */
function entriesOf(section: 'accounts' | 'zones', given: object): Entries {
  const entries = (given as Readonly<Record<string, unknown>>)[section]
  return Array.isArray(entries) ? entries.map((entry) => Object(entry) as Record<string, unknown>) : []
}

function idsOf(
  section: 'accounts' | 'zones',
  given: object,
  issues: readonly Issue[],
): ReadonlySet<string> | undefined {
  const unknown = new RegExp(`^/${section}(/\\d+(/id)?)?$`)
  if (issues.some(({ pointer }) => unknown.test(pointer))) return undefined
  return new Set(entriesOf(section, given).map(({ id }) => String(id)))
}

function ownedZones(given: object, issues: readonly Issue[]): (readonly [number, string])[] {
  const wrong = new Set(issues.map(({ pointer }) => pointer))
  return entriesOf('zones', given).flatMap(({ account }, index) =>
    typeof account === 'string' && !wrong.has(`/zones/${index}/account`) ? [[index, account] as const] : [],
  )
}
