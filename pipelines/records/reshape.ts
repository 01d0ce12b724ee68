/**
 * Changes of a pipeline in its records, compiled once. All names are names of the arrived record, except for targets of
 * `rename`, `geo`, `lookup` and `set`. Other members keep their bytes.
 */
import { InvalidInput, type Issue } from '../../src/core/errors.js'
import { pointerToken } from '../../src/core/schema.js'
import { ANY, anyDataset, MEMBERS, scannerOf } from './fields/any.js'
import { fieldIssue } from './field-issue.js'
import { dataset, type Dataset, type FieldType } from './fields/dataset.js'
import { Output } from './output.js'
import { redactor } from './redact.js'
import { memberEdits } from './reshape-members.js'
import type { AddedMember, Reshape } from './reshape-types.js'
import { ESCAPED, type ScannedRecord } from './fields/scan.js'
import { decoded } from './fields/strings.js'

/** Returns a record as it leaves. The result is reused by the next call. */
export type Shape = (record: ScannedRecord) => ScannedRecord

export interface CompiledReshape {
  /** The fields that records have afterwards. */
  readonly outgoing: Dataset
  /** Returns places of the incoming dataset that are needed to write these of the outgoing one. */
  reads(written: ReadonlySet<number>): number[]
  /** Creates a shape that provides these places of the outgoing dataset. */
  open(written: ReadonlySet<number>): Shape
}

/** Returns the names of fields that a reshape reads or replaces. */
export function reshapedFields({ set, rename, drop, redact, geo, lookup }: Reshape): string[] {
  const targets = [...Object.keys(set ?? {}), ...Object.values(rename ?? {}), ...Object.values(geo?.set ?? {})]
  const sources = [...Object.keys(rename ?? {}), ...(drop ?? []), ...Object.keys(redact ?? {})]
  const looked = (lookup ?? []).flatMap(({ field, set: target }) => [field, target])
  return [...targets, ...sources, ...looked, ...(geo === undefined ? [] : [geo.field])]
}

/**
 * Compiles the changes of a pipeline. `names` are the fields of records of any shape that are written afterwards.
 * `types` are the types of declared fields. Throws InvalidInput with pointers such as `/rename/RayID`.
 */
export function compileReshape(
  incoming: Dataset,
  reshape: Reshape,
  { names, types = {} }: { names: Iterable<string>; types?: Readonly<Record<string, FieldType>> | undefined },
): CompiledReshape {
  const issues = [...sourceIssues(incoming, reshape), ...targetIssues(incoming, reshape)]
  if (issues.length > 0) throw new InvalidInput(issues)
  if (incoming.name !== ANY) return ofFields(incoming, reshape)
  const renamed = new Map(Object.entries(reshape.rename ?? {}))
  const moved = Object.entries(types).map(([name, type]) => [renamed.get(name) ?? name, type] as const)
  return ofMembers(incoming, reshape, anyDataset(names, Object.fromEntries(moved)))
}

/** A field that a record has afterwards. */
interface Step {
  readonly name: string
  readonly type: FieldType
  /** Its index before. Undefined if it is added. */
  readonly from?: number
  readonly added?: AddedMember
}

/** Compiles changes of records with declared fields. Values are copied or replaced one by one. */
function ofFields(incoming: Dataset, reshape: Reshape): CompiledReshape {
  const { rename = {}, drop = [], redact = {} } = reshape
  const added = addedMembers(incoming, reshape)
  const replaced = new Set(added.map(({ name }) => name))
  const kept = (name: string) => !drop.includes(name) && (Object.hasOwn(rename, name) || !replaced.has(name))
  const nameOf = (name: string) => (Object.hasOwn(rename, name) ? rename[name]! : name)
  const steps: Step[] = [
    ...incoming.names.flatMap((name, from) =>
      kept(name) ? [{ name: nameOf(name), type: incoming.types[from]!, from }] : [],
    ),
    ...added.map((member) => ({ name: member.name, type: 'any' as const, added: member })),
  ]
  const redactors = new Map(
    Object.entries(redact).map(([name, method]) => [incoming.places.get(name), redactor(method)]),
  )
  const outgoing = dataset({
    ...incoming,
    fields: Object.fromEntries(steps.map(({ name, type }) => [name, type])),
    defaults: [...incoming.defaults.filter(kept).map(nameOf), ...added.map(({ name }) => name)],
  })
  return {
    outgoing,
    reads: (written) => [...written].flatMap((place) => steps[place]!.from ?? steps[place]!.added!.reads),
    open(written) {
      const out = new Output()
      const made = room(out.bytes, steps.length)
      const wanted = [...written].map((place) => ({ place, ...steps[place]! }))
      return (record) => {
        out.length = 0
        for (const { place, from, added: member } of wanted) {
          made.starts[place] = -1
          if (from !== undefined && record.starts[from]! < 0) continue
          const start = from === undefined ? 0 : record.starts[from]!
          const end = from === undefined ? 0 : record.ends[from]!
          const changed = from === undefined ? member!.value(record) : redactors.get(from)?.(record.bytes, start, end)
          if (from === undefined && changed === undefined) continue
          made.starts[place] = out.length
          out.append(changed ?? record.bytes.subarray(start, end))
          made.ends[place] = out.length
          made.marks[place] = changed === undefined ? record.marks[from!]! : changed.includes(0x5c) ? ESCAPED : 0
        }
        made.bytes = out.bytes
        return made
      }
    },
  }
}

const room = (bytes: Uint8Array, fields: number) => ({
  bytes,
  starts: new Int32Array(fields).fill(-1),
  ends: new Int32Array(fields),
  marks: new Uint8Array(fields),
})

/**
 * Compiles changes of records of any shape. The text of the record is written again with its changes, and scanned for
 * the named fields.
 */
function ofMembers(incoming: Dataset, reshape: Reshape, outgoing: Dataset): CompiledReshape {
  const edit = memberEdits(incoming, reshape, addedMembers(incoming, reshape))
  const all = [...incoming.names.keys()]
  return {
    outgoing,
    reads: () => all,
    open(written) {
      const out = new Output()
      const members = incoming.places.get(MEMBERS)!
      const count = outgoing.names.length
      const whole = room(out.bytes, count)
      const isWhole = [...written].every((place) => outgoing.names[place] === MEMBERS)
      const scanner = scannerOf(outgoing)
      return (record) => {
        out.length = 0
        edit(record, out)
        if (!isWhole) return scanner.scan(out.bytes, 0, out.length)
        whole.starts[0] = 1
        whole.ends[0] = out.length - 1
        whole.marks[0] = record.marks[members]!
        whole.bytes = out.bytes
        return whole
      }
    },
  }
}

/** The fields that `geo`, `lookup` and `set` add. */
function addedMembers(incoming: Dataset, { set = {}, geo, lookup = [] }: Reshape): AddedMember[] {
  const located = Object.entries(geo?.set ?? {}).map(([fact, name]): AddedMember => {
    const place = incoming.places.get(geo!.field)!
    const value = (record: ScannedRecord) => {
      const text = textAt(record, place)
      const found = text === undefined ? undefined : geo!.locate(text)?.[fact]
      return found === undefined ? undefined : Buffer.from(JSON.stringify(found))
    }
    return { name, reads: [place], value }
  })
  const listed = lookup.map(({ field, set: name, has }): AddedMember => {
    const place = incoming.places.get(field)!
    const value = (record: ScannedRecord) => {
      const text = textAt(record, place)
      return text === undefined ? undefined : has(text) ? TRUE : FALSE
    }
    return { name, reads: [place], value }
  })
  const constant = Object.entries(set).map(([name, json]): AddedMember => {
    const bytes = Buffer.from(json)
    return { name, reads: [], value: () => bytes }
  })
  return [...located, ...listed, ...constant]
}

const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')

/** Returns the text of a string, or the JSON text of another value. Undefined if it is missing or null. */
function textAt({ bytes, starts, ends }: ScannedRecord, place: number): string | undefined {
  const start = starts[place]!
  if (start < 0 || bytes[start] === 0x6e) return undefined
  const end = ends[place]!
  const text = bytes[start] === 0x22 ? decoded(bytes, start, end) : bytes.subarray(start, end)
  return Buffer.from(text.buffer, text.byteOffset, text.length).toString()
}

function sourceIssues(incoming: Dataset, { rename, drop, redact, geo, lookup }: Reshape): Issue[] {
  const named: [pointer: string, name: string][] = [
    ...Object.keys(rename ?? {}).map((name): [string, string] => [`/rename/${pointerToken(name)}`, name]),
    ...(drop ?? []).map((name, index): [string, string] => [`/drop/${index}`, name]),
    ...Object.keys(redact ?? {}).map((name): [string, string] => [`/redact/${pointerToken(name)}`, name]),
    ...(geo === undefined ? [] : [['/geo/field', geo.field] as [string, string]]),
    ...(lookup ?? []).map(({ field }, index): [string, string] => [`/lookup/${index}/field`, field]),
  ]
  const dropped = Object.keys(rename ?? {}).filter((name) => drop?.includes(name))
  return [
    ...named.flatMap(([pointer, name]) => {
      const message = fieldIssue(incoming, name)
      return message === undefined ? [] : [{ pointer, message }]
    }),
    ...dropped.map((name) => ({ pointer: `/rename/${pointerToken(name)}`, message: 'is dropped as well' })),
  ]
}

function targetIssues(incoming: Dataset, { set, rename, drop, geo, lookup }: Reshape): Issue[] {
  const targets: [pointer: string, name: string][] = [
    ...Object.entries(rename ?? {}).map(([from, to]): [string, string] => [`/rename/${pointerToken(from)}`, to]),
    ...Object.entries(geo?.set ?? {}).map(([fact, to]): [string, string] => [`/geo/set/${fact}`, to]),
    ...(lookup ?? []).map(({ set: to }, index): [string, string] => [`/lookup/${index}/set`, to]),
    ...Object.keys(set ?? {}).map((name): [string, string] => [`/set/${pointerToken(name)}`, name]),
  ]
  const gone = new Set([...Object.keys(rename ?? {}), ...(drop ?? [])])
  return targets.flatMap(([pointer, name], index) => {
    if (name.startsWith('/'))
      return [{ pointer, message: `${name} must be a top-level name, without a slash in front` }]
    if (targets.findIndex(([, other]) => other === name) < index)
      return [{ pointer, message: `${name} is the name of another new field` }]
    const isField = incoming.name !== ANY && incoming.places.has(name) && !gone.has(name)
    if (isField && pointer.startsWith('/rename'))
      return [{ pointer, message: `${name} is a field of ${incoming.name}; drop or rename that one as well` }]
    return []
  })
}
