import type { Emitter } from '../../src/core/emit.js'
import type { Deliveries, Tester } from '../../src/core/model/delivery.js'
import type { Vault } from '../../src/core/vault.js'
import type { Egress } from '../../src/egress/egress.js'
import type { ControlDeps } from '../http/context.js'

/** Every path of the area begins with it. */
export const POSTURE = '/data-security/posture'

/** What one account may have. */
export interface PostureLimits {
  readonly webhooks: number
  readonly policies: number
  readonly findings: number
  readonly instances: number
}

/** What findings, policies and webhooks need besides configuration and store. */
export interface WebhookServices {
  readonly vault: Vault
  readonly deliveries: Deliveries
  readonly tester: Tester
  readonly egress: Pick<Egress, 'check'>
  readonly limits: () => PostureLimits
  /** Takes a `casb_findings` record of each instance that comes in. */
  readonly emitter?: Emitter
}

export interface PostureDeps extends ControlDeps {
  readonly posture: () => WebhookServices
}
