import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Type, type Static } from 'typebox'
import { accessEntryIssues } from '../../agents/access/access-check.js'
import { ACCESS_ACTIONS } from '../../agents/access/access.js'
import { BUILT_IN_CATALOGUE, catalogueOf, type Catalogue } from '../../agents/catalogue/catalogue.js'
import { messageOf, type Issue } from '../../core/errors.js'
import { mapOf, pointerToken, strict } from '../../core/schema.js'

/** The section `agents` of the file. */
export const Agents = Type.Object(
  {
    catalogue: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description:
        'JSON file { "agents": [...] } with agents that are added to the built-in ones, or replace them by name. null: the built-in ones.',
      'x-message': 'must be a path, or null',
    }),
    verify_addresses: Type.Boolean({
      default: false,
      description:
        'true: agents are also verified by the addresses that their operators publish and by reverse DNS. edged then fetches these lists once a day and asks the resolver for names of addresses; no request waits for them. false: addresses in the catalogue only.',
    }),
  },
  { ...strict, default: {}, description: 'How AI agents and crawlers are recognized.' },
)

const oneOrMore = (description: string, examples: readonly unknown[]) =>
  Type.Union(
    [
      Type.String({ minLength: 1, maxLength: 253 }),
      Type.Array(Type.String({ minLength: 1, maxLength: 253 }), { minItems: 1, maxItems: 500 }),
    ],
    { description, examples: [...examples], 'x-message': 'must be a text, or a list of texts' },
  )

const Verified = Type.Union([Type.Boolean(), Type.String()])

const Who = Type.Object(
  {
    name: Type.Optional(
      oneOrMore('Names of agents, or hosts of key directories of signers that the catalogue lacks.', ['GPTBot']),
    ),
    operator: Type.Optional(oneOrMore('Operators of agents.', ['OpenAI'])),
    category: Type.Optional(
      oneOrMore('Categories: ai_crawler, ai_search, ai_assistant, search_engine, monitoring, archiver, other.', [
        'ai_crawler',
      ]),
    ),
    verified: Type.Optional(
      Type.Union([Verified, Type.Array(Verified, { minItems: 1, maxItems: 4 })], {
        description: 'true, false, address or signature: how the agent must be verified.',
        examples: [false],
        'x-message': 'must be true, false, address or signature, or a list of these',
      }),
    ),
  },
  {
    ...strict,
    minProperties: 1,
    description:
      'Agents that the entry is about: all members must fit, and of a list one value. Clients that are no agents never fit.',
  },
)

const Access = Type.Object(
  {
    who: Who,
    do: Type.Enum([...ACCESS_ACTIONS], {
      description:
        'allow; block: 403; markdown: as if the agent asked for Markdown; canonical: 301 to the canonical address of the page; challenge: as the rule action; pay: 402 unless a signed request agrees to the price.',
      examples: ['block'],
    }),
    price: Type.Optional(
      Type.String({
        pattern: '^[A-Z]{3} [0-9]{1,9}(\\.[0-9]{1,6})?$',
        description: 'Price of one request, with pay.',
        examples: ['USD 0.01'],
        'x-message': 'must be a currency and an amount with at most 6 decimals, as in USD 0.01',
      }),
    ),
    free: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^/',
          maxLength: 1024,
          'x-message': 'must be a path, as in /blog/*',
        }),
        {
          maxItems: 100,
          description: 'Paths that cost nothing, with pay; * is any characters.',
          examples: [['/', '/blog/*']],
        },
      ),
    ),
  },
  strict,
)

const SIGNAL = '(search|ai-input|ai-train)=(yes|no)'
const SIGNAL_MESSAGE = 'must be like "search=yes, ai-input=yes, ai-train=no", each with yes or no, or false'
const PLACE = { pattern: '^(\\./|/|file:).+', maxLength: 1024 }
const SKILLS_MESSAGE = 'must be true, false, a path of the origin such as /skills.json, or a file such as ./skills.json'
const CATALOG_MESSAGE =
  'must be false, a path of the origin such as /api-catalog.json, or a file such as ./api-catalog.json'

/** The section `agents` of a zone. */
export const ZoneAgents = Type.Object(
  {
    content_signal: Type.Union(
      [Type.String({ pattern: `^${SIGNAL}( *, *${SIGNAL})*$`, 'x-message': SIGNAL_MESSAGE }), Type.Literal(false)],
      {
        default: 'ai-train=yes, search=yes, ai-input=yes',
        description:
          'Content-Signal of Markdown, and with robots of /robots.txt, where the origin sets none: search, ai-input and ai-train with yes or no. A key that is left out says nothing. false: none.',
        'x-message': SIGNAL_MESSAGE,
      },
    ),
    hint: Type.Boolean({
      default: false,
      description:
        'true: HTML pages name their Markdown in a link of the head and in one hidden line, and Markdown has absolute links and a line to /llms.txt. Implies markdown.md_addresses.',
    }),
    robots: Type.Boolean({
      default: false,
      description:
        'true: /robots.txt is the file of the origin (or an empty one) with content_signal and with groups for the agents that access blocks or allows.',
    }),
    web_bot_auth: Type.Object(
      {
        keys: mapOf(
          Type.String({
            pattern: '^(https://[^\\s@]+|(\\./|/|file:).+)$',
            maxLength: 2048,
            'x-message': 'must be an https URL, or a file that begins with ./, / or file:',
          }),
          {
            default: {},
            maxProperties: 100,
            description:
              'Key sets by host of the signer, used in place of the key directory of that host: a URL, or a file.',
            examples: [{ 'signer.example.com': './signer-keys.json' }],
          },
        ),
      },
      {
        ...strict,
        default: {},
        description: 'Signed requests (RFC 9421, Web Bot Auth). Signatures are always verified, over HTTPS only.',
      },
    ),
    access: Type.Array(Access, {
      default: [],
      maxItems: 100,
      description:
        'What agents may, in order: the first entry that fits decides. It acts after custom firewall rules and rate limits; /robots.txt is exempt.',
      examples: [[{ who: { category: 'ai_crawler', verified: false }, do: 'block' }]],
    }),
    mcp: Type.Boolean({
      default: false,
      description:
        'true: /.well-known/mcp is an MCP server (Streamable HTTP) with the tools fetch and search over the pages of this site.',
    }),
    skills: Type.Union([Type.Boolean(), Type.String({ ...PLACE, 'x-message': SKILLS_MESSAGE })], {
      default: false,
      description:
        'The index of Agent Skills at /.well-known/agent-skills/index.json: a path of the origin (it begins with /), a file (./FILE or file:/FILE), or true for one skill that tells how to read the site.',
      'x-message': SKILLS_MESSAGE,
    }),
    api_catalog: Type.Union([Type.Literal(false), Type.String({ ...PLACE, 'x-message': CATALOG_MESSAGE })], {
      default: false,
      description:
        'The API catalogue (RFC 9727) at /.well-known/api-catalog: a path of the origin (it begins with /), or a file (./FILE or file:/FILE).',
      'x-message': CATALOG_MESSAGE,
    }),
  },
  { ...strict, default: {}, description: 'What AI agents and crawlers get from the zone, and what they may.' },
)

export type AgentsConfig = Static<typeof Agents>
export type ZoneAgentsConfig = Static<typeof ZoneAgents>

/** Returns the section of a zone with files as `file:` and their absolute path. */
export function absoluteAgents(agents: ZoneAgentsConfig, folder: string): ZoneAgentsConfig {
  const file = <T>(value: T, isFile: (text: string) => boolean): T =>
    typeof value === 'string' && isFile(value) ? (`file:${resolve(folder, value.replace(/^file:/, ''))}` as T) : value
  const { skills, api_catalog, web_bot_auth } = agents
  return {
    ...agents,
    skills: file(skills, (text) => !text.startsWith('/')),
    api_catalog: file(api_catalog, (text) => !text.startsWith('/')),
    web_bot_auth: {
      keys: Object.fromEntries(
        Object.entries(web_bot_auth.keys).map(([host, value]) => [
          host.toLowerCase(),
          file(value, (text) => !text.startsWith('https://')),
        ]),
      ),
    },
  }
}

/** Returns the catalogue of a configuration whose paths are absolute, or the issue of its file. */
export function configuredCatalogue({ catalogue: file }: AgentsConfig): { catalogue: Catalogue; issues: Issue[] } {
  if (file === null) return { catalogue: BUILT_IN_CATALOGUE, issues: [] }
  try {
    return { catalogue: catalogueOf(readFileSync(file, 'utf8')), issues: [] }
  } catch (error) {
    return { catalogue: BUILT_IN_CATALOGUE, issues: [{ pointer: '/agents/catalogue', message: messageOf(error) }] }
  }
}

const HOST = /^([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?(:\d{1,5})?$/i

/** Returns issues of the section of a zone that a schema cannot express. */
export function agentIssues(
  { agents, plan }: { agents: ZoneAgentsConfig; plan: string },
  catalogue: Catalogue,
  at: string,
): Issue[] {
  const { content_signal: signal, web_bot_auth, access } = agents
  const keys = typeof signal === 'string' ? signal.split(',').map((part) => part.split('=', 1)[0]!.trim()) : []
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  return [
    ...(twice === undefined ? [] : [{ pointer: `${at}/content_signal`, message: `has ${twice} twice` }]),
    ...Object.keys(web_bot_auth.keys).flatMap((host) =>
      HOST.test(host)
        ? []
        : [{ pointer: `${at}/web_bot_auth/keys/${pointerToken(host)}`, message: 'is not a host name' }],
    ),
    ...(plan === 'free'
      ? access.flatMap((entry, index) =>
          entry.do === 'markdown'
            ? [{ pointer: `${at}/access/${index}/do`, message: 'markdown is not available on the free plan' }]
            : [],
        )
      : []),
    ...accessEntryIssues(access, catalogue, `${at}/access`),
  ]
}
