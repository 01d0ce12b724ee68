import { of, type Mutant } from './mutant.js'

/** Guards of requests, responses and connections. */
export const MESSAGES: readonly Mutant[] = [
  // Clients, and the connections to origins that they share.
  ...of('src/http/client-shares.ts', 'test/edge/slow-clients.test.ts', [
    `(this.#size - used) / FREE_SHARE`,
    'this.#size / 8',
  ]),
  ...of('src/tls/certificates.ts', 'test/edge/client/https.test.ts', [`        ...SERVER_TLS,\n`, '']),
  ...of('src/edge/client/admission.ts', 'test/edge/client/proxy-clients.test.ts', [
    `this.#total >= connections || `,
    '',
  ]),
  ...of(
    'src/http/origin.ts',
    'test/http/slow-clients.test.ts',
    [`this.#makeRoom()`, 'void 0'],
    [`if (isFull ? !other : !this.#mayQueue(client)) throw`, `if (isFull || !this.#mayQueue(client)) throw`],
    [
      `= isFull ? this.#queue.shed(client) : undefined`,
      `= this.#mayQueue(client) ? undefined : this.#queue.shed(client)`,
    ],
    [`this.#shares.wasSlow(connection.client)`, ''],
  ),
  ...of('src/edge/client/admission.ts', 'test/edge/client/proxy-clients.test.ts', [
    `|| this.#isFull(address, trusted, perAddress)`,
    '',
  ]),

  // Second spellings of header fields.
  ...of('src/edge/exchange/managed-transforms.ts', 'test/daemon/api-zones.test.ts', [
    `!name.includes('_') || !fields.has(hyphenedName(name))`,
    'true',
  ]),
  ...of('src/rules/fields/trusted.ts', 'test/rules/fields.test.ts', [
    `this.#headers.has(hyphenedName(name))`,
    'this.#headers.has(name.toLowerCase())',
  ]),

  // Framing of requests and responses.
  ...of(
    'src/http/message-reader.ts',
    'test/edge/client/refusal.test.ts',
    [`if (this.length === undefined || this.coding === undefined) return true`, 'return true'],
    [`if (this.length !== undefined) return`, 'if (false) return'],
    [`if (!/^\\d{1,15}$/.test(value)) return`, 'if (false) return'],
    [`if (this.minor === 0) return`, 'if (false) return'],
    [`if (++this.#fields > this.limits.header_count)`, 'if (false)'],
    [`else if (++this.#extensions > MAX_EXTENSIONS) return`, 'else if (false) return'],
    [`if (chunk[i] !== COLON) return`, 'if (false) return'],
  ),
  ...of(
    'src/edge/client/framing.ts',
    'test/edge/client/refusal.test.ts',
    [`if (++this.#emptyLines > MAX_EMPTY_LINES) return`, 'if (false) return'],
    [`if (KNOWN_METHODS.has(this.head.method)) this`, 'if (true) this'],
  ),
  ...of('src/edge/client/connection.ts', 'test/edge/client/beginnings.test.ts', [
    `if ((this.framing.idle || this.framing.inHead) && !this.#beginnings.take()) {`,
    'if (false) {',
  ]),
  ...of('src/edge/client/http2-connection.ts', 'test/edge/client/beginnings.test.ts', [`if (!mayGoOn) break`, '']),
  ...of('src/tls/terminator.ts', 'test/edge/client/beginnings.test.ts', [
    `if (this.#turns.open) handshake()`,
    'if (true) handshake()',
  ]),
  ...of(
    'src/edge/client/http2-head.ts',
    'test/edge/client/http2-head.test.ts',
    [`if (isUnsafe) return malformed(`, 'if (false) return malformed('],
    [`if (UNSAFE_VALUE.test(values)) return`, 'if (false) return'],
    [`if (host !== undefined) return malformed(`, 'if (false) return malformed('],
    [`if (length !== undefined) return malformed(`, 'if (false) return malformed('],
    [`if (!isTarget(path) && method !== 'CONNECT') return`, 'if (false) return'],
    [`if (authority !== undefined && host !== undefined && !isSameHost(authority, host))`, 'if (false)'],
    [`name === '' || UNSAFE_NAME.test(name) || /[A-Z]/.test(name)`, 'UNSAFE_NAME.test(name) || /[A-Z]/.test(name)'],
  ),
  ...of('src/edge/client/http2-connection.ts', 'test/edge/client/http2-frames.test.ts', [
    `if (this.#controlFrames > CONTROL_BURST &&`,
    'if (false &&',
  ]),
  ...of('src/edge/client/reset-limit.ts', 'test/edge/client/http2.test.ts', [
    `if (bucket.level <= BURST) return false`,
    'return false',
  ]),
  ...of('src/edge/serve/server.ts', 'test/edge/client/http2.test.ts', [
    `if (this.#resets.blocks(address)) return void socket.destroy()`,
    '',
  ]),
  ...of('src/edge/serve/server.ts', 'test/edge/client/proxy-protocol.test.ts', [
    `if (!config.proxy_protocol || !trusted(peer)) return proceed()`,
    'if (!config.proxy_protocol) return proceed()',
  ]),
  ...of('src/http/proxy-protocol.ts', 'test/edge/client/proxy-protocol.test.ts', [
    `|| variable > MAX_VARIABLE_BYTES`,
    '',
  ]),
  ...of(
    'src/edge/client/response-writer.ts',
    'test/edge/proxy.test.ts',
    [`if (UNSAFE_VALUE.test(value)) throw unsafeField()`, ''],
    [`if (UNSAFE_NAME.test(name)) throw unsafeField()`, ''],
  ),
  ...of(
    'src/http/request-text.ts',
    'test/http/origin.test.ts',
    [`if (UNSAFE_VALUE.test(value)) throw unsafePart()`, ''],
    [`if (UNSAFE_NAME.test(method) || UNSAFE_TARGET.test(target) || target === '') throw unsafePart()`, ''],
    [`if (UNSAFE_NAME.test(name)) throw unsafePart()`, ''],
  ),
  ...of('src/edge/client/client-address.ts', 'test/edge/proxy.test.ts', [
    `if (forwardedFor === undefined || !trusted(peer)) return address`,
    'if (forwardedFor === undefined) return address',
  ]),
  ...of('src/http/request-text.ts', 'test/http/origin.test.ts', [`&& !hyphened.has(hyphenedName(name))`, '']),
]
