import { Type } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import type { KeyValues } from '../../src/workers/storage/key-values.js'
import { area } from '../http/area.js'
import { FileResponse, ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { assertNotHostile } from '../http/json-limits.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'
import { sentValue } from './kv-body.js'
import { found, keyIssues, put, reject, stay, termIssues } from './kv-check.js'
import { NAMESPACE, type NamespaceRepository } from './kv-namespaces.js'

const VALUE = `${NAMESPACE}/values/:key_name` as const

const ListedKey = Type.Object({
  name: Type.String(),
  expiration: Type.Optional(Type.Number()),
  metadata: Type.Optional(Type.Unknown()),
})

const rows = area(
  { scopes: ['account'], access: ACCESS.kv, refusal: 'badValue' },
  ({ clock }: Pick<ControlDeps, 'clock'>, namespaces: NamespaceRepository, values: KeyValues) => ({
    namespaces,
    values,
    clock,
  }),
)

/** Keys of a namespace, one by one. */
export const kvValues = rows.endpoints([
  rows.get(`${NAMESPACE}/keys`, {
    summary: 'List the keys of a namespace',
    query: Type.Object({
      prefix: Type.Optional(Type.String({ maxLength: 512 })),
      limit: Type.Integer({ minimum: 10, maximum: 1000, default: 1000 }),
      cursor: Type.Optional(Type.String({ maxLength: 1024, description: 'Of the page before, from its result_info.' })),
    }),
    result: Type.Array(ListedKey),
    handle({ namespaces, values }, { scope, params, query: { prefix, limit, cursor } }) {
      namespaces.get(scope, params.namespace_id)
      const after = cursor === undefined || cursor === '' ? undefined : Buffer.from(cursor, 'base64url').toString()
      const { keys, more } = values.list(scope, params.namespace_id, { prefix, after, limit })
      const next = more ? Buffer.from(keys.at(-1)?.name ?? '').toString('base64url') : ''
      return new ApiResponse(keys, { result_info: { count: keys.length, per_page: limit, cursor: next } })
    },
  }),
  rows.get(VALUE, {
    summary: 'Read the value of a key; the header expiration has the time at which it expires',
    file: 'application/octet-stream',
    async handle({ namespaces, values }, { scope, params: { namespace_id, key_name } }) {
      namespaces.get(scope, namespace_id)
      const value = found(values, scope, namespace_id, key_name)
      const { expiration } = value
      const headers = expiration === undefined ? undefined : { expiration: String(expiration) }
      return new FileResponse('application/octet-stream', await values.bytes(value), headers)
    },
  }),
  rows.get(`${NAMESPACE}/metadata/:key_name`, {
    summary: 'Read the metadata of a key',
    handle({ namespaces, values }, { scope, params: { namespace_id, key_name } }) {
      namespaces.get(scope, namespace_id)
      return found(values, scope, namespace_id, key_name).metadata ?? null
    },
  }),
  rows.put(VALUE, {
    summary: 'Store the value of a key: the body, or the field value of a form beside a field metadata of JSON',
    query: Type.Object({
      expiration: Type.Optional(Type.Integer({ minimum: 0, description: 'Unix time in seconds.' })),
      expiration_ttl: Type.Optional(Type.Integer({ minimum: 0, description: 'Seconds.' })),
    }),
    raw: { types: ['application/octet-stream', 'multipart/form-data', '*/*'], optional: true },
    result: Type.Object({}),
    async handle({ clock, namespaces, values }, { scope, params: { namespace_id, key_name: key }, query, request }) {
      namespaces.get(scope, namespace_id)
      reject(keyIssues(key, '/key_name'))
      reject(termIssues(query, clock.now(), ''))
      const { bytes, metadata: text } = await sentValue(request)
      const metadata = text === undefined || text === '' ? undefined : fromJson(text)
      const now = clock.now()
      reject(termIssues({ metadata }, now, ''))
      await put(values, scope, namespace_id, [{ key, bytes, ...stay({ ...query, metadata }, now) }])
      return {}
    },
  }),
  rows.delete(VALUE, {
    summary: 'Delete a key; one that is not there is deleted already',
    result: Type.Object({}),
    async handle({ namespaces, values }, { scope, params: { namespace_id, key_name } }) {
      namespaces.get(scope, namespace_id)
      await values.remove(scope, namespace_id, [key_name])
      return {}
    },
  }),
])

function fromJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ApiError('badValue', '/metadata', { message: 'must be JSON', cause: error })
  }
  try {
    assertNotHostile(value)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new InvalidInput(error.issues.map((issue) => ({ ...issue, pointer: `/metadata${issue.pointer}` })))
  }
  return value
}
