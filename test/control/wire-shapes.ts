/**
 * Requests that are wrong below the JSON: bytes, headers and framing. `HostileBodies` makes values, and this file
 * makes what no value can express.
 */
import { gzipSync } from 'node:zlib'

/** What is sent to the server unchanged. */
export interface WireRequest {
  /** The kind of damage, for messages and counts. */
  readonly shape: string
  readonly headers: Headers
  readonly bytes: Buffer
  /** Bytes that the header promises beyond `bytes`. The sender closes its side without them. */
  readonly missing?: number
}

type Headers = Readonly<Record<string, string>>
export type Random = () => number

const BOUNDARY = 'fuzz-boundary-2f1d'
const JSON_TYPE: Headers = { 'content-type': 'application/json' }
const FORM_TYPE: Headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)]!

/** Returns the request as a well-behaved client sends it. */
export function soundRequest(type: string, body: unknown): WireRequest {
  if (type === 'multipart/form-data')
    return { shape: 'form', headers: FORM_TYPE, bytes: Buffer.from(form(partsOf(body))) }
  return { shape: 'json', headers: { 'content-type': type }, bytes: Buffer.from(JSON.stringify(body) ?? '') }
}

/** Returns the request with one kind of damage. */
export function damagedRequest(type: string, body: unknown, random: Random): WireRequest {
  const shape = pick(random, type === 'multipart/form-data' ? FORM_SHAPES : JSON_SHAPES)
  return { shape: shape.name, ...shape.make(body, random) }
}

interface Shape {
  readonly name: string
  make(body: unknown, random: Random): Omit<WireRequest, 'shape'>
}

const textOf = (body: unknown): string => JSON.stringify(body) ?? ''
const json = (text: string | Buffer, headers: Headers = JSON_TYPE) => ({
  headers,
  bytes: typeof text === 'string' ? Buffer.from(text) : text,
})

/** A shape that changes the JSON text only. */
const ofText = (name: string, change: (text: string, random: Random) => string | Buffer): Shape => ({
  name,
  make: (body, random) => json(change(textOf(body), random)),
})

/** Puts `member` in front of the members of an object, or makes an object of it. */
const withMember = (text: string, member: string): string =>
  text.startsWith('{') && text !== '{}' ? `{${member},${text.slice(1)}` : `{${member}}`

/** Replaces one of the matches; appends a member if there are none. */
function replaced(text: string, pattern: RegExp, value: string, random: Random): string {
  const found = [...text.matchAll(pattern)]
  if (found.length === 0) return withMember(text, `"name":${value}`)
  const { 0: match, index } = pick(random, found)
  return text.slice(0, index) + value + text.slice(index + match.length)
}

const STRING_VALUE = /(?<=[:[,])"(?:[^"\\]|\\.)*"(?!:)/g
const NUMBER_VALUE = /(?<=[:[,])-?\d[\d.e+]*/g
const INVALID_UTF8 = ['ff', 'c080', 'eda080', 'f4908080', 'c3', 'e282'].map((hex) => Buffer.from(hex, 'hex'))
const HUGE_NUMBERS = ['1e999', '-1e999', '1e-999', `1${'0'.repeat(400)}`, '9007199254740993', '0.1e400', '-0.0']
const ESCAPES = ['"\\ud800"', '"\\udc00a"', '"\\ud800\\ud800"', '"\\u0000"', '"a\\u0000b"', '"\\ufeff"', '"\\u202e"']
const PROTOTYPES = ['__proto__', 'constructor', 'prototype', '\\u005f_proto__', 'c\\u006fnstructor']
const TYPES = [
  '',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'application/json; charset=utf-16',
  'application/json; charset=none-such',
  'application/json;;;=',
  'APPLICATION/JSON',
  'application/jsonx',
  'json',
  '*/*',
  ';',
  'a'.repeat(5000),
  'application/json, text/plain',
]
const NOT_JSON = [
  '{',
  '}',
  '[1,]',
  '{"a":1,}',
  "{'a':1}",
  '{a:1}',
  'NaN',
  '[Infinity]',
  '//x\n{}',
  '\u00a0{}',
  '01',
  '"\n"',
]

const MUCH = gzipSync(Buffer.alloc(30_000_000, 0x20))

const JSON_SHAPES: readonly Shape[] = [
  ofText('duplicate member', (text, random) => {
    const names = [...text.matchAll(/"(?:[^"\\]|\\.)*"(?=:)/g)].map(([name]) => name)
    return withMember(
      text,
      `${pick(random, names.length > 0 ? names : ['"a"'])}:${pick(random, ['null', '[]', '"x"'])}`,
    )
  }),
  ofText('invalid UTF-8', (text, random) => {
    const at = replaced(text, STRING_VALUE, '"\u0001"', random)
    const cut = at.indexOf('\u0001')
    return Buffer.concat([Buffer.from(at.slice(0, cut)), pick(random, INVALID_UTF8), Buffer.from(at.slice(cut + 1))])
  }),
  ofText('odd escape', (text, random) => replaced(text, STRING_VALUE, pick(random, ESCAPES), random)),
  ofText('odd name', (text, random) => withMember(text, `${pick(random, ESCAPES)}:1`)),
  ofText('huge number', (text, random) =>
    replaced(text, random() < 0.7 ? NUMBER_VALUE : STRING_VALUE, pick(random, HUGE_NUMBERS), random),
  ),
  ofText('prototype member', (text, random) => {
    const member = `"${pick(random, PROTOTYPES)}":${pick(random, ['{"isAdmin":true}', 'null', '[]'])}`
    return random() < 0.5 ? withMember(text, member) : replaced(text, STRING_VALUE, `{${member}}`, random)
  }),
  ofText('cut text', (text, random) => text.slice(0, Math.floor(random() * text.length))),
  ofText('no JSON', (_text, random) => pick(random, NOT_JSON)),
  ofText('trailing text', (text, random) => text + pick(random, ['x', '{}', ',', '\u0000', ']', text])),
  ofText('byte order mark', (text) => `\ufeff${text}`),
  ofText('empty', () => ''),
  ofText('white space', () => ' \r\n\t '),
  ofText('deep', (_text, random) => pick(random, ['[', '{"a":']).repeat(5000)),
  ofText('many members', () => `{${Array.from({ length: 2000 }, (_, n) => `"a${n}":${n}`).join(',')}}`),
  {
    name: 'odd content type',
    make(body, random) {
      const type = pick(random, TYPES)
      return json(textOf(body), type === '' ? {} : { 'content-type': type })
    },
  },
  {
    name: 'gzip that is none',
    make(body, random) {
      const coding = pick(random, ['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'x-none', ''])
      return json(textOf(body), { ...JSON_TYPE, 'content-encoding': coding })
    },
  },
  {
    name: 'cut gzip',
    make(body, random) {
      const packed = gzipSync(textOf(body))
      return json(packed.subarray(0, Math.floor(random() * packed.length)), {
        ...JSON_TYPE,
        'content-encoding': 'gzip',
      })
    },
  },
  {
    name: 'gzip of much',
    make: () => json(MUCH, { ...JSON_TYPE, 'content-encoding': 'gzip' }),
  },
  {
    name: 'chunked',
    make: (body) => json(textOf(body), { ...JSON_TYPE, 'transfer-encoding': 'chunked' }),
  },
  {
    name: 'body that ends early',
    make: (body, random) => ({ ...json(textOf(body)), missing: 1 + Math.floor(random() * 100) }),
  },
  { name: 'form where JSON is due', make: (body) => ({ headers: FORM_TYPE, bytes: Buffer.from(form(partsOf(body))) }) },
]

interface Part {
  readonly head: string
  readonly bytes: string
}

const MODULE: Part = {
  head: 'Content-Disposition: form-data; name="main.js"; filename="main.js"\r\nContent-Type: application/javascript+module',
  bytes: 'export default {}',
}

const field = (name: string, bytes: string): Part => ({ head: `Content-Disposition: form-data; name="${name}"`, bytes })

function partsOf(body: unknown): Part[] {
  const members = typeof body === 'object' && body !== null ? Object.entries(body) : [['metadata', body] as const]
  return [...members.map(([name, value]) => field(encodeURIComponent(name), JSON.stringify(value) ?? '')), MODULE]
}

const form = (parts: readonly Part[], boundary = BOUNDARY): string =>
  [...parts.map(({ head, bytes }) => `--${boundary}\r\n${head}\r\n\r\n${bytes}\r\n`), `--${boundary}--\r\n`].join('')

const HEADS = [
  '',
  'Content-Disposition: form-data',
  'Content-Disposition: attachment; name="a"',
  'Content-Disposition: form-data; name="a"; filename="../../../etc/passwd"',
  'Content-Disposition: form-data; name="__proto__"',
  'Content-Disposition: form-data; name="metadata[__proto__][x]"',
  'Content-Disposition: form-data; name="metadata[bindings][999999999]"',
  'Content-Disposition: form-data; name="\u0000"',
  "Content-Disposition: form-data; name*=utf-8''%ff%fe",
  'Content-Disposition: form-data; name="a',
  `Content-Disposition: form-data; name="${'a'.repeat(20_000)}"`,
  'Content-Disposition: form-data; name="main.js"\r\nContent-Type: ;;;',
  'Content-Disposition: form-data; name="main.js"\r\nContent-Transfer-Encoding: base64',
  Array.from({ length: 100 }, (_, n) => `X-${n}: 1`).join('\r\n'),
]

/** A shape that changes the parts, or what they are joined to. */
const ofForm = (
  name: string,
  change: (parts: Part[], random: Random) => string,
  headers: Headers = FORM_TYPE,
): Shape => ({
  name,
  make: (body, random) => ({ headers, bytes: Buffer.from(change(partsOf(body), random)) }),
})

/** A shape that changes the JSON of one part. */
const ofPart = (name: string, shape: Shape): Shape => ({
  name,
  make(body, random) {
    const parts = partsOf(body)
    const at = Math.floor(random() * (parts.length - 1))
    const { bytes } = shape.make(Object.values(body ?? {})[at] ?? body, random)
    const text = form(parts.map((part, index) => (index === at ? { ...part, bytes: '\u0001' } : part)))
    const cut = text.indexOf('\u0001')
    const joined = [Buffer.from(text.slice(0, cut)), bytes, Buffer.from(text.slice(cut + 1))]
    return { headers: FORM_TYPE, bytes: Buffer.concat(joined) }
  },
})

const BOUNDARIES = ['', 'other', '"', 'a'.repeat(200), '\u00ff', 'a b ', '--', '"a\\"b"', `${BOUNDARY}; boundary=other`]

const FORM_SHAPES: readonly Shape[] = [
  ...JSON_SHAPES.filter(({ name }) => /member|UTF-8|escape|number|text|no JSON|empty|deep/.test(name)).map((shape) =>
    ofPart(`part: ${shape.name}`, shape),
  ),
  {
    name: 'wrong boundary',
    make: (body, random) => ({
      headers: { 'content-type': `multipart/form-data; boundary=${pick(random, BOUNDARIES)}` },
      bytes: Buffer.from(form(partsOf(body))),
    }),
  },
  ofForm('no boundary', (parts) => form(parts), { 'content-type': 'multipart/form-data' }),
  ofForm('other type', (parts) => form(parts), { 'content-type': 'text/plain' }),
  ofForm('JSON where a form is due', ([part]) => part?.bytes ?? '', JSON_TYPE),
  ofForm('JSON as a script', ([part]) => part?.bytes ?? '', { 'content-type': 'application/javascript' }),
  ofForm('no parts', () => `--${BOUNDARY}--\r\n`),
  ofForm('empty', () => ''),
  ofForm('open form', (parts) => form(parts).slice(0, -BOUNDARY.length - 6)),
  ofForm('cut form', (parts, random) => form(parts).slice(0, Math.floor(random() * form(parts).length))),
  ofForm('odd part', (parts, random) => form([...parts, { head: pick(random, HEADS), bytes: 'x' }])),
  ofForm('repeated part', (parts, random) => form([...parts, pick(random, parts)])),
  ofForm('bare line feeds', (parts) => form(parts).replaceAll('\r\n', '\n')),
  ofForm('text around', (parts) => `before\r\n${form(parts)}after`),
  ofForm('many parts', (parts) => form([...parts, ...Array.from({ length: 3000 }, (_, n) => field(`f${n}`, ''))])),
  ofForm('gzip that is none', (parts) => form(parts), { ...FORM_TYPE, 'content-encoding': 'gzip' }),
  {
    name: 'body that ends early',
    make: (body) => ({ headers: FORM_TYPE, bytes: Buffer.from(form(partsOf(body))), missing: 50 }),
  },
]
