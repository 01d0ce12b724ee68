import { codeBlock } from '../highlight.mjs'
import { escaped, heading, slug, uniqueIds } from '../html.mjs'
import { AREAS, areaOf, tailOf } from './areas.mjs'
import { curlOf, responseOf } from './example.mjs'
import { marked, memberTable, parameterTable } from './schema.mjs'

/** Returns a page for each area of the API, from the OpenAPI document. */
export function apiPages({ paths, components: { schemas } }) {
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  return AREAS.map((area) => {
    const own = rows.filter(({ operation }) => areaOf(operation.tags[0]) === area)
    return areaPage(area, merged(own), schemas)
  })
}

/** Joins the operations that differ in their scope only: `/accounts/{account_id}/x` and `/zones/{zone_id}/x`. */
function merged(rows) {
  const entries = new Map()
  for (const { method, path, operation } of rows) {
    const tail = tailOf(path)
    const key = `${method} ${tail} ${operation.summary}`
    const entry = entries.get(key) ?? { method, tail, operation, paths: [], ids: [] }
    entries.set(key, entry)
    entry.paths.push(path)
    entry.ids.push(operation.operationId)
  }
  return [...entries.values()]
}

/** Segments that all paths of a resource have in front. */
const COMMON = /^\/(?:edged\/|data-security\/posture\/|storage\/)?/

/** Segments whose next one names the resource. */
const FAMILIES = new Set(['workers', 'rules'])

/** Titles of resources that are not the words of their path. */
const TITLES = {
  logpush: 'Log push',
  'rules lists': 'Lists',
  'rules counts': 'Hits of rules',
  'workers workers': 'Workers',
}

/** Returns the title of the resource of a path: `Custom hostnames` for `/custom_hostnames/{custom_hostname_id}`. */
function resourceOf(tail) {
  const [first = '', second = ''] = tail.replace(COMMON, '').split('/')
  const words = (FAMILIES.has(first) ? `${first} ${second}` : first).replaceAll(/[_-]/g, ' ')
  return (
    TITLES[words] ??
    words
      .replace(/^[a-z]/, (letter) => letter.toUpperCase())
      .replaceAll(/\b(?:d1|r2|ssl|url|kv)\b/gi, (name) => name.toUpperCase())
  )
}

/** Returns the title of an operation and the sentence after it: `Create a zone; ...`. */
function titleOf({ summary }) {
  const [, title, more] = /^(.*?)[;:] (.*)$/.exec(summary) ?? [undefined, summary, '']
  // A name such as `custom_metadata.x` stays as it is.
  const sentence = /^[a-z]+\b(?![_.])/.test(more) ? `${more[0].toUpperCase()}${more.slice(1)}` : more
  return { title: title.replaceAll('`', ''), more: more === '' ? '' : `${sentence}.` }
}

function areaPage({ name, label, about }, entries, schemas) {
  const unique = uniqueIds()
  const groups = new Map()
  for (const entry of entries) {
    const title = resourceOf(entry.tail)
    groups.set(title, [...(groups.get(title) ?? []), entry])
  }
  const headings = []
  const sections = [{ id: '', title: label, text: about }]
  const parts = [...groups].map(([title, rows]) => {
    const id = unique(slug(title))
    headings.push({ depth: 2, id, text: title })
    const articles = rows.map((entry) => {
      headings.push({ depth: 3, id: entry.ids[0], text: titleOf(entry.operation).title })
      sections.push(sectionOf(entry))
      return article(entry, schemas)
    })
    return heading(2, id, escaped(title), title) + articles.join('\n')
  })
  return {
    file: `api-${name}.html`,
    title: `API: ${label}`,
    label,
    html: `<h1>${escaped(`API: ${label}`)}</h1>\n<p>${escaped(about)}</p>\n${PREAMBLE}\n${parts.join('\n')}`,
    headings,
    sections,
    ids: entries.flatMap(({ ids }) => ids),
    className: 'api',
  }
}

const PREAMBLE = `<p>The lines of curl use these names. <a href="/docs/api.html">The API</a> explains responses, errors and tokens.</p>
${codeBlock(
  `API=http://127.0.0.1:8787/client/v4
AUTH='Authorization: Bearer demo-token-for-loopback-only'
ACCOUNT=023e105f4ecef8ad9ca31a8372d0c353
ZONE=9f1839b6152d298aca64c4e906b6d074`,
  'sh',
)}`

const permissionsOf = ({ operation, paths }) =>
  operation['x-permissions'] ?? (paths.some((path) => path.includes('{')) ? [] : undefined)

function sectionOf(entry) {
  const { method, paths, ids, operation } = entry
  const permissions = operation['x-permissions'] ?? []
  return {
    id: ids[0],
    title: titleOf(operation).title,
    text: `${method.toUpperCase()} ${paths.join(' ')} ${titleOf(operation).more} ${permissions.join(', ')}`,
  }
}

function article(entry, schemas) {
  const { method, paths, ids, operation } = entry
  const { parameters, requestBody } = operation
  const { title, more } = titleOf(operation)
  const input = Object.entries(requestBody?.content ?? {})
  const response = responseOf(operation, schemas)
  const [, ...others] = ids
  return `<article class="endpoint">
${others.map((id) => `<span id="${id}"></span>`).join('')}${heading(3, ids[0], escaped(title), title)}
${paths.map((path) => `<p class="path"><b class="method ${method}">${method.toUpperCase()}</b> <code>${breakable(path)}</code></p>`).join('\n')}
${more === '' ? '' : `<p>${marked(more)}</p>`}
<p class="permission">${permission(permissionsOf(entry), operation)}</p>
${codeBlock(curlOf(entry, schemas), 'sh')}
${response.text === '' ? '' : disclosed('Response', codeBlock(response.text, 'json') + memberTable(`result of ${title}`, response.schema, schemas))}
${parameters.length === 0 ? '' : disclosed('Parameters', parameterTable(parameters))}
${input.map(([type, { schema }]) => body(type, memberTable(`body of ${title}`, schema, schemas))).join('\n')}
</article>`
}

/** A long path breaks after a slash. */
const breakable = (path) => escaped(path).replaceAll('/', '/<wbr>')

const permission = (names, { security }) =>
  security?.length === 0
    ? 'Needs no token.'
    : names === undefined || names.length === 0
      ? 'Needs a valid token.'
      : `Permission: ${names.map((name) => `<b>${escaped(name)}</b>`).join(' or ')}`

const body = (type, table) => (table === '' ? '' : disclosed(`Body, ${marked(`\`${type}\``)}`, table))

const disclosed = (title, html) => `<details><summary>${title}</summary>${html}</details>`
