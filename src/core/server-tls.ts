import { constants } from 'node:crypto'

/**
 * TLS options that all listeners share. The order of the server's cipher suites counts, but a client that prefers ChaCha20
 * has no hardware for AES and gets ChaCha20. Clients of TLS 1.2 must not renegotiate. Each renegotiation costs the CPU time
 * of a handshake that no limit of connections counts, and nothing needs it.
 */
export const SERVER_TLS = {
  secureOptions:
    constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_CIPHER_SERVER_PREFERENCE | constants.SSL_OP_PRIORITIZE_CHACHA,
} as const
