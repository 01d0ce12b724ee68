import { Type, type Static } from 'typebox'
import { strict } from '../../core/schema.js'

/** The purpose of an agent, in the words of `edged.agent.category`. */
export const AGENT_CATEGORIES = [
  'ai_crawler',
  'ai_search',
  'ai_assistant',
  'search_engine',
  'monitoring',
  'archiver',
  'other',
] as const

export type AgentCategory = (typeof AGENT_CATEGORIES)[number]

/** The values of `cf.verified_bot_category`; an agent that is not verified has "". */
const VERIFIED_BOT_CATEGORIES = [
  'Academic Research',
  'Accessibility',
  'Advertising & Marketing',
  'Aggregator',
  'AI Assistant',
  'AI Crawler',
  'AI Search',
  'Archiver',
  'Feed Fetcher',
  'Monitoring & Analytics',
  'Page Preview',
  'Search Engine Crawler',
  'Search Engine Optimization',
  'Security',
  'Social Media Marketing',
  'Webhooks',
  'Other',
] as const

const Texts = (pattern: string, message: string) =>
  Type.Array(Type.String({ pattern, maxLength: 2048, 'x-message': message }), { maxItems: 100 })

/** One agent of a catalogue. */
export const AgentEntry = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000-\\u001f]+$' }),
    operator: Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000-\\u001f]+$' }),
    category: Type.Enum([...AGENT_CATEGORIES]),
    verified_bot_category: Type.Enum([...VERIFIED_BOT_CATEGORIES]),
    /** Looked for in the User-Agent, in any case. */
    user_agent: Type.Array(Type.String({ minLength: 2, maxLength: 100 }), { maxItems: 20 }),
    /** A letter or digit must not be next to a token. */
    word: Type.Optional(Type.Boolean()),
    /** Names of agents whose tokens count less if both are found. */
    wins_over: Type.Optional(Type.Array(Type.String(), { maxItems: 20 })),
    /** A name for robots.txt that no client sends. */
    robots_only: Type.Optional(Type.Boolean()),
    verify: Type.Optional(
      Type.Object(
        {
          cidrs: Type.Optional(Type.Array(Type.String({ maxLength: 50 }), { maxItems: 10_000 })),
          ip_list: Type.Optional(Texts('^https://[^\\s@/]+/\\S*$', 'must be an https URL')),
          rdns: Type.Optional(
            Texts('^\\.([A-Za-z0-9_-]+\\.)*[A-Za-z0-9-]+$', 'must be a suffix of host names, as in .example.com'),
          ),
          web_bot_auth: Type.Optional(
            Texts('^https://[^\\s@/?#]+$', 'must be an https origin, as in https://bot.example.com'),
          ),
        },
        strict,
      ),
    ),
    asks_for_markdown: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    /** `check`: what `verify` says is not confirmed, so it is not used. */
    source: Type.Optional(Type.Enum(['read', 'check'])),
    note: Type.Optional(Type.String()),
  },
  strict,
)
export type AgentEntry = Static<typeof AgentEntry>

/** A file of agents. */
export const CatalogueFile = Type.Object(
  {
    about: Type.Optional(Type.String()),
    form: Type.Optional(Type.Object({})),
    agents: Type.Array(AgentEntry, { maxItems: 5000 }),
  },
  strict,
)
