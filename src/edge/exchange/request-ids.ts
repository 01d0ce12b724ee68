import type { Exchange } from './exchange.js'

/** Returns the ids of a request for its log lines: its ray, and its trace if it has one. */
export const requestIds = ({ rayId, trace }: Pick<Exchange, 'rayId' | 'trace'>): { ray: string; trace_id?: string } =>
  trace ? { ray: rayId, trace_id: trace.traceId } : { ray: rayId }
