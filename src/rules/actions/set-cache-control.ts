import { Type, type Static, type TProperties } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { members } from '../../http/accept.js'
import { headerValues, withHeader, withoutHeader } from '../../http/headers.js'
import { LIST_STEPS, listLength, NotEmpty, Whole } from './shared.js'

const NAME = 'cache-control'

const VENDOR_ONLY = Type.Boolean({
  description: 'The directive applies to this edge only and is not sent to the client. Default: false.',
})

const directive = <P extends TProperties>(members: P) =>
  Type.Optional(
    Type.Object(
      {
        operation: Type.Enum(['set', 'remove']),
        ...members,
        vendor_only: Type.Optional(VENDOR_ONLY),
        cloudflare_only: Type.Optional(
          Type.Boolean({ description: 'Another name of vendor_only; read back under that name.' }),
        ),
      },
      strict,
    ),
  )

const plain = directive({})
const seconds = directive({ value: Type.Optional(Whole(0, 'Seconds; with set.')) })
const qualified = directive({
  qualifiers: Type.Optional(
    Type.Array(
      Type.String({ maxLength: 256, pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", 'x-message': 'must be a header name' }),
      { maxItems: 100, description: 'The header fields that it is limited to; with set.' },
    ),
  ),
})

const SECONDS = ['max-age', 's-maxage', 'stale-if-error', 'stale-while-revalidate']

const Params = NotEmpty({
  immutable: plain,
  'max-age': seconds,
  'must-revalidate': plain,
  'must-understand': plain,
  'no-cache': qualified,
  'no-store': plain,
  'no-transform': plain,
  private: qualified,
  'proxy-revalidate': plain,
  public: plain,
  's-maxage': seconds,
  'stale-if-error': seconds,
  'stale-while-revalidate': seconds,
})

interface Directive {
  readonly operation: 'set' | 'remove'
  readonly value?: number
  readonly qualifiers?: readonly string[]
  readonly vendor_only?: boolean
  readonly cloudflare_only?: boolean
}

const directives = (params: Static<typeof Params>) => Object.entries(params) as [name: string, Directive][]

export const setCacheControl = action({
  name: 'set_cache_control',
  summary: 'Sets and removes directives of Cache-Control in the response of the origin, and continues.',
  phases: ['http_response_cache_settings'],
  params: Params,

  check: (params) => directives(params).flatMap(([name, given]) => issues(name, given)),

  stored: (params) =>
    Object.fromEntries(
      directives(params).map(([name, { cloudflare_only, ...given }]) => [
        name,
        cloudflare_only === undefined ? given : { ...given, vendor_only: cloudflare_only },
      ]),
    ),

  prepare(params) {
    const changes = directives(params).map(([name, given]) => ({
      name,
      text: given.operation === 'set' ? directiveText(name, given) : undefined,
      isVendorOnly: (given.vendor_only ?? given.cloudflare_only) === true,
    }))
    const shared = changes.filter(({ isVendorOnly }) => !isVendorOnly)
    const isSplit = shared.length < changes.length
    return (run) => {
      const { context, exchange } = run
      context.spend(listLength(exchange.response?.headers, NAME) * LIST_STEPS)
      run.change(() => {
        const { response } = exchange
        if (!response || changes.length === 0) return
        const values = headerValues(response.headers, NAME)
        const sent = changed(values, shared)
        const headers =
          shared.length === 0
            ? response.headers
            : sent === ''
              ? withoutHeader(response.headers, NAME)
              : withHeader(response.headers, NAME, sent)
        const { edgeControl } = response
        if (!isSplit && edgeControl === undefined) exchange.response = { ...response, headers }
        else {
          const before = edgeControl === undefined ? values : [edgeControl]
          exchange.response = { ...response, headers, edgeControl: changed(before, changes) }
        }
      })
      return undefined
    }
  },

  examples: [
    {
      phase: 'http_response_cache_settings',
      params: {
        'max-age': { operation: 'set', value: 3600, vendor_only: true },
        private: { operation: 'set', qualifiers: ['set-cookie'] },
        'no-store': { operation: 'remove' },
      },
    },
  ],
})

interface DirectiveChange {
  readonly name: string
  /** Undefined if the directive is removed. */
  readonly text: string | undefined
}

/** Returns a value of Cache-Control with directives set and removed. */
function changed(values: readonly string[], changes: readonly DirectiveChange[]): string {
  const kept = values
    .flatMap((value) => [...members(value)])
    .filter((directive) => !changes.some(({ name }) => directive.split('=', 1)[0]!.trim().toLowerCase() === name))
  return [...kept, ...changes.flatMap(({ text }) => text ?? [])].join(', ')
}

// RFC 9111, 5.2.
function directiveText(name: string, { value, qualifiers }: Directive): string {
  if (value !== undefined) return `${name}=${value}`
  return qualifiers && qualifiers.length > 0 ? `${name}="${qualifiers.join(', ')}"` : name
}

function issues(name: string, given: Directive): Issue[] {
  const found: Issue[] = []
  if (given.operation === 'set' && SECONDS.includes(name) && given.value === undefined)
    found.push({ pointer: `/${name}/value`, message: 'is required with set' })
  if (given.operation === 'remove')
    for (const member of ['value', 'qualifiers'] as const)
      if (given[member] !== undefined)
        found.push({ pointer: `/${name}/${member}`, message: 'is not allowed with remove' })
  if (given.cloudflare_only !== undefined && given.vendor_only !== undefined)
    found.push({ pointer: `/${name}/cloudflare_only`, message: 'is another name of vendor_only; send one of them' })
  return found
}
