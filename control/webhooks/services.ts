import type { Emitter } from '../../src/core/emit.js'
import type { Deliveries, Tester, WebhookHealthState } from '../../src/core/model/delivery.js'
import type { Scope } from '../../src/core/scope.js'
import type { Vault } from '../../src/core/vault.js'
import type { Egress } from '../../src/egress/egress.js'
import type { ControlDeps } from '../http/context.js'

/** Prefix of all paths of the area. */
export const POSTURE = '/data-security/posture'

/** Limits per account. */
export interface PostureLimits {
  readonly webhooks: number
  readonly policies: number
  readonly findings: number
  readonly instances: number
}

/** Dependencies of findings, policies and webhooks besides configuration and store. */
export interface WebhookServices {
  readonly vault: Vault
  readonly deliveries: Deliveries
  readonly tester: Tester
  /** Returns how a webhook fares. */
  readonly health: (scope: Scope, webhookId: string) => WebhookHealthState
  /** Attempts one waiting delivery now. Returns false if none waits. */
  readonly tryNow: (scope: Scope, webhookId: string) => boolean
  readonly egress: Pick<Egress, 'check'>
  readonly limits: () => PostureLimits
  /** Receives a `casb_findings` record of each ingested instance. */
  readonly emitter?: Emitter
}

export interface PostureDeps extends ControlDeps {
  readonly posture: () => WebhookServices
}
