import { escaped, scrolling } from '../html.mjs'

const code = (text) => `<code>${escaped(text)}</code>`

/** Maximum rows of a table. A schema with more is described in the OpenAPI document. */
const MAX_ROWS = 80

/** Replaces a reference by the schema of the component. */
export const resolved = (schema, components) =>
  schema?.$ref === undefined ? (schema ?? {}) : components[schema.$ref.replace(/^.*\//, '')]

/** Renders a table of parameters. */
export const parameterTable = (parameters) =>
  table(
    'parameters',
    parameters.map(({ name, in: place, required, description = '', schema }) =>
      row(name, `${typeOf(schema)}, ${place}${required ? ', required' : ''}`, details(description, schema)),
    ),
  )

/** Renders a table of the members of an object. Members of inner objects have a path: `output_options.field_names`. */
export function memberTable(name, schema, components) {
  const rows = memberRows('', schema, components, 0)
  return rows.length === 0 ? '' : table(name, rows.slice(0, MAX_ROWS))
}

function memberRows(prefix, schema, components, depth) {
  const { properties = {}, required = [], items } = resolved(schema, components)
  if (items) return memberRows(prefix, items, components, depth)
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = `${prefix}${name}`
    const inner = depth < 1 ? memberRows(`${path}.`, withoutNull(member), components, depth + 1) : []
    const type = `${typeOf(member)}${required.includes(name) ? ', required' : ''}`
    return [row(path, type, details(member.description ?? '', member)), ...inner]
  })
}

/** Returns the alternative of a schema that is not null. */
export function withoutNull(schema) {
  const [first, ...others] = (schema?.anyOf ?? []).filter(({ type }) => type !== 'null')
  return first !== undefined && others.length === 0 ? { ...schema, anyOf: undefined, ...first } : schema
}

const table = (name, rows) =>
  scrolling(
    `<table><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>`,
    name,
  )

const row = (name, type, meaning) => `<tr><td>${code(name)}</td><td>${escaped(type)}</td><td>${meaning}</td></tr>\n`

function details(description, schema) {
  const { minimum, maximum, maxLength, default: usual, description: own = '' } = withoutNull(schema) ?? {}
  return [
    marked(description || own),
    ...(minimum !== undefined && maximum !== undefined ? [`${minimum} to ${maximum}.`] : []),
    ...(maxLength === undefined ? [] : [`At most ${maxLength} characters.`]),
    ...(usual === undefined ? [] : [`Default: ${code(JSON.stringify(usual))}.`]),
  ]
    .filter((fact) => fact !== '')
    .join(' ')
}

/** Renders text in which code is in backticks. */
export const marked = (text) => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

function typeOf(schema) {
  const { type, enum: values, const: value, items, anyOf, oneOf, $ref } = schema ?? {}
  if ($ref !== undefined) return $ref.replace(/^.*\//, '')
  if (value !== undefined) return JSON.stringify(value)
  if (values) return values.map((one) => JSON.stringify(one)).join(' | ')
  if (anyOf ?? oneOf) return [...new Set((anyOf ?? oneOf).map(typeOf))].join(' | ')
  if (type === 'array') return `array of ${items ? typeOf(items) : 'any'}`
  return type ?? 'any'
}
