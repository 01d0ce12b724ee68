import { Type, type Static } from 'typebox'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { whole } from '../http/paging.js'
import { overlaps } from '../zones/certificate-packs.js'
import { CertificateStates, type CertificateState } from '../zones/certificate-states.js'
import type { MissingCertificate, OverviewDeps } from './services.js'

const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const Shown = Type.Object({
  names: Type.Array(Type.String(), { description: 'Host names that it covers.' }),
  source: Type.Enum(['file', 'acme', 'missing'], {
    description: 'missing: a served host name or pattern without a certificate.',
  }),
  not_before: orNull('Null before the first order succeeded.'),
  not_after: orNull('Null before the first order succeeded.'),
  failures: Type.Integer({ minimum: 0, description: 'Failed orders since the last success.' }),
  error: orNull('Why the last order failed.'),
  next_order: orNull('No order before this time.'),
  why: Type.Optional(Type.String({ description: 'Why there is no certificate. Only with source missing.' })),
  write: Type.Optional(
    Type.String({ description: 'What to write in the configuration file. Only with source missing.' }),
  ),
})

/** Certificates of the HTTPS listener that cover host names of a zone, and the names without one. */
export function certificates(deps: OverviewDeps): Endpoint[] {
  const states = new CertificateStates(deps)
  return [
    endpoint({
      method: 'get',
      path: '/edged/certificates',
      scopes: ['zone'],
      permissions: ['SSL and Certificates Read', 'SSL and Certificates Write'],
      summary: 'List the certificates that cover host names of a zone, and the host names without one',
      result: Type.Array(Shown),
      async handle({ scope }) {
        const zone = deps.config().zones.find(({ id }) => id === scope.id)
        const patterns = zone ? (zone.hostnames ?? [zone.name, `*.${zone.name}`]) : []
        const found = [...(await states.files()), ...states.managed()].filter(({ names }) =>
          names.some((name) => patterns.some((pattern) => overlaps(pattern, name))),
        )
        const missing = deps
          .overview()
          .missingCertificates()
          .filter(({ zone_id: id }) => id === scope.id)
        return whole([...found.map(shown), ...missing.map(shownMissing)])
      },
    }),
  ]
}

const shownMissing = ({ name, why, write }: MissingCertificate): Static<typeof Shown> => ({
  names: [name],
  source: 'missing',
  not_before: null,
  not_after: null,
  failures: 0,
  error: null,
  next_order: null,
  why,
  write,
})

function shown({ names, source, leaf: read, failures, error, nextOrder }: CertificateState): Static<typeof Shown> {
  const leaf = read?.()
  return {
    names: [...names],
    source,
    not_before: leaf?.notBefore ?? null,
    not_after: leaf?.notAfter ?? null,
    failures,
    error: error ?? null,
    next_order: nextOrder ?? null,
  }
}
