import { createHash } from 'node:crypto'
import type { Exchange } from '../exchange/exchange.js'
import { pathOf } from '../exchange/normal-path.js'
import { hostOf, siteOf } from '../exchange/site.js'
import { MCP_PATH } from './mcp/read-page.js'
import { serverName } from './mcp/server-name.js'

const SKILLS = '/.well-known/agent-skills'
const SKILL = 'read-this-site'
export const API_CATALOG = '/.well-known/api-catalog'
export const SERVER_CARD = `${MCP_PATH}/server-card.json`

/** What edged responds at an address that it adds to a site. */
export type SiteFile =
  | { readonly kind: 'mcp' }
  | { readonly kind: 'text'; readonly type: string; readonly text: string }
  /** A file on disk, or a path of the origin. */
  | { readonly kind: 'file' | 'origin'; readonly type: string; readonly from: string; readonly link?: string }

const JSON_TYPE = 'application/json'
const LINKSET = 'application/linkset+json'

/** Returns the file of a zone at the address of a request. Undefined if the origin responds. */
export function siteFileOf(exchange: Exchange, version: string): SiteFile | undefined {
  const { agents } = exchange.zone
  if (!agents || !exchange.target.startsWith('/.well-known/')) return undefined
  const path = pathOf(exchange.target)
  if (agents.mcp && path === MCP_PATH) return { kind: 'mcp' }
  if (agents.mcp && (path === SERVER_CARD || path === `${MCP_PATH}/server-card`))
    return { kind: 'text', type: JSON_TYPE, text: serverCard(exchange, version) }
  if (agents.api_catalog !== false && path === API_CATALOG)
    return { ...source(agents.api_catalog, LINKSET), link: `<${API_CATALOG}>; rel="api-catalog"` }
  if (agents.skills === false || !path.startsWith(`${SKILLS}/`)) return undefined
  if (agents.skills !== true) return path === `${SKILLS}/index.json` ? source(agents.skills, JSON_TYPE) : undefined
  if (path === `${SKILLS}/index.json`) return { kind: 'text', type: JSON_TYPE, text: skillIndex(exchange) }
  if (path === `${SKILLS}/${SKILL}/SKILL.md`)
    return { kind: 'text', type: 'text/markdown; charset=utf-8', text: skillOf(exchange) }
  return undefined
}

function source(value: string, type: string): Exclude<SiteFile, { kind: 'mcp' | 'text' }> {
  return value.startsWith('file:')
    ? { kind: 'file', type, from: value.slice('file:'.length) }
    : { kind: 'origin', type, from: value }
}

/** Returns the card of the MCP server of a site. SEP-2127. */
function serverCard(exchange: Exchange, version: string): string {
  const host = hostOf(exchange)
  return json({
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: serverName(host),
    title: host,
    version,
    description: `Reads and searches the pages of ${host}.`.slice(0, 100),
    remotes: [{ type: 'streamable-http', url: siteOf(exchange) + MCP_PATH }],
  })
}

/** Returns the index of the skills that edged writes for a site. Agent Skills, discovery 0.2.0. */
function skillIndex(exchange: Exchange): string {
  const digest = createHash('sha256').update(skillOf(exchange)).digest('hex')
  return json({
    $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
    skills: [
      {
        name: SKILL,
        type: 'skill-md',
        description: descriptionOf(exchange),
        url: `${siteOf(exchange)}${SKILLS}/${SKILL}/SKILL.md`,
        digest: `sha256:${digest}`,
      },
    ],
  })
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`

const descriptionOf = (exchange: Exchange): string =>
  `Reads pages of ${hostOf(exchange)} as Markdown. Use it to find or read anything on this site.`

/** Returns the skill that says how to read a site. */
function skillOf(exchange: Exchange): string {
  const { zone, decisions } = exchange
  const site = siteOf(exchange)
  const steps: string[] = []
  if (zone.llmsTxt !== undefined && zone.llmsTxt !== 'off')
    steps.push(`Find pages in ${site}/llms.txt, which lists them with their titles.`)
  if (zone.agents?.mcp === true)
    steps.push(`Or connect to the MCP server ${site}${MCP_PATH} and call its tools \`search\` and \`fetch\`.`)
  if (decisions.settings.content_converter) {
    steps.push('Read a page with the header field `Accept: text/markdown`. The response is Markdown.')
    if (zone.mdAddresses === true)
      steps.push('Without that field, add `.md` to the path of a page: `/page` is `/page.md`, and `/` is `/index.md`.')
  }
  steps.push(`Respect ${site}/robots.txt and the field \`Content-Signal\` of responses.`)
  const list = steps.map((step, index) => `${index + 1}. ${step}`).join('\n')
  return `---\nname: ${SKILL}\ndescription: ${descriptionOf(exchange)}\n---\n\n# Read ${hostOf(exchange)}\n\n${list}\n`
}
