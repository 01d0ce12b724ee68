import { isIP } from 'node:net'
import { Type, type Static } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { strict } from '../../src/core/schema.js'
import { toBytes, type Value } from '../../src/expr/index.js'
import type { TraceRequest, TraceResult } from '../../src/rules/types.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'

const MAX_BODY_BYTES = 131_072
/** Methods that the proxy lists in `allow`. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const TOKEN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$"

const text = (maxLength: number) => Type.String({ maxLength })

/** Strings by names that header fields and cookies can have. Values have no control characters. */
const fieldsOf = (value: string, description: string) =>
  Type.Object(
    {},
    {
      patternProperties: { [TOKEN]: { type: 'string', maxLength: 8192, pattern: value } },
      additionalProperties: false,
      maxProperties: 100,
      description,
    },
  )

const Geoloc = Type.Object(
  {
    city: Type.Optional(text(256)),
    continent: Type.Optional(text(16)),
    is_eu_country: Type.Optional(Type.Boolean()),
    iso_code: Type.Optional(text(16)),
    latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90 })),
    longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180 })),
    postal_code: Type.Optional(text(32)),
    region_code: Type.Optional(text(16)),
    subdivision_2_iso_code: Type.Optional(text(16)),
    timezone: Type.Optional(text(64)),
  },
  strict,
)

const TraceInput = Type.Object(
  {
    method: Type.Enum(METHODS, { description: 'The method of the request.' }),
    url: Type.String({ maxLength: 16_384, description: 'http or https; a zone of the account serves its host.' }),
    body: Type.Optional(
      Type.Object(
        {
          base64: Type.Optional(Type.String({ maxLength: MAX_BODY_BYTES, pattern: '^[A-Za-z0-9+/]*={0,2}$' })),
          json: Type.Optional(Type.Unknown()),
          plain_text: Type.Optional(text(MAX_BODY_BYTES)),
        },
        { ...strict, maxProperties: 1, description: 'The body, in one of three forms.' },
      ),
    ),
    context: Type.Optional(
      Type.Object(
        {
          client_ip: Type.Optional(
            Type.String({ maxLength: 45, description: 'Our own addition: the address of the client.' }),
          ),
          bot_score: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          geoloc: Type.Optional(Geoloc),
          skip_challenge: Type.Optional(Type.Boolean({ description: 'As a visitor who has passed each challenge.' })),
          threat_score: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
        },
        { ...strict, description: 'Properties of the client that the rules see.' },
      ),
    ),
    cookies: Type.Optional(fieldsOf('^[^\\u0000-\\u001f\\u007f;]*$', 'Cookies by name.')),
    headers: Type.Optional(fieldsOf('^[^\\u0000-\\u0008\\u000a-\\u001f\\u007f]*$', 'Header fields by name.')),
    protocol: Type.Optional(Type.Enum(['HTTP/1.0', 'HTTP/1.1'])),
    skip_response: Type.Optional(Type.Boolean({ description: 'Makes no difference: the origin is never asked.' })),
  },
  strict,
)
type TraceInput = Static<typeof TraceInput>

const TraceOutput = Type.Object({
  status_code: Type.Optional(
    Type.Integer({
      description:
        'The status of the response of a rule. 200 if no rule responds, because the origin gets no request. Absent if a rule closes the connection.',
    }),
  ),
  trace: Type.Array(Type.Unknown(), {
    description:
      'A step for each phase with rules, in it one for each ruleset, in that one for each rule up to the one that ' +
      'ended it: type, step_name, matched, and what there is of action, action_parameters, expression, kind, name, ' +
      'description and trace. At most 20000 steps. Rules with a rate limit do not match.',
  }),
})

/** Maps each member of `geoloc` to the field of the rules language that it sets. */
const GEO_FIELDS = {
  city: 'ip.src.city',
  continent: 'ip.src.continent',
  is_eu_country: 'ip.src.is_in_european_union',
  iso_code: 'ip.src.country',
  latitude: 'ip.src.lat',
  longitude: 'ip.src.lon',
  postal_code: 'ip.src.postal_code',
  region_code: 'ip.src.region_code',
  subdivision_2_iso_code: 'ip.src.subdivision_2_iso_code',
  timezone: 'ip.src.timezone.name',
} as const satisfies Record<keyof Static<typeof Geoloc>, string>

/** Dependencies of the request tracer. */
export interface TracerDeps {
  /** Runs the rules in force on a request. Returns undefined if no zone of the account serves its host. */
  readonly trace: (accountId: string, request: TraceRequest) => TraceResult | undefined
}

export function tracer({ trace }: TracerDeps): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/request-tracer/trace',
      scopes: ['account'],
      permissions: ['Allow Request Tracer Read'],
      summary: 'Trace a request through the rules',
      body: TraceInput,
      maxBytes: 1_000_000,
      result: TraceOutput,
      handle({ accountId, body }) {
        const url = urlOf(body.url)
        const result = trace(accountId, {
          method: body.method,
          url,
          httpVersion: body.protocol === 'HTTP/1.0' ? '1.0' : '1.1',
          headers: headersOf(body),
          body: bodyOf(body.body),
          clientAddress: addressOf(body.context?.client_ip),
          fields: fieldsSet(body.context),
          skipsChallenges: body.context?.skip_challenge === true,
        })
        if (!result) throw refused('/url', `no zone of the account serves ${url.hostname}`)
        return result
      },
    }),
  ]
}

const refused = (pointer: string, message: string) => new InvalidInput([{ pointer, message }])

function urlOf(given: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw refused('/url', 'must be an http or https URL')
  if (url.username !== '' || url.password !== '') throw refused('/url', 'must have no user name or password')
  return url
}

function headersOf({ headers = {}, cookies = {} }: Pick<TraceInput, 'headers' | 'cookies'>): string[] {
  const host = Object.keys(headers).find((name) => name.toLowerCase() === 'host')
  if (host !== undefined) throw refused(`/headers/${host}`, 'the host is that of the URL')
  const pairs = Object.entries(cookies).map(([name, value]) => `${name}=${String(value)}`)
  const list = Object.entries(headers).flatMap(([name, value]) => [name, String(value)])
  return pairs.length === 0 ? list : [...list, 'cookie', pairs.join('; ')]
}

function bodyOf(body: TraceInput['body']): Buffer | undefined {
  if (body?.base64 !== undefined) return Buffer.from(body.base64, 'base64')
  if (body?.plain_text !== undefined) return Buffer.from(body.plain_text)
  return body?.json === undefined ? undefined : Buffer.from(JSON.stringify(body.json))
}

function addressOf(text: string | undefined): string | undefined {
  if (text !== undefined && isIP(text) === 0) throw refused('/context/client_ip', 'must be an IP address')
  return text
}

function fieldsSet(context: TraceInput['context'] = {}): ReadonlyMap<string, Value> {
  const fields = new Map<string, Value>()
  if (context.bot_score !== undefined) fields.set('cf.bot_management.score', context.bot_score)
  if (context.threat_score !== undefined) fields.set('cf.threat_score', context.threat_score)
  for (const [member, value] of Object.entries(context.geoloc ?? {}))
    fields.set(
      GEO_FIELDS[member as keyof typeof GEO_FIELDS],
      typeof value === 'boolean' ? value : toBytes(String(value)),
    )
  return fields
}
