import { constants } from 'node:crypto'

/**
 * TLS options that all listeners share. Clients of TLS 1.2 must not renegotiate. Each renegotiation costs the CPU time
 * of a handshake that no limit of connections counts, and nothing needs it.
 */
export const SERVER_TLS = { secureOptions: constants.SSL_OP_NO_RENEGOTIATION } as const
