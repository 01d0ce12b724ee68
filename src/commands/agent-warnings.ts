import { AGENT_CATEGORIES } from '../agents/catalogue/form.js'
import { readCatalogue, type Catalogue } from '../agents/catalogue/catalogue.js'
import type { Config } from '../config/schema.js'
import type { Issue } from '../core/errors.js'
import { nearest } from '../core/nearest.js'
import { ExprError, parse, toText } from '../expr/index.js'
import type { Path, Test } from '../expr/ast.js'
import { walk } from '../expr/walk.js'

/** A rule of the file. */
interface FileRule {
  readonly expression?: unknown
}

/** Values that a field about agents can have. */
interface Known {
  readonly names: ReadonlySet<string>
  /** Signers that are not in the catalogue have their host as name. */
  readonly orHost: boolean
}

/** Returns the warnings about what a configuration says of agents: valid, but probably not meant. */
export function agentWarnings(config: Config): Issue[] {
  const known = knownValues(readCatalogue(config.agents.catalogue))
  return [
    ...config.zones.flatMap(({ agents, markdown }, index) =>
      agents.hint && markdown.llms_txt === 'off'
        ? [
            {
              pointer: `/zones/${index}/agents/hint`,
              message:
                'Markdown names /llms.txt, which edged does not create: set markdown.llms_txt, as in llms_txt: sitemap, or let the origin serve it',
            },
          ]
        : [],
    ),
    ...(['accounts', 'zones'] as const).flatMap((section) =>
      config[section].flatMap(({ rules }, index) =>
        Object.entries(rules).flatMap(([phase, list]) =>
          list.flatMap((rule, at) =>
            unknownAgents((rule as FileRule).expression, known).map((message) => ({
              pointer: `/${section}/${index}/rules/${phase}/${at}/expression`,
              message,
            })),
          ),
        ),
      ),
    ),
  ]
}

function knownValues(catalogue: Catalogue): ReadonlyMap<string, Known> {
  const entries = [...catalogue.values()]
  return new Map([
    ['edged.agent.name', { names: new Set(catalogue.keys()), orHost: true }],
    ['edged.agent.operator', { names: new Set(entries.map(({ operator }) => operator)), orHost: true }],
    ['edged.agent.category', { names: new Set<string>(AGENT_CATEGORIES), orHost: false }],
    ['edged.agent.verified', { names: new Set(['none', 'address', 'signature']), orHost: false }],
  ])
}

/** Returns a message for each text that no agent has. */
function unknownAgents(expression: unknown, known: ReadonlyMap<string, Known>): string[] {
  if (typeof expression !== 'string' || !expression.includes('edged.agent.')) return []
  const messages: string[] = []
  try {
    walk(parse(expression).root, {
      comparison({ left, test }) {
        const field = fieldOf(left)
        const values = known.get(field)
        if (!values) return
        for (const text of textsOf(test)) {
          if (text === '' || values.names.has(text) || (values.orHost && text.includes('.'))) continue
          const similar = nearest(text, values.names)
          const advice =
            similar !== undefined
              ? `did you mean "${similar}"?`
              : values.orHost
                ? 'agents.catalogue can add it'
                : `use one of ${[...values.names].join(', ')}`
          messages.push(`no agent has the ${field} "${text}": ${advice}`)
        }
      },
    })
  } catch (error) {
    // Expressions of plug-ins were checked with their fields.
    if (!(error instanceof ExprError)) throw error
  }
  return messages
}

const fieldOf = ({ base, accesses }: Path): string =>
  base.kind === 'field' && accesses.length === 0 ? base.field.name : ''

function textsOf(test: Test): readonly string[] {
  if (test.op === 'in') return test.type === 'Bytes' ? test.values.map(toText) : []
  return (test.op === '==' || test.op === '!=') && test.type === 'Bytes' ? [toText(test.value)] : []
}
