import type { GuardedEgress } from '../egress/guarded-egress.js'
import { cachedResolve } from '../egress/name-cache.js'
import { isOwnListener } from '../egress/own-listeners.js'
import type { DialGuard } from '../http/connector.js'

/**
 * Decides where hosts and ports that rules name may lead: to public addresses and those that `egress.allow_cidrs` allows.
 * A rule that changes only the port stays on the host that the configuration gives the zone. The daemon's own listeners,
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
