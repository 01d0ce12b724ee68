/**
 * Guards that a test must notice the absence of. `npm run mutants` replaces `text`, which occurs once in `file`, by
 * `without`, and runs `test`, the nearest test file.
 */
export interface Mutant {
  readonly file: string
  readonly text: string
  readonly without: string
  readonly test: string
}

const of = (file: string, test: string, ...guards: readonly (readonly [text: string, without: string])[]): Mutant[] =>
  guards.map(([text, without]) => ({ file, text, without, test }))

export const MUTANTS: readonly Mutant[] = [
  // What a client may hold.
  ...of('control/http/unread-body.ts', 'test/control/http/unread-body.test.ts', [`request.unpipe()`, '']),
  ...of('control/http/unread-body.ts', 'test/control/http/request-bodies.test.ts', [
    `if (!request.complete) socket.destroy()`,
    '',
  ]),
  ...of('src/daemon/admin.ts', 'test/daemon/admin-hosts.test.ts', [
    `if (issue !== undefined) return`,
    'if (false) return',
  ]),
  ...of('src/egress/fetch-page.ts', 'test/control/rulesets/error-pages.test.ts', [
    `if (size > maxBytes) throw`,
    'if (false) throw',
  ]),
  ...of('control/rulesets/ruleset-repository.ts', 'test/control/rulesets/conditions.test.ts', [
    `    assertCurrent(actor, before)\n`,
    '',
  ]),
  ...of(
    'pipelines/sources/otlp-records.ts',
    'test/pipelines/sources/otlp.test.ts',
    [`if (count > MAX_RECORDS)`, 'if (false)'],
    [`if (added > MAX_ADDED_BYTES)`, 'if (false)'],
    [`if (++parts > MAX_RECORDS) throw`, 'if (false) throw'],
  ),
  // Who may do what.
  ...of('src/rules/engine/run.ts', 'test/rules/action-effects.test.ts', [
    `if (this.exchange.settle()) this.context`,
    'if (false) this.context',
  ]),
  ...of(
    'control/http/auth/policies.ts',
    'test/control/tokens/tokens-zones.test.ts',
    [`if (giver.some(({ effect }) => effect === 'deny')) return false`, ''],
    [`.every((grant) => grant.permissions.every((permission) => mayGive(permission, grant)))`, '.every(() => true)'],
  ),
  ...of('control/http/auth/access.ts', 'test/control/http/auth.test.ts', [
    `touching.every(({ effect }) => effect === 'allow')`,
    'true',
  ]),
  ...of(
    'control/http/auth/authenticate.ts',
    'test/control/http/auth.test.ts',
    [`if (status !== 'active') throw`, 'if (false) throw'],
    [`not_before !== undefined && Date.parse(not_before) > now`, 'false'],
    [`token.expires_on !== undefined && Date.parse(token.expires_on) <= now`, 'false'],
    [`if (!pair || !sameHash(pair.hash, hash))`, 'if (!pair)'],
  ),
  ...of(
    'control/http/scope.ts',
    'test/control/http/auth.test.ts',
    [`if (!mayUse(caller, [], { account: id }))`, 'if (false)'],
    [`if (!mayUse(caller, permissions, where))`, 'if (false)'],
  ),
  ...of('control/http/json-limits.ts', 'test/control/http/request-bodies.test.ts', [
    `if (FORBIDDEN.has(key)) issues`,
    'if (false) issues',
  ]),

  // Bodies of uploads.
  ...of(
    'control/workers/services/multipart.ts',
    'test/control/workers/upload-rejected.test.ts',
    [`if (this.#taken + value.length > this.#limits.bytes) throw this.#tooLarge()`, ''],
    [`if (!this.#limits.memory.take(value.length))`, 'if (false)'],
    [`if (coding !== 'identity') throw`, 'if (false) throw'],
  ),

  // Addresses that nothing connects to.
  ...of(
    'src/egress/addresses.ts',
    'test/egress/egress.test.ts',
    [`  ['0.0.0.0', 8],\n`, ''],
    [`  ['10.0.0.0', 8],\n`, ''],
    [`  ['100.64.0.0', 10],\n`, ''],
    [`  ['127.0.0.0', 8],\n`, ''],
    [`  ['168.63.129.16', 32],\n`, ''],
    [`  ['169.254.0.0', 16],\n`, ''],
    [`  ['172.16.0.0', 12],\n`, ''],
    [`  ['192.0.0.0', 24],\n`, ''],
    [`  ['192.168.0.0', 16],\n`, ''],
    [`  ['198.18.0.0', 15],\n`, ''],
    [`  ['224.0.0.0', 4],\n`, ''],
    [`  ['240.0.0.0', 4],\n`, ''],
    [`  ['2001::', 23],\n`, ''],
    [`  ['2002::', 16],\n`, ''],
    [`family !== 6 || address.includes('%')`, 'family !== 6'],
    [`globalUnicast.check(address, 'ipv6') && `, ''],
  ),
  ...of(
    'src/egress/guarded-egress.ts',
    'test/egress/egress.test.ts',
    [`&& denied === undefined`, ''],
    [`if (!this.#gate.mayDial(host, port)) throw new NotPublic()`, ''],
    [`const may = isIP(host) === 0 || this.allows(host, port)`, 'const may = true'],
  ),
  ...of(
    'src/egress/public-url.ts',
    'test/egress/egress.test.ts',
    [`if (url.port === '0') throw`, 'if (false) throw'],
    [`if (/^https:\\/\\/[^/?#]*@/i.test(text)) throw`, 'if (false) throw'],
  ),

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
    [`if (KNOWN_METHODS.has(method)) this`, 'if (true) this'],
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
  ...of('src/edge/client/client-address.ts', 'test/edge/proxy.test.ts', [
    `if (forwardedFor === undefined || !trusted(peer)) return address`,
    'if (forwardedFor === undefined) return address',
  ]),
  ...of('src/http/request-text.ts', 'test/http/origin.test.ts', [`&& !hyphened.has(hyphenedName(name))`, '']),
  ...of('src/edge/cache/lookup.ts', 'test/edge/cache/hostile.test.ts', [
    `if (known?.headers === headers && sameNames(known.names, vary)) return known.key`,
    '',
  ]),
  ...of('src/edge/cache/request.ts', 'test/edge/cache/hostile.test.ts', [
    `const lower = hyphenedName(name)`,
    'const lower = name.toLowerCase()',
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

  // Durability.
  ...of(
    'src/disk/durable-write.ts',
    'test/disk/durable-write.test.ts',
    [`await file.datasync()`, ''],
    [`await folder.sync()`, ''],
    [`await syncFolder(disk, folder)\n}`, '}'],
    [`await syncFolder(disk, dirname(folder))`, ';'],
  ),
  ...of('src/store/level-format.ts', 'test/store/level-format.test.ts', [`{ sync: true }`, '{ sync: false }']),
  ...of('pipelines/logpush/spool/durable-spool.ts', 'test/pipelines/logpush/spool-model.test.ts', [
    `await file.datasync()`,
    '',
  ]),
  ...of('pipelines/logpush/spool/cursors.ts', 'test/pipelines/logpush/spool-model.test.ts', [
    `await file.datasync()`,
    '',
  ]),
  ...of('pipelines/logpush/spool/recover.ts', 'test/pipelines/logpush/spool-model.test.ts', [
    `await file.datasync()`,
    '',
  ]),

  // What webhooks are sent.
  ...of('src/webhooks/header-rules.ts', 'test/control/webhooks/webhooks.test.ts', [
    `if (RESERVED.has(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix)))`,
    'if (false)',
  ]),
  ...of('src/webhooks/http-post.ts', 'test/webhooks/sender-hostile.test.ts', [
    `if (read >= MAX_READ_BYTES) enough()`,
    '',
  ]),
]
