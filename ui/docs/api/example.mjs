import { tailOf } from './areas.mjs'
import { BODIES, RAW } from './bodies.mjs'
import { resolved } from './schema.mjs'
import { sample } from './sample.mjs'

/** Values of path parameters in lines of curl. Others are their own name in capitals. */
const VALUES = { account_id: '$ACCOUNT', zone_id: '$ZONE' }

/** Returns the line of curl for an operation. A body is one that the operation accepts. */
export function curlOf({ method, paths, operation }, schemas) {
  const path = paths.at(-1).replaceAll(/\{([a-z_]+)\}/g, (_whole, name) => VALUES[name] ?? valueOf(name, operation))
  const verb = method === 'get' || (method === 'post' && operation.requestBody) ? '' : `-X ${method.toUpperCase()} `
  return `curl ${verb}"$API${path}${queryOf(operation)}" -H "$AUTH"${bodyOf(method, paths[0], operation, schemas)}`
}

function valueOf(name, { parameters }) {
  const { schema } = parameters.find((each) => each.name === name) ?? {}
  return schema?.enum?.[0] ?? PATH_VALUES[name] ?? name.toUpperCase()
}

const PATH_VALUES = {
  ruleset_phase: 'http_request_firewall_custom',
  setting_id: 'content_converter',
  dataset: 'http_requests',
  dataset_id: 'http_requests',
  job_id: '1',
  script_name: 'hello',
}

/** Returns the query of the required parameters. */
function queryOf({ parameters }) {
  const query = parameters.filter((each) => each.in === 'query' && each.required)
  if (query.length === 0) return ''
  return `?${query.map(({ name, schema }) => `${name}=${encodeURIComponent(String(sample(schema, {}, name)))}`).join('&')}`
}

function bodyOf(method, path, operation, schemas) {
  const raw = RAW[`${method} ${tailOf(path)}`]
  if (raw !== undefined) return ` ${raw}`
  const value = bodyExample(method, path, operation, schemas)
  if (value === undefined) return ''
  return ` --json '${jsonText(value, 40).replaceAll("'", `'\\''`)}'`
}

/** Returns a body of JSON that an operation accepts, undefined if it takes none. */
function bodyExample(method, path, { requestBody }, schemas) {
  const schema = requestBody?.content['application/json']?.schema
  if (schema === undefined) return undefined
  const written = BODIES[`${method} ${tailOf(path)}`]
  if (written !== undefined) return written
  const value = sample(schema, schemas)
  return requestBody.required || Object.keys(value ?? {}).length > 0 ? value : undefined
}

const ENVELOPE = new Set(['success', 'errors', 'messages'])

/** Returns an example of the response and the schema of its result. The text is empty if the response has no JSON. */
export function responseOf({ responses }, schemas) {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const schema = resolved(success?.content?.['application/json']?.schema, schemas)
  const { result, ...properties } = schema.properties ?? {}
  if (result === undefined) return { text: '', schema: {} }
  // Some responses have members beside the result.
  const others = (schema.required ?? []).filter((name) => properties[name] !== undefined && !ENVELOPE.has(name))
  const value = {
    success: true,
    errors: [],
    messages: [],
    result: sample(result, schemas, 'result'),
    ...Object.fromEntries(others.map((name) => [name, sample(properties[name], schemas, name)])),
  }
  return { text: jsonText(value), schema: result.type === 'array' ? result.items : result }
}

const MAX_WIDTH = 88

/** Prints a value as JSON. Objects and arrays that fit in a line are in one line, of which `used` characters are taken. */
function jsonText(value, used = 0, indent = '') {
  const flat = inline(value)
  if (typeof value !== 'object' || value === null || indent.length + used + flat.length <= MAX_WIDTH) return flat
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const lines = Object.entries(value).map(([name, member]) => {
    const key = Array.isArray(value) ? '' : `${JSON.stringify(name)}: `
    return `${inner}${key}${jsonText(member, key.length, inner)}`
  })
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

function inline(value) {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${inline(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
