import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import type { TSchema } from 'typebox'
import { routes } from '../../../control/http/server/app.js'
import { manual, openapiDocument } from '../../../control/openapi/index.js'
import { bySpecificity, endpointPath } from '../../../control/http/paths.js'
import { PREFIX } from '../../../control/http/prefix.js'
import { PERMISSIONS } from '../../../control/http/permissions.js'
import { InvalidInput } from '../../../src/core/errors.js'
import { parser } from '../../../src/core/schema.js'
import { postureClient } from '../webhooks/helper.js'

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: object }>> }
  readonly responses: Readonly<Record<string, object>>
}
interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

t.test('the first request for the manual makes a pause after each endpoint', async (t) => {
  const { endpoints } = await postureClient(t)
  let pauses = 0
  const serve = manual(endpoints, async () => void pauses++)
  const ctx = { method: 'GET', path: '/openapi.json', body: undefined as Buffer | undefined }
  await serve(ctx as never, async () => undefined)
  t.strictSame(JSON.parse(String(ctx.body)), JSON.parse(JSON.stringify(openapiDocument(endpoints))))
  t.ok(pauses > endpoints.length, `${pauses} pauses`)
})

t.test('the manual needs no token', async (t) => {
  const { url, endpoints } = await postureClient(t)
  for (const at of [new URL('/openapi.json', url).href, `${url}/openapi.json`]) {
    const response = await fetch(at)
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), /^application\/json/)
    t.strictSame(await response.json(), JSON.parse(JSON.stringify(openapiDocument(endpoints))))
  }
  t.equal((await fetch(new URL('/openapi.json', url), { method: 'POST' })).status, 404)
})

t.test('every route is in the manual, and everything in the manual is a route', async (t) => {
  const { deps, endpoints } = await postureClient(t)
  const document = openapiDocument(endpoints) as unknown as Document
  const reported = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  )
  const routed = routes(endpoints, deps).stack.flatMap(({ path, methods }) =>
    methods
      .map((method) => method.toLowerCase())
      .filter((method) => METHODS.includes(method))
      .map(
        (method) =>
          `${method} ${String(path)
            .slice(PREFIX.length)
            .replaceAll(/:([a-z_]+)/g, '{$1}')}`,
      ),
  )
  t.same(reported.toSorted(), routed.toSorted())
  t.equal(new Set(reported).size, reported.length)
})

t.test('operations have ids of their own and name each parameter of their path', async (t) => {
  const { endpoints } = await postureClient(t)
  const document = openapiDocument(endpoints) as unknown as Document
  t.match(document.openapi, /^3\.1\./)
  const ids = new Set<string>()
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { operationId, parameters, responses }] of Object.entries(operations)) {
      t.notOk(ids.has(operationId), operationId)
      ids.add(operationId)
      const named = parameters.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`)
      t.same(named, path.match(/\{[^}]+\}/g) ?? [], `${method} ${path}`)
      t.ok('default' in responses)
    }
  }
})

t.test('every endpoint names permissions that exist, a summary, and a result unless it has none', async (t) => {
  const { endpoints } = await postureClient(t)
  const rows = new Set<string>()
  for (const endpoint of endpoints) {
    const { method, summary, permissions, result, status, file, scopes, bare } = endpoint
    for (const scope of scopes) {
      const row = `${method} ${endpointPath(endpoint, scope)}`
      t.notOk(rows.has(row), `${row} stands once`)
      rows.add(row)
      for (const permission of permissions) t.ok(PERMISSIONS.includes(permission), `${row}: ${permission}`)
      t.ok(summary.length > 5, row)
      t.ok(status === 204 || file !== undefined || bare === true || result !== undefined, `${row} tells its result`)
      t.ok(method === 'get' || permissions.length > 0, `${row} changes something and asks for a permission`)
    }
  }
})

t.test('fixed segments are found before parameters', async (t) => {
  const paths = ['/a/:id', '/a/verify', '/a', '/:x/b', '/a/:id/value', '/a/verify/:id']
  t.same(paths.toSorted(bySpecificity), ['/a', '/a/verify', '/a/verify/:id', '/a/:id', '/a/:id/value', '/:x/b'])
})

/** Values near a schema: mostly what it asks for, now and then something else. */
function near(schema: TSchema, depth = 0): fc.Arbitrary<unknown> {
  const strange = fc.oneof(fc.constant(null), fc.integer(), fc.string(), fc.boolean(), fc.constant([]), fc.constant({}))
  const fitting = fit(schema, depth)
  return fc.oneof({ weight: 12, arbitrary: fitting }, { weight: 1, arbitrary: strange })
}

type Part = TSchema & {
  readonly anyOf?: readonly TSchema[]
  readonly oneOf?: readonly TSchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly type?: string
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
}

function fit(schema: TSchema, depth: number): fc.Arbitrary<unknown> {
  const { anyOf, oneOf, const: only, enum: values, type, properties, items } = schema as Part
  if (only !== undefined) return fc.constant(only)
  if (values) return fc.constantFrom(...values)
  const branches = anyOf ?? oneOf
  if (branches) return fc.oneof(...branches.map((branch) => near(branch, depth)))
  if (depth > 5) return fc.constant({})
  if (type === 'object') {
    const known = Object.fromEntries(
      Object.entries(properties ?? {}).map(([name, part]) => [name, near(part, depth + 1)]),
    )
    const extra = fc.oneof(
      { weight: 15, arbitrary: fc.constant({}) },
      { weight: 1, arbitrary: fc.constant({ extra: 1 }) },
    )
    return fc.tuple(fc.record(known, { requiredKeys: [] }), extra).map(([a, b]) => ({ ...a, ...b }))
  }
  if (type === 'array') return fc.array(near(items ?? {}, depth + 1), { maxLength: 3 })
  if (type === 'integer') return fc.integer({ min: -2, max: 2000 })
  if (type === 'number') return fc.double({ noNaN: true })
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  return fc.constantFrom('', 'a', 'on', 'app.example.com', '2030-01-01T00:00:00Z', 'x'.repeat(300))
}

t.test('what a body may be is the same to the API and to readers of its manual', async (t) => {
  const { endpoints } = await postureClient(t)
  const document = JSON.parse(JSON.stringify(openapiDocument(endpoints))) as Document
  const ajv = addFormats.default(new Ajv2020({ strict: false, discriminator: true }))
  ajv.addSchema(document, 'api')
  for (const endpoint of endpoints) {
    const { body, method, scopes } = endpoint
    const [scope] = scopes
    if (!body || !scope) continue
    const template = endpointPath(endpoint, scope).replaceAll(/:([a-z_]+)/g, '{$1}')
    const pointer = ['paths', template, method, 'requestBody', 'content', 'application/json', 'schema']
    const reported = ajv.getSchema(
      `api#/${pointer.map((step) => encodeURI(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`,
    )
    if (!reported) throw new Error(`${method} ${template} has no body in the manual`)
    const parse = parser(body)
    // Where a part is checked by hand, the manual knows more than the schema.
    const partly = JSON.stringify(body).includes('x-component')
    fc.assert(
      fc.property(near(body), (value) => {
        const fits = passes(parse, value)
        return reported(value) === fits || (partly && fits)
      }),
      { numRuns: 200 },
    )
    t.pass(`${method} ${template}`)
  }
})

function passes(parse: (value: unknown) => unknown, value: unknown): boolean {
  try {
    parse(value)
    return true
  } catch (error) {
    if (error instanceof InvalidInput) return false
    throw error
  }
}
