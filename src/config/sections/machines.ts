import { Type, type Static } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { strict } from '../../core/schema.js'

/** Section `machines`. */
export const Machines = Type.Object(
  {
    listen: Type.String({
      pattern: '^(auto|(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5})$',
      default: 'auto',
      description:
        'Where other machines with the same Redis reach this one, for Durable Objects, D1, tails and live log records. auto: a free port of the address that this machine uses towards Redis; name an address and a port if Redis is on this machine, or behind a firewall. Connections are encrypted with a key derived from the secret key.',
      'x-message': 'must be auto, or an address and a port, as in 10.0.0.5:7946',
    }),
    advertise: Type.Union([Type.String({ pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}$' }), Type.Null()], {
      default: null,
      description:
        'The address that other machines use instead, for example behind NAT or if listen is 0.0.0.0. null: that of listen.',
      'x-message': 'must be an address and a port, as in 10.0.0.5:7946, or null',
    }),
  },
  { ...strict, default: {}, description: 'Connections between machines with the same Redis. Unused without Redis.' },
)

/** Addresses that mean every address of a machine. */
const ANY = /^(0\.0\.0\.0|\[[0:]+\]):\d+$/

/** Returns issues that the schema cannot express. */
export function machineIssues({ listen, advertise }: Static<typeof Machines>): Issue[] {
  const issues = Object.entries({ listen, advertise }).flatMap(([name, address]) =>
    Number(/:(\d+)$/.exec(address ?? '')?.[1] ?? 0) > 65_535
      ? [{ pointer: `/machines/${name}`, message: 'has a port above 65535' }]
      : [],
  )
  if (ANY.test(advertise ?? listen))
    issues.push({
      pointer: '/machines/advertise',
      message: 'must be the address by which the others reach this machine; 0.0.0.0 is all of its addresses',
    })
  return issues
}
