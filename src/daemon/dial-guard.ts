import { isIP } from 'node:net'
import type { GuardedEgress } from '../egress/guarded-egress.js'
import { cachedResolve } from '../egress/name-cache.js'
import { isOwnListener } from '../egress/own-listeners.js'
import { hostOf, portOf } from '../egress/public-url.js'
import type { DialGuard } from '../http/connector.js'

/**
 * Decides which hosts and ports rules can set: public addresses and those that `egress.allow_cidrs` allows.
 * A rule that changes only the port keeps the host that the configuration sets for the zone. Listeners of the daemon,
 * whose ports are `ports`, are never allowed.
 */
export function dialGuard(egress: GuardedEgress, ports: ReadonlySet<number>): DialGuard {
  return {
    get rules() {
      return egress.rules
    },
    allows: (address, port, named) =>
      !isOwnListener(address, port, ports) && (named === 'port' || egress.allows(address, port)),
    resolve: cachedResolve((name, zone) => egress.resolve(name, zone)),
  }
}

/** Returns why requests cannot be sent to an origin; undefined if they can, or if its name does not resolve yet. */
export const originIssue =
  (egress: GuardedEgress, ports: ReadonlySet<number>) =>
  async (origin: URL): Promise<string | undefined> => {
    const host = hostOf(origin)
    const port = portOf(origin)
    const addresses = isIP(host) === 0 ? await egress.resolve(host).catch(() => []) : [host]
    if (addresses.some((address) => isOwnListener(address, port, ports))) return 'is a listener of this server'
    return addresses.every((address) => egress.allows(address, port))
      ? undefined
      : 'the address is not allowed; the operator can allow it with egress.allow_cidrs'
  }
