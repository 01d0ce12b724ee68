/** Log records of OTLP requests in their JSON form. */
import type { Pause } from '../../../src/core/schedule/event-loop-yield.js'
import { jsonText } from '../../logpush/spool/json-text.js'
import { UnfitRecord } from '../../records/index.js'
import type { RecordChoice } from '../intake/record-choice.js'

/** A request is not one of OTLP logs. */
export class NotLogs extends Error {
  override readonly name = 'NotLogs'
}

type Members = Readonly<Record<string, unknown>>

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a member that is an object, or an empty object if it is absent. Throws NotLogs. */
function membersOf(value: unknown, name: string): Members {
  if (value === undefined || value === null) return {}
  if (!isMembers(value)) throw new NotLogs(`${name} is not an object`)
  return value
}

function listOf(value: unknown, name: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new NotLogs(`${name} is not an array`)
  return value as readonly unknown[]
}

/** A request is larger than it may be. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

/** Maximum records of a request. The same maximum applies to resources and scopes. */
const MAX_RECORDS = 100_000
/** Maximum bytes of the records of a request besides their own values. Each record contains its resource and scope. */
const MAX_ADDED_BYTES = 128 * 1024 * 1024
/** Bytes for the names of the members of an event, and for the values of absent ones. */
const EVENT_BYTES = 200
/** Records that are counted between two pauses. */
const SLICE_RECORDS = 1000

/** Records of one scope. */
interface Scoped {
  readonly resource: () => object
  readonly scope: () => object
  readonly records: readonly unknown[]
}

/** Throws NotLogs and TooLarge. */
function* scopesOf(request: unknown): Generator<Scoped> {
  if (!isMembers(request)) throw new NotLogs('the request is not an object')
  let parts = 0
  const count = () => {
    if (++parts > MAX_RECORDS) throw new TooLarge(`the request has more than ${MAX_RECORDS} resources and scopes`)
  }
  for (const logs of listOf(request['resourceLogs'], 'resourceLogs')) {
    count()
    const { resource: of, scopeLogs } = membersOf(logs, 'resourceLogs[]')
    const resource = lazily(() => resourceOf(membersOf(of, 'resource')))
    for (const scoped of listOf(scopeLogs, 'scopeLogs')) {
      count()
      const { scope: by, logRecords } = membersOf(scoped, 'scopeLogs[]')
      const scope = lazily(() => scopeOf(membersOf(by, 'scope')))
      yield { resource, scope, records: listOf(logRecords, 'logRecords') }
    }
  }
}

/**
 * Checks a whole request and returns the number of its records. Throws NotLogs, and TooLarge for a request above a
 * limit.
 */
export async function countRecords(request: unknown, choice: RecordChoice, pause: Pause): Promise<number> {
  let count = 0
  let added = 0
  for (const { resource, scope, records } of scopesOf(request)) {
    count += records.length
    if (count > MAX_RECORDS)
      throw new TooLarge(`the request has more than ${MAX_RECORDS} records; send fewer with each request`)
    if (choice === 'event')
      added += records.length * EVENT_BYTES + (records.length > 1 ? records.length * sizeOf(resource, scope) : 0)
    if (added > MAX_ADDED_BYTES)
      throw new TooLarge(
        `the records of the request would have more than ${MAX_ADDED_BYTES} bytes, because each contains its resource ` +
          'and scope; send fewer with each request',
      )
    for (let index = 0; index < records.length; index++) {
      membersOf(records[index], 'logRecords[]')
      if (index % SLICE_RECORDS === 0) await pause()
    }
  }
  return count
}

/** Bytes of a resource and a scope in each record. */
function sizeOf(...parts: readonly (() => object)[]): number {
  try {
    return Buffer.byteLength(parts.map((part) => jsonText(part())).join(''))
  } catch (error) {
    // Each of the records will be invalid.
    if (error instanceof UnfitRecord) return 0
    throw error
  }
}

/**
 * Yields one function per log record, which returns the text of the record or throws UnfitRecord. Throws NotLogs and
 * TooLarge.
 */
export function* logRecords(request: unknown, choice: RecordChoice): Generator<() => string> {
  for (const { resource, scope, records } of scopesOf(request))
    for (const record of records) {
      const members = membersOf(record, 'logRecords[]')
      yield () => {
        assertFewValues(members)
        return choice === 'message' ? body(members['body']) : event(members, resource(), scope())
      }
    }
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | { readonly error: unknown } | undefined
  return () => {
    if (made === undefined)
      try {
        made = { value: make() }
      } catch (error) {
        // Each record of the request would find it again.
        made = { error }
      }
    if ('error' in made) throw made.error
    return made.value
  }
}

function resourceOf(resource: Members): object {
  assertFewValues(resource)
  return attributes(resource['attributes'])
}

function scopeOf(scope: Members): object {
  assertFewValues(scope)
  const { name, version, attributes: own } = scope
  return { name: textOf(name), version: textOf(version), attributes: attributes(own) }
}

function event(record: Members, resource: object, scope: object): string {
  const observed = instant(record['observedTimeUnixNano'])
  return jsonText({
    timestamp: instant(record['timeUnixNano']) ?? observed,
    observed_timestamp: observed,
    severity_number: numberOf(record['severityNumber']),
    severity_text: textOf(record['severityText']),
    event_name: textOf(record['eventName']),
    body: valueOf(record['body'], MAX_DEPTH),
    attributes: attributes(record['attributes']),
    resource,
    scope,
    trace_id: textOf(record['traceId']),
    span_id: textOf(record['spanId']),
    flags: numberOf(record['flags']),
  })
}

/** Returns the body as a record: JSON text, or a list of keys and values. */
function body(value: unknown): string {
  const found = valueOf(value, MAX_DEPTH)
  return typeof found === 'string' ? found : jsonText(found)
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const numberOf = (value: unknown): number | null => (typeof value === 'number' && value !== 0 ? value : null)

const NANOS = /^\d{1,20}$/
/** Nanoseconds until the end of the year 9999. */
const MAX_NANOS = 253_402_300_800n * 1_000_000_000n

/** Returns nanoseconds since 1970 as RFC 3339. Null for 0, which means unknown. */
function instant(value: unknown): string | null {
  if (value === undefined || value === null) return null
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  if (!NANOS.test(text)) throw new UnfitRecord('a time is not a number of nanoseconds')
  const nanos = BigInt(text)
  if (nanos === 0n || nanos >= MAX_NANOS) return null
  const seconds = new Date(Number(nanos / 1_000_000_000n) * 1000).toISOString().slice(0, 19)
  return `${seconds}.${(nanos % 1_000_000_000n).toString().padStart(9, '0')}Z`
}

const MAX_DEPTH = 48
/** Values, members and elements in one record, resource or scope. */
const MAX_VALUES = 40_000

/** Throws UnfitRecord for a part of a request whose reading would take long. */
function assertFewValues(part: Members): void {
  const left: unknown[] = [part]
  let values = 0
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const inner: readonly unknown[] = Array.isArray(next) ? next : Object.values(next)
    values += inner.length
    if (values > MAX_VALUES) throw new UnfitRecord(`a record, resource or scope has more than ${MAX_VALUES} values`)
    for (const value of inner) if (typeof value === 'object') left.push(value)
  }
}

function attributes(value: unknown, depth = MAX_DEPTH): object {
  if (depth === 0) throw new UnfitRecord(`a value has more than ${MAX_DEPTH} levels`)
  if (value === undefined || value === null) return {}
  if (!Array.isArray(value)) throw new UnfitRecord('attributes are not a list')
  return Object.fromEntries(
    (value as readonly unknown[]).map((pair): [string, unknown] => {
      if (!isMembers(pair) || typeof pair['key'] !== 'string') throw new UnfitRecord('an attribute has no key')
      return [pair['key'], valueOf(pair['value'], depth - 1)]
    }),
  )
}

/** Returns an AnyValue as JSON; 64-bit integers with all digits. */
function valueOf(value: unknown, depth: number): unknown {
  if (value === undefined || value === null) return null
  if (!isMembers(value)) throw new UnfitRecord('a value is not an object')
  if (depth === 0) throw new UnfitRecord(`a value has more than ${MAX_DEPTH} levels`)
  const [[type, inner] = []] = Object.entries(value).filter(([, member]) => member !== null && member !== undefined)
  switch (type) {
    case undefined:
      return null
    case 'stringValue':
    case 'boolValue':
    case 'bytesValue':
      return inner
    case 'intValue':
      if (!/^-?\d{1,20}$/.test(String(inner))) throw new UnfitRecord('an intValue is not an integer')
      return BigInt(inner as string)
    case 'doubleValue':
      return typeof inner === 'number' ? inner : null
    case 'arrayValue':
      return listIn(inner).map((item) => valueOf(item, depth - 1))
    case 'kvlistValue':
      return attributes(listIn(inner), depth - 1)
    default:
      throw new UnfitRecord('a value has an unknown type')
  }
}

function listIn(value: unknown): readonly unknown[] {
  const values = isMembers(value) ? (value['values'] ?? []) : undefined
  if (!Array.isArray(values)) throw new UnfitRecord('a value has no list of values')
  return values as readonly unknown[]
}
