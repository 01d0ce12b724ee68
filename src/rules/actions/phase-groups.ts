import type { PhaseName } from '../phases.js'

/** Phases before the origin whose managed rulesets evaluate requests. */
export const MANAGED_REQUEST_PHASES = [
  'ddos_l4',
  'magic_transit_managed',
  'magic_transit_ids_managed',
  'ddos_l7',
  'http_request_firewall_custom',
  'http_ratelimit',
  'http_request_firewall_managed',
] as const satisfies readonly PhaseName[]

/** Phases in which managed rules can challenge a client. */
export const CHALLENGING_PHASES = [
  'ddos_l7',
  'http_request_firewall_custom',
  'http_ratelimit',
  'http_request_firewall_managed',
] as const satisfies readonly PhaseName[]
