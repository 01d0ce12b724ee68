import type { PhaseName } from '../phases.js'

/** Phases on the way to the origin whose managed rulesets judge requests. */
export const MANAGED_REQUEST_PHASES = [
  'ddos_l4',
  'magic_transit_managed',
  'magic_transit_ids_managed',
  'ddos_l7',
  'http_request_firewall_custom',
  'http_ratelimit',
  'http_request_firewall_managed',
] as const satisfies readonly PhaseName[]

/** Phases in which a client can be challenged by managed rules. */
export const CHALLENGING_PHASES = [
  'ddos_l7',
  'http_request_firewall_custom',
  'http_ratelimit',
  'http_request_firewall_managed',
] as const satisfies readonly PhaseName[]
