import type { Endpoint } from '../http/endpoint.js'
import { PREFIX } from '../http/prefix.js'
import { openapiDocument } from './index.js'

interface Schema {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly $ref?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
}
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
  >
}

/** A row of the manual: one operation at its path. */
interface Row {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (char) => ENTITIES[char]!)
const code = (text: string): string => `<code>${escaped(text)}</code>`

/** Renders the OpenAPI document as a page. `guides` are the other pages of the documentation. */
export function apiManual(
  endpoints: readonly Endpoint[],
  guides: readonly (readonly [file: string, title: string])[],
): string {
  const document = openapiDocument(endpoints) as unknown as { paths: Record<string, Record<string, Operation>> }
  const rows = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Row => ({ method, path, operation })),
  )
  const areas = new Map<string, Row[]>()
  for (const each of rows) {
    const name = each.operation.tags[0] ?? ''
    areas.set(name, [...(areas.get(name) ?? []), each])
  }
  const names = [...areas.keys()].sort()
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>edged: API</title>
<link rel="stylesheet" href="docs.css">
</head>
<body>
<nav aria-label="Documentation">
<p><a href="./" aria-current="page">API</a></p>
<ul>${guides.map(([file, title]) => `<li><a href="${escaped(file)}">${escaped(title)}</a></li>`).join('')}</ul>
<p>Areas of the API</p>
<ul>${names.map((name) => `<li><a href="#area-${escaped(name)}">${escaped(name)}</a></li>`).join('')}</ul>
</nav>
<main>
<h1>API</h1>
<p>All paths begin with ${code(PREFIX)}. The same as data: <a href="/openapi.json">openapi.json</a>. A token is sent as
${code('Authorization: Bearer TOKEN')}. Paths with ${code('/edged/')} are additions of edged.</p>
${names.map((name) => area(name, areas.get(name) ?? [])).join('\n')}
</main>
</body>
</html>
`
}

const area = (name: string, rows: readonly Row[]): string =>
  `<section><h2 id="area-${escaped(name)}">${escaped(name)}</h2>\n${rows.map(entry).join('\n')}</section>`

function entry({ method, path, operation }: Row): string {
  const { operationId, summary, description, parameters, requestBody } = operation
  const input = Object.entries(requestBody?.content ?? {})
  return [
    `<article id="${escaped(operationId)}">`,
    `<h3><code><b>${method.toUpperCase()}</b> ${escaped(path)}</code></h3>`,
    `<p>${escaped(summary)}.${description === undefined ? '' : ` ${escaped(description)}`}</p>`,
    parameters.length > 0 ? table('Parameters', parameters.map(parameterRow)) : '',
    ...input.map(([type, { schema }]) => members(`Body (${type})`, schema)),
    members('Result', resultOf(operation)),
    '</article>',
  ].join('\n')
}

const parameterRow = ({ name, in: place, required, description = '', schema }: Parameter): string =>
  row(name, `${typeOf(schema)}, ${place}${required ? ', required' : ''}`, details(description, schema))

/** Returns the schema of `result` in the response of success. */
function resultOf({ responses }: Operation): Schema | undefined {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const result = success?.content?.['application/json']?.schema?.properties?.['result']
  return result?.type === 'array' ? result.items : result
}

function members(title: string, schema: Schema | undefined): string {
  const { properties = {}, required = [] } = schema ?? {}
  const rows = Object.entries(properties).map(([name, member]) =>
    row(
      name,
      `${typeOf(member)}${required.includes(name) ? ', required' : ''}`,
      details(member.description ?? '', member),
    ),
  )
  return rows.length === 0 ? '' : table(title, rows)
}

const table = (title: string, rows: readonly string[]): string =>
  `<details><summary>${escaped(title)}</summary><table><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead>` +
  `<tbody>${rows.join('')}</tbody></table></details>`

const row = (name: string, type: string, meaning: string): string =>
  `<tr><td>${code(name)}</td><td>${escaped(type)}</td><td>${meaning}</td></tr>`

function details(description: string, schema: Schema): string {
  const { minimum, maximum, maxLength, default: usual } = schema
  const facts = [
    escaped(description),
    ...(minimum !== undefined && maximum !== undefined ? [`${minimum} to ${maximum}.`] : []),
    ...(maxLength === undefined ? [] : [`At most ${maxLength} characters.`]),
    ...(usual === undefined ? [] : [`Default: ${code(JSON.stringify(usual))}.`]),
  ]
  return facts.filter((fact) => fact !== '').join(' ')
}

function typeOf({ type, enum: values, const: value, items, anyOf, $ref }: Schema): string {
  if ($ref !== undefined) return $ref.replace(/^.*\//, '')
  if (value !== undefined) return JSON.stringify(value)
  if (values) return values.map((one) => JSON.stringify(one)).join(' | ')
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' | ')
  if (type === 'array') return `array of ${items ? typeOf(items) : 'any'}`
  return type ?? 'any'
}
