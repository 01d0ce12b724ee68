import { isUtf8 } from 'node:buffer'
import { Type, type Static } from 'typebox'
import type { Issue } from '../../src/core/errors.js'
import { EventLoopYield, type Pause } from '../../src/core/schedule/event-loop-yield.js'
import { parseScanned, scanJson } from '../../src/core/json/json-slices.js'
import { strict } from '../../src/core/schema.js'
import type { KeyValues, NewValue } from '../../src/workers/storage/key-values.js'
import { area } from '../http/area.js'
import { ApiError } from '../http/errors.js'
import { JsonText, LongText } from '../http/json-text.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'
import { keyIssues, put, reject, stay, termIssues } from './kv-check.js'
import { NAMESPACE, type NamespaceRepository } from './kv-namespaces.js'

const NewValues = Type.Array(
  Type.Object(
    {
      key: Type.String(),
      value: Type.String(),
      base64: Type.Optional(Type.Boolean({ description: 'The value is base64 of its bytes. Default: false.' })),
      expiration: Type.Optional(Type.Integer({ minimum: 0 })),
      expiration_ttl: Type.Optional(Type.Integer({ minimum: 0 })),
      metadata: Type.Optional(Type.Unknown()),
    },
    strict,
  ),
  { maxItems: 10_000 },
)
const Keys = Type.Array(Type.String(), { maxItems: 10_000 })
const Wanted = Type.Object(
  {
    keys: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }),
    type: Type.Optional(Type.Enum(['text', 'json'])),
    withMetadata: Type.Optional(Type.Boolean()),
  },
  strict,
)
const Done = Type.Object({ successful_key_count: Type.Integer(), unsuccessful_keys: Type.Array(Type.String()) })

const slices = new EventLoopYield()
const pause: Pause = () => slices.yieldToEventLoop()

/** More bytes in one request would fill the memory. */
const MAX_READ_BYTES = 25 * 1024 * 1024

const rows = area(
  { scopes: ['account'], access: ACCESS.kv, refusal: 'badValue' },
  ({ clock }: Pick<ControlDeps, 'clock'>, namespaces: NamespaceRepository, values: KeyValues) => ({
    clock,
    namespaces,
    values,
  }),
)

/** Many keys of a namespace in one request. */
export const kvBulk = rows.endpoints([
  rows.put(`${NAMESPACE}/bulk`, {
    result: Done,
    summary: 'Store many values; if one of them is refused, none',
    body: NewValues,
    maxBytes: 10_000_000,
    async handle({ clock, namespaces, values }, { scope, params: { namespace_id }, body }) {
      namespaces.get(scope, namespace_id)
      const now = clock.now()
      const all: NewValue[] = []
      const issues: Issue[] = []
      for (const [at, value] of body.entries()) {
        await pause()
        issues.push(...valueIssues(value, now, at))
        if (issues.length > 0) continue
        const bytes = Buffer.from(value.value, value.base64 === true ? 'base64' : 'utf8')
        all.push({ key: value.key, bytes, ...stay(value, now) })
      }
      reject(issues)
      await put(values, scope, namespace_id, all)
      return { successful_key_count: body.length, unsuccessful_keys: [] }
    },
  }),
  ...[['delete', `${NAMESPACE}/bulk`] as const, ['post', `${NAMESPACE}/bulk/delete`] as const].map(([method, path]) =>
    rows[method](path, {
      result: Done,
      summary: 'Delete many keys',
      body: Keys,
      maxBytes: 10_000_000,
      async handle({ namespaces, values }, { scope, params: { namespace_id }, body }) {
        namespaces.get(scope, namespace_id)
        await values.remove(scope, namespace_id, body)
        return { successful_key_count: body.length, unsuccessful_keys: [] }
      },
    }),
  ),
  rows.post(`${NAMESPACE}/bulk/get`, {
    permissions: ACCESS.kv.read,
    summary: 'Read up to a hundred values; null for a key that does not exist',
    body: Wanted,
    maxBytes: 10_000_000,
    result: Type.Object({ values: Type.Object({}) }),
    async handle(
      { namespaces, values },
      { scope, params: { namespace_id }, body: { keys, type = 'text', withMetadata = false } },
    ) {
      namespaces.get(scope, namespace_id)
      // Keys may have any name, such as one that a plain object has already.
      const read = new Map<string, unknown>()
      let size = 0
      for (const [at, key] of keys.entries()) {
        const found = values.find(scope, namespace_id, key)
        if (!found || read.has(key)) {
          if (!found) read.set(key, null)
          continue
        }
        size += found.size
        if (size > MAX_READ_BYTES)
          throw new ApiError(
            'valueTooLarge',
            `/keys/${at}`,
            `the values have more than ${MAX_READ_BYTES} bytes together`,
          )
        const bytes = await values.bytes(found)
        const value = type === 'text' ? textOf(bytes) : await jsonOf(bytes, at)
        const { expiration, metadata = null } = found
        read.set(key, withMetadata ? { value, metadata, ...(expiration !== undefined && { expiration }) } : value)
      }
      return { values: Object.fromEntries(read) }
    },
  }),
])

/** Returns the issues of the value at a position of the body. */
const valueIssues = (value: Static<typeof NewValues>[number], now: number, at: number): Issue[] => [
  ...keyIssues(value.key, `/${at}/key`),
  ...termIssues(value, now, `/${at}`),
  ...(value.base64 === true && !BASE64.test(value.value)
    ? [{ pointer: `/${at}/value`, message: 'must be base64' }]
    : []),
]

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

const LONG_BYTES = 64 * 1024
const textOf = (bytes: Buffer): string | LongText =>
  bytes.length > LONG_BYTES ? new LongText(bytes) : bytes.toString()

/** Limits of a value that is read as JSON. */
const LIMITS = { depth: 1000, members: Infinity, values: Infinity }
/** Returns a value as the JSON that it is: parsed to check it, and not kept. */
async function jsonOf(value: Buffer, at: number): Promise<JsonText> {
  const bytes = isUtf8(value) ? value : Buffer.from(value.toString())
  try {
    const scan = await scanJson(bytes, LIMITS, pause)
    if (scan.excess !== undefined) throw new SyntaxError(`it ${scan.excess}`)
    await parseScanned(bytes, scan, pause, { checks: true })
    return new JsonText(bytes)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new ApiError('badValue', `/keys/${at}`, { message: 'the value of the key is not JSON', cause: error })
  }
}
