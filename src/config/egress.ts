import { isIP } from 'node:net'
import { Type, type Static } from 'typebox'
import type { Issue } from '../core/errors.js'
import { mapOf, pointerToken, strict } from '../core/schema.js'
import { parseAllowedTarget } from '../egress/addresses.js'

/** The section `egress`. */
export const Egress = Type.Object(
  {
    allow_cidrs: Type.Array(Type.String(), {
      default: [],
      description: 'CIDRs that are not public, each with the allowed port, as in 10.1.0.0/16:443 or [fd00::]/8:443.',
    }),
    ca_file: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'PEM file of authorities that sign destinations, added to the default ones.',
        examples: ['./egress-ca.pem'],
      }),
    ),
    resolver_overrides: mapOf(Type.Array(Type.String()), {
      default: {},
      description:
        'Addresses of names, instead of those of the resolver, as in { receiver.internal: [10.1.2.3] }. They have ' +
        'to be public or opened too.',
    }),
  },
  {
    ...strict,
    default: {},
    description: 'Connections to webhooks and log destinations: to public addresses, and to those allowed here.',
  },
)

/** Returns issues that the schema of the section cannot express. */
export function egressIssues({ allow_cidrs: allowed, resolver_overrides: overrides }: Static<typeof Egress>): Issue[] {
  return [
    ...allowed.flatMap((text, index) =>
      parseAllowedTarget(text) === undefined
        ? [{ pointer: `/egress/allow_cidrs/${index}`, message: 'must be a CIDR and a port, as in 127.0.0.1/32:9443' }]
        : [],
    ),
    ...Object.entries(overrides).flatMap(([name, addresses]) =>
      addresses.flatMap((address, index) =>
        isIP(address) === 0
          ? [{ pointer: `/egress/resolver_overrides/${pointerToken(name)}/${index}`, message: 'must be an address' }]
          : [],
      ),
    ),
  ]
}
