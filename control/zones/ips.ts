import { networkInterfaces } from 'node:os'
import { Type } from 'typebox'
import { digestOfJson } from '../../src/core/digest.js'
import { area } from '../http/area.js'
import type { ControlDeps } from '../http/context.js'

const Cidrs = (description: string) => Type.Array(Type.String(), { description })

const Networks = Type.Object({
  ipv4_cidrs: Cidrs('IPv4 networks.'),
  ipv6_cidrs: Cidrs('IPv6 networks.'),
  jdcloud_cidrs: Type.Optional(Cidrs('Only with networks=jdcloud. Always empty.')),
  etag: Type.String({ description: 'Changes with the networks.' }),
})

const rows = area<Pick<ControlDeps, 'config'>>({ scopes: ['daemon'], access: { read: [], write: [] } })

/** The networks from which requests to origins come, for the firewalls of origins. */
export const ips = rows.endpoints([
  rows.get('/ips', {
    summary: 'List the networks from which requests to origins come',
    open: true,
    query: Type.Object({
      networks: Type.Optional(Type.String({ maxLength: 64, description: 'jdcloud: the response has jdcloud_cidrs.' })),
    }),
    result: Networks,
    handle({ config }, { query }) {
      const cidrs = (config().control.networks ?? ownAddresses()).map(asNetwork)
      const ipv4_cidrs = cidrs.filter((cidr) => !cidr.includes(':'))
      const ipv6_cidrs = cidrs.filter((cidr) => cidr.includes(':'))
      return {
        ipv4_cidrs,
        ipv6_cidrs,
        ...(query.networks === 'jdcloud' && { jdcloud_cidrs: [] }),
        etag: digestOfJson(JSON.stringify([ipv4_cidrs, ipv6_cidrs])).slice(0, 32),
      }
    },
  }),
])

/** Returns the addresses of this machine that others can reach. Returns the loopback addresses of a machine that has no other. */
function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses)
  const reachable = all.filter(({ internal, address }) => !internal && !/^fe[89ab]/i.test(address))
  return [...new Set((reachable.length > 0 ? reachable : all).map(({ address }) => address))].sort()
}

const asNetwork = (text: string): string => (text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`)
