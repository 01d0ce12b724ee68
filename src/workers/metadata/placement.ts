import { Type, type TSchema } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { orNull } from '../../core/schema.js'

const Region = Type.String({
  pattern: '^[^:\\s]+:[^:\\s]+$',
  'x-message': 'must be provider:region, as in aws:us-east-1',
})
const Hostname = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: '^[^\\s/:]+$',
  'x-message': 'must be a host name',
})
const Host = Type.String({ pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s/]+):\\d{1,5}$', 'x-message': 'must be host:port' })
const places = { region: Region, hostname: Hostname, host: Host }
const optional = Object.fromEntries(
  Object.entries(places).map(([name, schema]): [string, TSchema] => [name, Type.Optional(schema)]),
)

/** Place in which a script runs. {@link placementIssues} checks which members exclude each other. */
export const PlacementInput = Type.Object({
  mode: Type.Optional(Type.Enum(['smart', 'targeted'])),
  ...optional,
  target: Type.Optional(
    Type.Array(Type.Object({ ...optional }), { minItems: 1, maxItems: 1, description: 'Currently one place.' }),
  ),
  last_analyzed_at: Type.Optional(
    orNull(Type.String({ format: 'date-time', 'x-message': 'must be a timestamp of RFC 3339' })),
  ),
  status: Type.Optional(orNull(Type.Enum(['SUCCESS', 'UNSUPPORTED_APPLICATION', 'INSUFFICIENT_INVOCATIONS']))),
})

const PLACES = ['region', 'hostname', 'host', 'target'] as const

/** Returns errors in a placement that fits its schema, such as members that exclude each other. */
export function placementIssues(placement: Readonly<Record<string, unknown>>): Issue[] {
  const { mode, target } = placement
  const given = PLACES.filter((place) => placement[place] !== undefined)
  const [first, second] = given
  if (mode === 'smart' && first !== undefined)
    return [{ pointer: `/${first}`, message: 'does not go with the mode smart' }]
  if (second !== undefined) return [{ pointer: `/${second}`, message: `does not go with ${String(first)}` }]
  if (mode === 'targeted' && first === undefined)
    return [{ pointer: '', message: 'needs a region, hostname, host or target with the mode targeted' }]
  if (mode === undefined && first === undefined)
    return [{ pointer: '', message: 'needs a mode, region, hostname or host' }]
  if (first === 'target' && mode === undefined) return [{ pointer: '/mode', message: 'is required with a target' }]
  const [place] = (target as readonly object[] | undefined) ?? []
  const named = place && Object.keys(place).filter((key) => key in places)
  if (named && named.length !== 1)
    return [{ pointer: '/target/0', message: 'must have one of region, hostname and host' }]
  return []
}
