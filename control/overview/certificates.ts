import { Type, type Static } from 'typebox'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { whole } from '../http/paging.js'
import { overlaps } from '../zones/certificate-packs.js'
import { CertificateStates, type CertificateState } from '../zones/certificate-states.js'
import type { OverviewDeps } from './services.js'

const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const Shown = Type.Object({
  names: Type.Array(Type.String(), { description: 'Host names that it covers.' }),
  source: Type.Enum(['file', 'acme']),
  not_before: orNull('Null before the first order succeeded.'),
  not_after: orNull('Null before the first order succeeded.'),
  failures: Type.Integer({ minimum: 0, description: 'Failed orders since the last success.' }),
  error: orNull('Why the last order failed.'),
  next_order: orNull('No order before this time.'),
})

/** Certificates of the HTTPS listener that cover host names of a zone. */
export function certificates(deps: OverviewDeps): Endpoint[] {
  const states = new CertificateStates(deps)
  return [
    endpoint({
      method: 'get',
      path: '/edged/certificates',
      scopes: ['zone'],
      permissions: ['SSL and Certificates Read', 'SSL and Certificates Write'],
      summary: 'List the certificates that cover host names of a zone',
      result: Type.Array(Shown),
      async handle({ scope }) {
        const zone = deps.config().zones.find(({ id }) => id === scope.id)
        const patterns = zone ? (zone.hostnames ?? [zone.name, `*.${zone.name}`]) : []
        const found = [...(await states.files()), ...states.managed()].filter(({ names }) =>
          names.some((name) => patterns.some((pattern) => overlaps(pattern, name))),
        )
        return whole(found.map(shown))
      },
    }),
  ]
}

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
