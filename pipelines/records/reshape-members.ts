/**
 * Edits the text of a record of any shape in one pass over its members. Members without an edit are copied unchanged.
 */
import { BACKSLASH, COMMA, QUOTE } from '../../src/core/bytes.js'
import { MEMBERS, spaceEnd, tokensOf, valueEnd } from './fields/any.js'
import type { Dataset } from './fields/dataset.js'
import type { Output } from './output.js'
import { redactor, type Redactor } from './redact.js'
import type { AddedMember, Reshape } from './reshape-types.js'
import type { ScannedRecord } from './fields/scan.js'
import { decoded } from './fields/strings.js'

/** Edits of a value and of the values inside it. */
class Node {
  /** Left out if it returns true. */
  drops: ((record: ScannedRecord) => boolean) | undefined
  /** Its new key, as JSON text. */
  key: Uint8Array | undefined
  redact: Redactor | undefined
  readonly #children = new Map<string, Node>()
  /** The same nodes by the length of their keys in bytes. */
  readonly #byLength: { readonly key: Uint8Array; readonly node: Node }[][] = []

  get hasChildren(): boolean {
    return this.#children.size > 0
  }

  /** Returns the node of a member or of something inside it. */
  at([token, ...rest]: readonly string[]): Node {
    if (token === undefined) return this
    let child = this.#children.get(token)
    if (child === undefined) {
      child = new Node()
      this.#children.set(token, child)
      const key = Buffer.from(token)
      ;(this.#byLength[key.length] ??= []).push({ key, node: child })
    }
    return child.at(rest)
  }

  /** Returns the node of a key, which is given with its quotes. */
  ofKey(bytes: Uint8Array, start: number, end: number, isEscaped: boolean): Node | undefined {
    if (isEscaped) return this.#children.get(Buffer.from(decoded(bytes, start, end)).toString())
    const listed = this.#byLength[end - start - 2]
    if (listed === undefined) return undefined
    for (const { key, node } of listed) if (isAt(key, bytes, start + 1)) return node
    return undefined
  }

  ofIndex(index: number): Node | undefined {
    return this.#children.get(String(index))
  }
}

function isAt(key: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < key.length; i++) if (bytes[at + i] !== key[i]) return false
  return true
}

/** Compiles the edits of a record. The returned function writes the record with its braces to the end of an output. */
export function memberEdits(
  incoming: Dataset,
  { rename = {}, drop = [], redact = {} }: Reshape,
  added: readonly AddedMember[],
): (record: ScannedRecord, out: Output) => void {
  const root = new Node()
  const node = (name: string) => root.at(name.startsWith('/') ? tokensOf(name) : [name])
  for (const [name, method] of Object.entries(redact)) node(name).redact = redactor(method)
  const moved: { readonly key: Uint8Array; readonly place: number; readonly from: Node }[] = []
  for (const [name, target] of Object.entries(rename)) {
    const place = incoming.places.get(name)!
    const key = keyOf(target)
    // A member of that name makes way for the renamed one, if there is one.
    if (!Object.hasOwn(rename, target)) root.at([target]).drops = (record) => record.starts[place]! >= 0
    if (!name.startsWith('/')) node(name).key = key
    else {
      node(name).drops = always
      moved.push({ key, place, from: node(name) })
    }
  }
  for (const name of drop) node(name).drops = always
  for (const { name } of added) if (!Object.hasOwn(rename, name)) root.at([name]).drops = always
  const keys = added.map(({ name }) => keyOf(name))
  const members = incoming.places.get(MEMBERS)!

  return (record, out) => {
    const { bytes, starts, ends } = record
    out.append(OPEN)
    let isEmpty = !writeItems({ record, out }, root, starts[members]!, ends[members]!, true)
    const begin = (key: Uint8Array) => {
      if (!isEmpty) out.append(SEPARATOR)
      isEmpty = false
      out.append(key)
      out.append(COLON)
    }
    for (const { key, place, from } of moved) {
      if (starts[place]! < 0) continue
      begin(key)
      writeValue({ record, out }, from, bytes, starts[place]!, ends[place]!)
    }
    for (const [index, member] of added.entries()) {
      const value = member.value(record)
      if (value === undefined) continue
      begin(keys[index]!)
      out.append(value)
    }
    out.append(CLOSE)
  }
}

const always = (): boolean => true
const OPEN = Buffer.from('{')
const CLOSE = Buffer.from('}')
const SEPARATOR = Buffer.from(',')
const COLON = Buffer.from(':')
const keyOf = (name: string): Uint8Array => Buffer.from(JSON.stringify(name))

interface Edit {
  readonly record: ScannedRecord
  readonly out: Output
}

function writeValue(edit: Edit, node: Node, bytes: Uint8Array, start: number, end: number): void {
  const { out } = edit
  const redacted = node.redact?.(bytes, start, end)
  if (redacted !== undefined) return out.append(redacted)
  const isObject = bytes[start] === 0x7b
  if (!node.hasChildren || node.redact !== undefined || (!isObject && bytes[start] !== 0x5b))
    return out.append(bytes.subarray(start, end))
  out.append(bytes.subarray(start, start + 1))
  writeItems(edit, node, start + 1, end - 1, isObject)
  out.append(bytes.subarray(end - 1, end))
}

/** Writes the members of an object, or the items of a list, starting after its bracket. Returns whether one is left. */
function writeItems(edit: Edit, node: Node, from: number, to: number, isObject: boolean): boolean {
  const { record, out } = edit
  const { bytes } = record
  let isKept = false
  /** Bytes before this offset are written or left out. */
  let done = from
  /** Where the item before ended. */
  let last = from
  for (let at = spaceEnd(bytes, from), index = 0; at < to; index++) {
    const keyStart = at
    let found: Node | undefined
    let keyEnd = at
    if (isObject) {
      let isEscaped = false
      for (keyEnd++; bytes[keyEnd] !== QUOTE; keyEnd++)
        if (bytes[keyEnd] === BACKSLASH) {
          isEscaped = true
          keyEnd++
        }
      keyEnd++
      found = node.ofKey(bytes, keyStart, keyEnd, isEscaped)
      at = spaceEnd(bytes, spaceEnd(bytes, keyEnd) + 1)
    } else found = node.ofIndex(index)
    const end = valueEnd(bytes, at, to)
    const isDropped = found?.drops?.(record) === true
    if (isDropped) {
      out.append(bytes.subarray(done, Math.max(done, last)))
      done = end
    } else {
      isKept = true
      if (found !== undefined) {
        if (found.key !== undefined) {
          out.append(bytes.subarray(done, keyStart))
          out.append(found.key)
          done = keyEnd
        }
        out.append(bytes.subarray(done, at))
        writeValue(edit, found, bytes, at, end)
        done = end
      }
    }
    last = end
    at = spaceEnd(bytes, end)
    if (bytes[at] !== COMMA || at >= to) break
    at = spaceEnd(bytes, at + 1)
    // Nothing is before the next one yet, so it needs no comma.
    if (isDropped && !isKept) done = at
    last = isDropped && !isKept ? at : last
  }
  out.append(bytes.subarray(done, to))
  return isKept
}
