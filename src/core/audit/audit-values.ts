import type { AuditValues } from '../store.js'

/** Characters of JSON that each side may take in an audit entry, so that a million entries stay a few gigabytes. */
const MAX_CHARS = 4096
/** Longer texts are cut if a value does not fit whole. */
const MAX_TEXT = 512
const MASK = '***'

type Members = Readonly<Record<string, unknown>>

/**
 * Returns a record before and after a change, for people to compare. Encrypted texts and `secrets`, names of members, are
 * masked. If one side is too large, both have only what differs. If that is too large too, they have its beginning.
 */
export function auditValues(before: unknown, after: unknown, secrets: readonly string[] = []): AuditValues {
  const whole = [before, after].map((value) => copied(value, secrets, Infinity))
  if (whole.every(({ isCut }) => !isCut)) return { before: whole[0]!.value, after: whole[1]!.value, extent: 'whole' }
  if (before !== undefined && after !== undefined) {
    const pair = differing(before, after)
    const parts = [pair[0], pair[1]].map((value) => copied(value, secrets, MAX_TEXT))
    const extent = parts.every(({ isCut }) => !isCut) ? 'changes' : 'part'
    return { before: parts[0]!.value, after: parts[1]!.value, extent }
  }
  const parts = [before, after].map((value) => copied(value, secrets, MAX_TEXT).value)
  return { before: parts[0], after: parts[1], extent: 'part' }
}

interface Copied {
  readonly value: unknown
  /** Whether something is missing. */
  readonly isCut: boolean
}

/** Copies a value with its secrets masked, until it is too large. */
function copied(value: unknown, secrets: readonly string[], maxText: number): Copied {
  let left = MAX_CHARS
  let isCut = false
  const copy = (from: unknown): unknown => {
    if (typeof from === 'string') return text(from)
    if (typeof from !== 'object' || from === null) return spend(8, from)
    if (isSealed(from)) return spend(MASK.length + 3, MASK)
    return Array.isArray(from) ? items(from) : members(from as Members)
  }
  const spend = <T>(chars: number, of: T): T => {
    left -= chars
    return of
  }
  const text = (from: string): string => {
    const room = Math.min(maxText, Math.max(0, left))
    if (from.length <= room) return spend(from.length + 3, from)
    isCut = true
    return spend(room + 3, `${from.slice(0, room)}…`)
  }
  const items = (from: readonly unknown[]): unknown[] => {
    const list: unknown[] = []
    for (const item of from) {
      if (isFull()) break
      list.push(copy(item))
    }
    return list
  }
  const members = (from: Members): Members => {
    const object: Record<string, unknown> = {}
    for (const [name, member] of Object.entries(from)) {
      if (member === undefined) continue
      if (isFull()) break
      left -= name.length + 4
      object[name] = secrets.includes(name) ? spend(MASK.length + 2, MASK) : copy(member)
    }
    return object
  }
  const isFull = (): boolean => {
    if (left <= 0) isCut = true
    return left <= 0
  }
  return { value: value === undefined ? undefined : copy(value), isCut }
}

/** Returns the parts of two values that are not the same. Items of lists that have an id are compared by id. */
function differing(before: unknown, after: unknown): [before: unknown, after: unknown] {
  if (isList(before) && isList(after)) return differingItems(before, after)
  if (!isObject(before) || !isObject(after)) return [before, after]
  const old: Record<string, unknown> = {}
  const next: Record<string, unknown> = {}
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (isSame(before[name], after[name])) {
      if (NAMING.has(name)) old[name] = next[name] = before[name]
      continue
    }
    const [left, right] = differing(before[name], after[name])
    if (left !== undefined) old[name] = left
    if (right !== undefined) next[name] = right
  }
  return [old, next]
}

/** Members that identify an object. They are kept although they do not differ. */
const NAMING: ReadonlySet<string> = new Set(['id', 'name', 'description', 'label'])

function differingItems(before: readonly WithId[], after: readonly WithId[]): [unknown[], unknown[]] {
  const former = new Map(before.map((item) => [item.id, item]))
  const latter = new Map(after.map((item) => [item.id, item]))
  const isMoved = orderOf(before, latter) !== orderOf(after, former)
  const old: unknown[] = []
  const next: unknown[] = []
  for (const item of before) {
    const other = latter.get(item.id)
    if (!other) old.push(item)
    else if (!isSame(item, other)) old.push(differing(item, other)[0])
    else if (isMoved) old.push({ id: item.id })
  }
  for (const item of after) {
    const other = former.get(item.id)
    if (!other) next.push(item)
    else if (!isSame(other, item)) next.push(differing(other, item)[1])
    else if (isMoved) next.push({ id: item.id })
  }
  return [old, next]
}

const orderOf = (list: readonly WithId[], others: ReadonlyMap<string, unknown>): string =>
  list.flatMap(({ id }) => (others.has(id) ? id : [])).join('\n')

type WithId = { readonly id: string } & Members

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isSealed(value)

const isList = (value: unknown): value is readonly WithId[] =>
  Array.isArray(value) && value.every((item) => isObject(item) && typeof item.id === 'string')

const isSealed = (value: object): boolean =>
  typeof (value as Members).sealed === 'string' && Object.keys(value).length === 1

/** Compares JSON. An absent member equals one that is undefined. */
function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false
    return left.every((item, index) => isSame(item, right[index]))
  }
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...names].every((name) => isSame((left as Members)[name], (right as Members)[name]))
}
