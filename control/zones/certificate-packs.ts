import { createHash } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { area } from '../http/area.js'
import { ACCESS } from '../http/permissions.js'
import { ApiError } from '../http/errors.js'
import { page, paging, whole } from '../http/paging.js'
import type { ControlDeps } from '../http/context.js'
import { CERTIFICATE_STATUSES, CertificateStates, type CertificateState } from './certificate-states.js'
import { covers } from './hostname-match.js'

const DAY_MS = 86_400_000

const time = Type.String({ format: 'date-time' })
const hosts = Type.Array(Type.String(), { description: 'Host names; `*.` in front covers one label.' })
const status = Type.Enum([...CERTIFICATE_STATUSES])

const Pack = Type.Object({
  id: Type.String(),
  type: Type.Enum(['universal', 'sni_custom'], { description: 'universal: by ACME. sni_custom: from a file.' }),
  hosts,
  status,
  primary_certificate: Type.Optional(Type.String()),
  certificates: Type.Array(
    Type.Object({
      id: Type.String(),
      hosts,
      status,
      issuer: Type.String(),
      serial_number: Type.String(),
      uploaded_on: time,
      expires_on: time,
      zone_id: Type.String(),
      bundle_method: Type.Literal('ubiquitous'),
    }),
    { description: 'Empty before the first order succeeded.' },
  ),
  validity_days: Type.Optional(Type.Integer()),
  validation_errors: Type.Optional(Type.Array(Type.Object({ message: Type.String() }))),
})
type Pack = Static<typeof Pack>

const Verification = Type.Object({
  certificate_status: Type.Enum(['authorizing', 'active', 'expired']),
  cert_pack_uuid: Type.String(),
  brand_check: Type.Boolean(),
  verification_status: Type.Boolean(),
})

const rows = area({ scopes: ['zone'], access: ACCESS.certificates }, (deps: ControlDeps) => {
  const packs = packsOf(deps, new CertificateStates(deps))
  return { packs }
})

/** Certificates of the HTTPS listener that cover host names of a zone, in the form of the public API: reads only. */
export const certificatePacks = rows.endpoints([
  rows.get('/ssl/certificate_packs', {
    summary: 'List the certificates of the host names of a zone: those in use, or all with status=all',
    query: Type.Object({
      ...paging({ min: 5 }),
      status: Type.Optional(Type.Literal('all', { description: 'Also expired certificates and open orders.' })),
    }),
    result: Type.Array(Pack),
    async handle({ packs }, { scope, query }) {
      const found = (await packs(scope.id)).filter((pack) => query.status === 'all' || pack.status === 'active')
      return page(found, query, (pack) => pack)
    },
  }),
  rows.get('/ssl/certificate_packs/quota', {
    summary: 'Read the quota of ordered certificates of a zone: none, because certificates come from files and ACME',
    result: Type.Object({ advanced: Type.Object({ allocated: Type.Integer(), used: Type.Integer() }) }),
    handle: () => ({ advanced: { allocated: 0, used: 0 } }),
  }),
  rows.get('/ssl/certificate_packs/:certificate_pack_id', {
    summary: 'Read a certificate of the host names of a zone, or the state of its order',
    result: Pack,
    async handle({ packs }, { scope, params }) {
      const found = (await packs(scope.id)).find(({ id }) => id === params.certificate_pack_id)
      if (!found) throw new ApiError('notFound')
      return found
    },
  }),
  rows.get('/ssl/verification', {
    summary: 'List the state of the orders of certificates of a zone',
    query: Type.Object({ retry: Type.Optional(Type.Enum(['true', 'false'], { description: 'No effect.' })) }),
    result: Type.Array(Verification),
    async handle({ packs }, { scope }) {
      const ordered = (await packs(scope.id)).filter(({ type }) => type === 'universal')
      return whole(
        ordered.map((pack) => ({
          certificate_status: pack.status === 'pending_validation' ? ('authorizing' as const) : pack.status,
          cert_pack_uuid: pack.id,
          brand_check: false,
          verification_status: pack.status === 'active',
        })),
      )
    },
  }),
])

/** Returns the function that lists the packs of a zone, by host name. */
const packsOf =
  ({ config, tls }: ControlDeps, states: CertificateStates) =>
  async (zoneId: string): Promise<Pack[]> => {
    const zone = config().zones.find(({ id }) => id === zoneId)
    const patterns = (zone ? (zone.hostnames ?? [zone.name, `*.${zone.name}`]) : []).map((name) => name.toLowerCase())
    const files = await states.files()
    const ofFiles = files.filter(({ names }) =>
      names.some((name) => patterns.some((pattern) => overlaps(pattern, name))),
    )
    const names = (zone && tls?.()?.ordered(zone)) ?? []
    const ordered = names.flatMap((name) => {
      const state = states.of(name, files)
      return state?.source === 'acme' ? state : []
    })
    return [...ofFiles, ...ordered].map((state) => shown(state, zoneId))
  }

/** Whether a pattern of a zone and a name of a certificate, both possibly with `*.` in front, have a host in common. */
export const overlaps = (pattern: string, name: string): boolean =>
  pattern === '*' || pattern === name || covers(pattern, name) || covers(name, pattern)

function shown({ names, source, status, leaf: read, error }: CertificateState, zoneId: string): Pack {
  const leaf = read?.()
  const id = uuidOf(`${source} ${names.join(' ')}`)
  const certificate = leaf && {
    id: uuidOf(`${leaf.issuer} ${leaf.serialNumber}`),
    hosts: [...names],
    status,
    issuer: leaf.issuer,
    serial_number: leaf.serialNumber,
    uploaded_on: leaf.notBefore,
    expires_on: leaf.notAfter,
    zone_id: zoneId,
    bundle_method: 'ubiquitous' as const,
  }
  return {
    id,
    type: source === 'acme' ? 'universal' : 'sni_custom',
    hosts: [...names],
    status,
    certificates: certificate ? [certificate] : [],
    ...(certificate && { primary_certificate: certificate.id }),
    ...(leaf && {
      validity_days: Math.round((Date.parse(leaf.notAfter) - Date.parse(leaf.notBefore)) / DAY_MS),
    }),
    ...(error !== undefined && { validation_errors: [{ message: error }] }),
  }
}

/** Returns the same UUID for the same text. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  // Version 8: a UUID of the maker's own (RFC 9562, 5.8).
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
