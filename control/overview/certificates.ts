import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Type, type Static } from 'typebox'
import { MANAGED_CERTIFICATES } from '../../src/tls/acme/records.js'
import { covers } from '../zones/hostname-match.js'
import { DAEMON } from '../../src/core/scope.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { whole } from '../http/paging.js'
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
type Shown = Static<typeof Shown>

/** Certificates of the HTTPS listener that cover host names of a zone. */
export function certificates({ config, store, overview }: OverviewDeps): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/edged/certificates',
      scopes: ['zone'],
      permissions: ['SSL and Certificates Read', 'SSL and Certificates Write'],
      summary: 'List the certificates that cover host names of a zone',
      result: Type.Array(Shown),
      async handle({ scope }) {
        const zone = config().zones.find(({ id }) => id === scope.id)
        const patterns = zone ? (zone.hostnames ?? [zone.name, `*.${zone.name}`]) : []
        const files = (await Promise.all(overview().certificateFiles().map(ofFile))).filter((one) => one !== undefined)
        const managed = store.list(MANAGED_CERTIFICATES, DAEMON).map(({ id, value }): Shown => ({
          names: [id],
          source: 'acme',
          not_before: value.not_before ?? null,
          not_after: value.not_after ?? null,
          failures: value.failures,
          error: value.last_error ?? null,
          next_order: value.next_order ?? null,
        }))
        return whole(
          [...files, ...managed].filter(({ names }) =>
            names.some((name) => patterns.some((pattern) => pattern === '*' || overlaps(pattern, name))),
          ),
        )
      },
    }),
  ]
}

/** Whether a pattern of a zone and a name of a certificate, both possibly with `*.` in front, have a host in common. */
const overlaps = (pattern: string, name: string): boolean =>
  pattern === name || covers(pattern, name) || covers(name, pattern)

/** Returns the certificate in a PEM file; undefined if it cannot be read, which the log of the daemon reports. */
async function ofFile(file: string): Promise<Shown | undefined> {
  try {
    const leaf = new X509Certificate(await readFile(file))
    const names = leaf.subjectAltName?.split(', ').flatMap((name) => (name.startsWith('DNS:') ? name.slice(4) : []))
    return {
      names: names ?? [],
      source: 'file',
      not_before: new Date(leaf.validFrom).toISOString(),
      not_after: new Date(leaf.validTo).toISOString(),
      failures: 0,
      error: null,
      next_order: null,
    }
  } catch {
    return undefined
  }
}
