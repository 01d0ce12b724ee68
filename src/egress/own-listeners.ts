import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Addresses that lead to this machine, no matter which interfaces it has. */
function localAddresses(): BlockList {
  const list = new BlockList()
  list.addSubnet('127.0.0.0', 8, 'ipv4')
  list.addSubnet('0.0.0.0', 8, 'ipv4')
  list.addAddress('::1', 'ipv6')
  list.addAddress('::', 'ipv6')
  for (const addresses of Object.values(networkInterfaces()))
    for (const { address, family } of addresses ?? []) list.addAddress(address, family === 'IPv6' ? 'ipv6' : 'ipv4')
  return list
}

/** Returns whether an address and port lead to one of this process's own listeners, which have these ports. */
export function isOwnListener(address: string, port: number, ports: ReadonlySet<number>): boolean {
  // Read each time, since the interfaces may have changed. Only few connections need it.
  return ports.has(port) && localAddresses().check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
