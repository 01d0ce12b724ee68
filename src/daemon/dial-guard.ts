import type { GuardedEgress } from '../egress/guarded-egress.js'
import { cachedResolve } from '../egress/name-cache.js'
import { isOwnListener } from '../egress/own-listeners.js'
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
