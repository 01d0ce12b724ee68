/** Hiding parts of values. A value that a method cannot judge is masked as a whole, so that nothing slips through. */
import { createHmac } from 'node:crypto'
import { BACKSLASH, QUOTE } from '../../src/core/bytes.js'
import { decoded } from './fields/strings.js'

/** How a value is hidden: `mask`, `query`, `address`, or a hash with a key. */
export type Redaction = 'mask' | 'query' | 'address' | { readonly hash: string }

/** Returns the JSON text that replaces a value, or undefined if the value stays as it is. */
export type Redactor = (bytes: Uint8Array, start: number, end: number) => Uint8Array | undefined

const MASK = Buffer.from('"***"')
/** 128 bits of the HMAC, as 32 hexadecimal digits. */
const HASH_DIGITS = 32

/** Compiles a redaction. Null stays null. */
export function redactor(method: Redaction): Redactor {
  const change = typeof method === 'object' ? hashed(method.hash) : METHODS[method]
  return (bytes, start, end) => (bytes[start] === 0x6e ? undefined : change(bytes, start, end))
}

const METHODS: Readonly<Record<Extract<Redaction, string>, Redactor>> = {
  mask: () => MASK,

  query(bytes, start, end) {
    if (bytes[start] !== QUOTE) return isNested(bytes[start]!) ? MASK : undefined
    if (!bytes.subarray(start, end).includes(BACKSLASH)) {
      const mark = bytes.subarray(start, end).indexOf(0x3f)
      return mark < 0 ? undefined : Buffer.concat([bytes.subarray(start, start + mark), CLOSE])
    }
    // An escape such as \u003f can be the question mark.
    const text = textOf(bytes, start, end)
    const mark = text.indexOf('?')
    return mark < 0 ? undefined : json(text.slice(0, mark))
  },

  address(bytes, start, end) {
    const network = bytes[start] === QUOTE ? networkOf(textOf(bytes, start, end)) : undefined
    return network === undefined ? MASK : json(network)
  },
}

const CLOSE = Uint8Array.of(QUOTE)
const isNested = (byte: number): boolean => byte === 0x7b || byte === 0x5b
const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(decoded(bytes, start, end)).toString()
const json = (text: string): Uint8Array => Buffer.from(JSON.stringify(text))

/** Strings are hashed by their text, other values by their JSON text. */
const hashed =
  (key: string): Redactor =>
  (bytes, start, end) => {
    const text = bytes[start] === QUOTE ? decoded(bytes, start, end) : bytes.subarray(start, end)
    return json(createHmac('sha256', key).update(text).digest('hex').slice(0, HASH_DIGITS))
  }

const V4 = /^(.*:)?(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}$/

/**
 * Returns an IPv4 address without its last 8 bits, or an IPv6 address without its last 80. Undefined for other texts.
 */
function networkOf(text: string): string | undefined {
  const [, before = '', three] = V4.exec(text) ?? []
  const v4 = three === undefined ? undefined : `${before}${three}.0`
  if (!text.includes(':')) return v4
  const host = `http://[${text}]/`
  if (!/^[0-9a-fA-F:.]+$/.test(text) || !URL.canParse(host)) return undefined
  // An IPv4 address in IPv6 form, as sockets report it.
  if (v4 !== undefined && /^::ffff:$/i.test(before)) return v4
  const [head = '', tail] = new URL(host).hostname.slice(1, -1).split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => '0'), ...last]
  const kept = groups.slice(0, 3)
  while (kept.at(-1) === '0') kept.pop()
  return `${kept.join(':')}::`
}
