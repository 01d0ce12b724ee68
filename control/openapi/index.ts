import type { TSchema } from 'typebox'
import { EventLoopYield, type Pause } from '../../src/core/schedule/event-loop-yield.js'
import type { Scope } from '../../src/core/scope.js'
import type { Endpoint } from '../http/endpoint.js'
import { ERROR_RESPONSES, failures } from './errors.js'
import { OPENAPI_WEBHOOKS } from './webhooks.js'
import { ResultInfo } from '../http/paging.js'
import { jsonBytes } from '../http/json-text.js'
import { bySpecificity, endpointPath } from '../http/paths.js'
import { PREFIX } from '../http/prefix.js'
import type { ApiMiddleware } from '../http/context.js'

type Json = Record<string, unknown>

interface Shape {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Json & { readonly default?: unknown; readonly description?: string }>>
  readonly required?: readonly string[]
}
const shape = (schema: TSchema | undefined): Shape => schema ?? {}

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })
const json = (schema: unknown): Json => ({ 'application/json': { schema } })

/** Builds the OpenAPI 3.1 document of the API from the schemas that validate requests. */
export function openapiDocument(endpoints: readonly Endpoint[]): Json {
  const steps = documentSteps(endpoints)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** As {@link openapiDocument}, with a pause after each endpoint. */
async function documentInSlices(endpoints: readonly Endpoint[], pause: Pause): Promise<Json> {
  const steps = documentSteps(endpoints)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await pause()
  }
}

/** Yields after each endpoint. Returns the document. */
function* documentSteps(endpoints: readonly Endpoint[]): Generator<undefined, Json> {
  const components = new Map<string, unknown>()
  const paths: Record<string, Json> = {}
  const rows = endpoints.flatMap((endpoint) =>
    endpoint.scopes.map((type) => ({ endpoint, type, path: endpointPath(endpoint, type) })),
  )
  for (const { endpoint, type, path } of rows.sort((a, b) => bySpecificity(a.path, b.path))) {
    const template = path.replaceAll(/[:*]([a-z_]+)/g, '{$1}')
    const added = withComponents({ [endpoint.method]: operation(endpoint, type, template) }, components)
    paths[template] = { ...paths[template], ...added }
    yield
  }
  const rest = withComponents(
    { webhooks: OPENAPI_WEBHOOKS, schemas: COMPONENTS, responses: ERROR_RESPONSES },
    components,
  )
  return {
    openapi: '3.1.1',
    info: {
      title: 'edged',
      version: '4.0.0',
      summary: 'Markdown conversion, rulesets, log push, Worker scripts and posture webhooks',
      description:
        'Every response is one envelope. Errors have a code and, for bodies, a JSON pointer; all errors of a body are ' +
        'reported at once. Each response has the number of requests that the token has left (`ratelimit`) and the ' +
        'id of its request (`cf-ray`).',
    },
    servers: [{ url: PREFIX }],
    security: [{ token: [] }, { email: [], key: [] }],
    paths,
    webhooks: rest['webhooks'],
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        email: { type: 'apiKey', in: 'header', name: 'X-Auth-Email' },
        key: { type: 'apiKey', in: 'header', name: 'X-Auth-Key' },
      },
      schemas: { ...(rest['schemas'] as Json), ...Object.fromEntries(components) },
      responses: rest['responses'],
    },
  }
}

/** Returns a part of the document, in which schemas of manually checked values refer to `components`, where each is added once. */
function withComponents(part: Json, components: Map<string, unknown>): Json {
  return JSON.parse(
    JSON.stringify(part, (_key, value: Json | null) => {
      const name = value?.['x-component']
      if (typeof name !== 'string') return value
      components.set(name, value?.['x-schema'])
      return ref(name)
    }),
  ) as Json
}

const MESSAGE = {
  type: 'object',
  required: ['code', 'message'],
  properties: {
    code: { type: 'integer', minimum: 1000 },
    message: { type: 'string', minLength: 1 },
    type: { type: 'null' },
    documentation_url: { type: 'string' },
    source: { type: 'object', properties: { pointer: { type: 'string' } }, additionalProperties: false },
    error_chain: { type: 'array', items: ref('Message') },
    notes: { type: 'array' },
    meta: { type: 'object', description: 'More about the error, for clients that know its code.' },
  },
  additionalProperties: false,
}

const COMPONENTS = {
  Message: MESSAGE,
  ResultInfo: {
    ...ResultInfo,
    description: 'Of lists. Those that are walked with a cursor have count, per_page and the cursor only.',
    required: ['count', 'per_page'],
  },
  Failure: {
    type: 'object',
    required: ['success', 'errors', 'messages', 'result'],
    properties: {
      success: { const: false },
      errors: { type: 'array', items: ref('Message'), minItems: 1 },
      messages: { type: 'array', items: ref('Message') },
      result: { type: 'null' },
    },
    additionalProperties: false,
  },
}

function operation(endpoint: Endpoint, type: Scope['type'], template: string): Json {
  const { method, summary, permissions, status = 200, statuses = [status], open } = endpoint
  return {
    operationId: `${method}_${template.replaceAll(/[^a-z0-9]+/gi, '_').replaceAll(/^_|_$/g, '')}`,
    summary,
    tags: [tag(endpoint, type)],
    ...(open && { security: [] }),
    ...(permissions.length > 0 && {
      description: `Needs one of the permissions: ${permissions.join(', ')}.`,
      'x-permissions': permissions,
    }),
    parameters: [...pathParameters(template), ...queryParameters(endpoint.query)],
    ...body(endpoint),
    responses: {
      ...Object.fromEntries(statuses.map((one) => [String(one), success(endpoint, one)])),
      ...failures(endpoint),
      default: { description: 'The request failed; see errors.', content: json(ref('Failure')) },
    },
  }
}

const tag = ({ path }: Endpoint, type: Scope['type']): string =>
  path.split('/').find((segment) => segment !== '' && segment !== 'edged') ?? `${type}s`

function pathParameters(template: string): Json[] {
  return [...template.matchAll(/\{([a-z_]+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema:
      name === 'account_id' || name === 'zone_id' ? { type: 'string', pattern: '^[0-9a-f]{32}$' } : { type: 'string' },
  }))
}

function queryParameters(schema: TSchema | undefined): Json[] {
  const { properties = {}, required = [] } = shape(schema)
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: 'query',
    required: required.includes(name) && property.default === undefined,
    ...(description !== undefined && { description }),
    schema: property,
  }))
}

function body({ body, bodyOptional, raw, method }: Endpoint): Json {
  if (raw) {
    const content = Object.fromEntries(raw.types.map((type) => [type, raw.schema ? { schema: raw.schema } : {}]))
    return { requestBody: { required: raw.optional !== true, content } }
  }
  if (!body) return {}
  return { requestBody: { required: !(bodyOptional ?? method === 'delete'), content: json(body) } }
}

function success({ result, file, top, query, bare }: Endpoint, status: number): Json {
  if (status === 204) return { description: 'Done; no body.' }
  if (file !== undefined) return { description: 'The file.', content: { [file]: {} } }
  const list = shape(result).type === 'array'
  const { properties = {}, required = [] } = shape(top)
  const schema = {
    type: 'object',
    required: ['success', 'errors', 'messages', ...(bare ? [] : ['result']), ...required],
    properties: {
      success: { const: true },
      errors: { type: 'array', maxItems: 0 },
      messages: { type: 'array', items: ref('Message') },
      ...(!bare && { result: dryRun(query) ? { anyOf: [result ?? {}, { type: 'null' }] } : (result ?? {}) }),
      ...(list && { result_info: ref('ResultInfo') }),
      ...properties,
    },
    additionalProperties: false,
  }
  return { description: 'Done.', content: json(schema) }
}

/** Returns whether requests can ask for a check only; the response is then null. */
const dryRun = (query: TSchema | undefined): boolean => shape(query).properties?.['dry_run'] !== undefined

const slices = new EventLoopYield()

/** Serves `GET /openapi.json`, the only path besides the API that needs no credentials. */
export function manual(endpoints: readonly Endpoint[], pause: Pause = () => slices.yieldToEventLoop()): ApiMiddleware {
  let bytes: Promise<Buffer> | undefined
  return async (ctx, next) => {
    const asked = ctx.path === '/openapi.json' || ctx.path === `${PREFIX}/openapi.json`
    if (!asked || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return await next()
    bytes ??= documentInSlices(endpoints, pause).then(async (document) => await jsonBytes(document, pause))
    ctx.body = await bytes
    ctx.type = 'application/json'
  }
}
