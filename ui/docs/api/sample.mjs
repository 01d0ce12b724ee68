import { resolved, withoutNull } from './schema.mjs'

const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TIME = '2026-11-28T17:40:00Z'

/** Values of members by name, if the schema allows any text. */
const TEXTS = [
  [/^(id|.*_id)$/, ZONE],
  [/(_at|_on|_time|since|until|_complete|_error)$/, TIME],
  [/^(host|hostname|domain|zone_name)$/, 'www.example.com'],
  [/url$/, 'https://example.com/'],
  [/^(expression|pattern)$/, 'http.request.uri.path eq "/old"'],
  [/^(path)$/, '/'],
  [/email/, 'ops@example.com'],
  [/^(ip|.*_ip)$/, '203.0.113.7'],
  [/^(etag|hash|sha256)$/, 'b7f2c1'],
  [/^(country)$/, 'US'],
  [/^(method)$/, 'GET'],
  [/^(version)$/, '1'],
  [/^(name|title|label|display_name|description|summary|text|message)$/, 'Example'],
]
const MAX_DEPTH = 5

/** Returns a value that fits a schema: with its required members, and one item in each array. */
export function sample(schema, components, name = '', depth = 0) {
  const {
    type,
    enum: values,
    const: only,
    examples,
    default: usual,
    anyOf,
    oneOf,
    items,
    minItems = 1,
    pattern,
    ...rest
  } = withoutNull(resolved(withoutNull(schema), components))
  if (only !== undefined) return only
  if (examples?.length > 0) return examples[0]
  if (values) return values.find((value) => value !== null && value !== '') ?? values[0]
  const [alternative] = anyOf ?? oneOf ?? []
  if (alternative) return sample({ ...rest, ...alternative }, components, name, depth)
  if (usual !== undefined) return usual
  if (type === 'array') {
    if (depth >= MAX_DEPTH || items === undefined) return []
    return Array.from({ length: Math.max(1, minItems) }, () =>
      sample(items, components, name.replace(/s$/, ''), depth + 1),
    )
  }
  if (type === 'object' || rest.properties) return objectSample(rest, components, depth)
  if (type === 'integer' || type === 'number') return rest.minimum ?? 0
  if (type === 'boolean') return true
  if (type === 'null') return null
  return text(name, pattern, rest)
}

function objectSample({ properties = {}, required = [] }, components, depth) {
  const names = Object.keys(properties).filter((name) => required.includes(name))
  return Object.fromEntries(names.map((name) => [name, sample(properties[name], components, name, depth + 1)]))
}

function text(name, pattern, { format, maxLength = 1000, minLength = 0 }) {
  if (format === 'date-time') return TIME
  if (pattern?.includes('{32}')) return ZONE
  const found = TEXTS.find(([key]) => key.test(name))?.[1] ?? 'example'
  const value = found.length > maxLength ? 'a' : found
  return value.padEnd(minLength, 'x')
}
