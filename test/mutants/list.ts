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
  ...of(
    'pipelines/sources/intake/unread-body.ts',
    'test/control/http/unread-body.test.ts',
    [`request.unpipe()`, ''],
    [`request.removeAllListeners('readable')`, ''],
  ),
  ...of('control/http/server/envelope.ts', 'test/control/http/request-bodies.test.ts', [
    `ctx.set('connection', 'close')`,
    '',
  ]),
  ...of('pipelines/sources/intake/unread-body.ts', 'test/control/http/request-bodies.test.ts', [
    `if (!request.complete) socket.destroy()`,
    '',
  ]),
  ...of('src/daemon/admin/admin.ts', 'test/daemon/admin/hosts.test.ts', [
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
    'pipelines/sources/listeners/otlp-records.ts',
    'test/pipelines/sources/listeners/otlp.test.ts',
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
  ...of(
    'control/tokens/index.ts',
    'test/control/tokens/token-limits.test.ts',
    [`if (excess) throw`, 'if (false && excess) throw'],
    [`if (!mayGive(call, token.policies) || excessOf(call.credentials, token))`, 'if (false)'],
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
    'control/http/server/scope.ts',
    'test/control/http/auth.test.ts',
    [`if (!mayUse(caller, [], { account: id }))`, 'if (false)'],
    [`if (!mayUse(caller, permissions, placeOf({ scope, accountId })))`, 'if (false)'],
  ),
  ...of('control/http/json-limits.ts', 'test/control/http/request-bodies.test.ts', [
    `if (FORBIDDEN.has(key)) issues`,
    'if (false) issues',
  ]),

  ...of(
    'control/http/auth/failed-attempts.ts',
    'test/control/http/auth.test.ts',
    [`if ((own?.failures ?? 0) + (others?.failures ?? 0) < MAX_FAILURES) return`, 'return'],
    [`if (!address.includes(':') || address.includes('.')) return address`, 'return address'],
  ),
  ...of('control/http/server/client-address.ts', 'test/control/http/auth.test.ts', [
    `visitorAddress(peer, ctx.get('x-forwarded-for') || undefined, trusted)`,
    "visitorAddress(peer, ctx.get('x-forwarded-for') || undefined, () => true)",
  ]),
  ...of(
    'control/http/json-body.ts',
    'test/control/http/request-bodies.test.ts',
    [`depth: MAX_DEPTH`, 'depth: Infinity'],
    [`members: 100_000`, 'members: Infinity'],
  ),
  ...of(
    'control/logpush/jobs.ts',
    'test/control/logpush/destinations.test.ts',
    [`if (!(await tokens().valid(challenge, scope, destination)))`, 'if (false)'],
    [`if (moved) await assertOwned(scope, destination, body.ownership_challenge)`, ''],
  ),
  ...of('control/logpush/ownership-token.ts', 'test/control/logpush/destinations.test.ts', [
    `.every(([name, value]) => payload[name] === value)`,
    '.length > 0',
  ]),
  ...of(
    'src/daemon/workers/outbound.ts',
    'test/workers/runtime-outbound.test.ts',
    [`!served || served.zone.accountId !== this.#scope.id`, '!served'],
    [`...(hasNamedOrigin && { agent: protocol === 'https:' ? this.#agents.https : this.#agents.http }),`, ''],
  ),
  // The work of one request's rules.
  ...of('src/expr/pairs.ts', 'test/expr/language/budget.test.ts', [
    `    budget.spend(2 * TEXT_STEPS + MEMBER_STEPS)\n`,
    '',
  ]),
  ...of('src/expr/language/find-text.ts', 'test/expr/language/budget.test.ts', [
    `budget.spend(at - from + back)`,
    'budget.spend(0)',
  ]),
  ...of('src/expr/text-automaton.ts', 'test/expr/language/budget.test.ts', [
    `budget.spend((found.length >> 2) + 1)`,
    '',
  ]),
  ...of('src/rules/fields/multipart.ts', 'test/expr/language/budget.test.ts', [
    `budget.spend(PART_STEPS + Math.min(end - from, MAX_HEAD) * HEAD_STEPS)`,
    '',
  ]),
  ...of('src/rules/actions/rewrite.ts', 'test/control/rulesets/rejected.test.ts', [
    `if (refused) return [{ pointer, message: refused }]`,
    '',
  ]),

  // What the work for one request or sender may cost.
  ...of('src/workers/runtime/query-line.ts', 'test/workers/query-line.test.ts', [
    `if (this.#waiting.size >= MAX_WAITING) throw new DatabasesBusy(BUSY)`,
    '',
  ]),
  ...of('src/workers/runtime/account-runtime.ts', 'test/workers/runtime-d1.test.ts', [
    `if (to === DATABASES) assertResponds(shard)`,
    '',
  ]),
  ...of('src/expr/context.ts', 'test/expr/language/budget.test.ts', [`if (this.#steps < 0) throw BUDGET_EXCEEDED`, '']),
  ...of(
    'src/expr/compile.ts',
    'test/expr/language/budget.test.ts',
    [`context.spend(elements.length * ELEMENT_STEPS)`, ''],
    [`context.spend(further + sizeOf(value))`, ''],
    [`context.spend(length * columns.length)`, ''],
  ),
  ...of('src/expr/functions/collections.ts', 'test/expr/language/budget.test.ts', [
    `budget.spend((items as readonly string[]).reduce((sum, item) => sum + item.length + separator.length, 0))`,
    '',
  ]),
  ...of('src/rules/engine/run.ts', 'test/rules/change-budget.test.ts', [
    `this.context.spend(fields * ((response?.headers ?? headers).length + 2 * this.#changedFields))`,
    '',
  ]),
  ...of('src/edge/markdown/held-page.ts', 'test/edge/markdown/markdown.test.ts', [
    `if (this.#htmlBytes > MAX_HTML_BYTES) this`,
    'if (false) this',
  ]),
  ...of(
    'src/core/schedule/intake-limits.ts',
    'test/control/logpush/ingest.test.ts',
    [`if (size <= maxBytes) yield chunk`, 'if (true) yield chunk'],
    [`if (lines >= max) throw`, 'if (false) throw'],
    [`if (count > MAX_INVALID)`, 'if (false)'],
    [`if (socket.destroyed) throw`, 'if (false) throw'],
  ),
  ...of('control/http/line-body.ts', 'test/control/logpush/ingest.test.ts', [
    `at = cutter.push(piece, at, Math.min(STEP_LINES, maxLines - cutter.ended))`,
    'at = cutter.push(piece, at)',
  ]),
  ...of(
    'pipelines/sources/lines/array-lines.ts',
    'test/control/logpush/ingest.test.ts',
    [`, at + PART_LENGTH)`, ', text.length)'],
    [`      await pause()`, ''],
  ),
  ...of('pipelines/sources/lines/ndjson.ts', 'test/control/logpush/ingest.test.ts', [
    `blank = head.length < MARK.length ? 0 : head.length`,
    '',
  ]),
  ...of('pipelines/sources/lines/content-coding.ts', 'test/pipelines/sources/http-limits.test.ts', [
    `text = metered(decoder, maxBytes)`,
    'text = decoder',
  ]),
  ...of(
    'pipelines/sources/intake/record-intake.ts',
    'test/pipelines/sources/http-limits.test.ts',
    [`assertLines(line + at - 1, limits.lines)`, ''],
    [`if (isText || at % STEP_LINES === 0) await pause()`, `if (isText) await pause()`],
  ),
  ...of('control/http/ingest-requests.ts', 'test/control/http/ingest-requests.test.ts', [
    `|| own >= this.#limits.perAccount`,
    '',
  ]),
  ...of('src/core/schedule/fair-slices.ts', 'test/core/schedule/fair-slices.test.ts', [
    `const [account, waiting] = this.#waiting.entries().next().value!`,
    'const [account, waiting] = [...this.#waiting][this.#waiting.size - 1]!',
  ]),
  ...of('control/http/line-splitter.ts', 'test/control/http/line-body.test.ts', [
    `if (length > this.#max) {`,
    'if (false) {',
  ]),
  ...of('pipelines/sources/listeners/request-listener.ts', 'test/pipelines/sources/listener-limits.test.ts', [
    `queue.size >= MAX_WAITING || `,
    '',
  ]),
  ...of('pipelines/sources/listeners/syslog.ts', 'test/pipelines/sources/listener-limits.test.ts', [
    `if (open.size >= MAX_CONNECTIONS) return void socket.destroy()`,
    '',
  ]),
  ...of('pipelines/sources/listeners/syslog-frames.ts', 'test/pipelines/sources/listener-limits.test.ts', [
    `if (this.#searched <= this.#max + 1) return at`,
    'return at',
  ]),
  ...of('pipelines/sources/listeners/syslog-frames.ts', 'test/pipelines/sources/listeners/syslog.test.ts', [
    `if (length > this.#max) {`,
    'if (false) {',
  ]),
  ...of('pipelines/sources/lines/content-coding.ts', 'test/pipelines/sources/malformed.test.ts', [
    `if (names.length > MAX_CODINGS) throw`,
    'if (false) throw',
  ]),
  ...of('pipelines/sources/listeners/otlp.ts', 'test/pipelines/sources/listeners/otlp.test.ts', [
    `if (end > MAX_BYTES) throw`,
    'if (false) throw',
  ]),
  ...of(
    'pipelines/sources/listeners/otlp-protobuf.ts',
    'test/pipelines/sources/listeners/otlp.test.ts',
    [`if (inner !== undefined && open.push(inner) > MAX_DEPTH)`, 'if (inner !== undefined && open.push(inner) < 0)'],
    [`if (tag < MIN_TAG || tag > MAX_TAG) throw`, 'if (false) throw'],
  ),
  ...of('pipelines/sources/listeners/otlp-records.ts', 'test/pipelines/sources/listeners/otlp.test.ts', [
    `if (values > MAX_VALUES) throw`,
    'if (false) throw',
  ]),
  ...of('control/http/websocket-clients.ts', 'test/control/logpush/live.test.ts', [
    ` || client.bufferedAmount > MAX_WAITING_BYTES`,
    '',
  ]),

  // What a disabled or changed job still reads.
  ...of(
    'pipelines/logpush/job-loop.ts',
    'test/pipelines/logpush/jobs.test.ts',
    [`return redo !== undefined || limit === undefined || reader.place.position < limit`, 'return true'],
    [`|| (control.changed && left.length === 0)`, ''],
  ),

  // Files that destinations write, and what is shown of them.
  ...of(
    'sinks/file.ts',
    'test/sinks/local.test.ts',
    ["if (rest !== '..' && !rest.startsWith(`..${sep}`)) return", 'return'],
    [`if (!isNew && !(await fs.lstat(next)).isDirectory()) throw`, 'if (false) throw'],
  ),
  ...of(
    'sinks/redact.ts',
    'test/sinks/destinations.test.ts',
    [`if (SECRET.test(name) || secrets.includes(name)) return true`, ''],
    ['authority.replace(/^\\/\\/.*@/, `//${HIDDEN}@`)', 'authority'],
  ),

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
    [`if (!this.#gate.mayDial(host, port)) throw this.#notPublic(host, port)`, ''],
    [`const may = isIP(host) === 0 || this.allows(host, port)`, 'const may = true'],
  ),
  ...of('control/http/websocket-clients.ts', 'test/control/logpush/live.test.ts', [
    `transport.end(() => transport.destroy())`,
    '',
  ]),
  ...of('src/http/client-shares.ts', 'test/edge/slow-clients.test.ts', [
    `(this.#size - used) / FREE_SHARE`,
    'this.#size / 8',
  ]),
  ...of('src/tls/certificates.ts', 'test/edge/client/https.test.ts', [`        ...SERVER_TLS,\n`, '']),
  ...of('src/edge/origins/origin-target.ts', 'test/daemon/route-targets.test.ts', [` && origin.port === port`, '']),
  ...of(
    'src/egress/public-url.ts',
    'test/egress/egress.test.ts',
    [`if (url.port === '0') throw`, 'if (false) throw'],
    [`if (/^https:\\/\\/[^/?#]*@/i.test(text)) throw`, 'if (false) throw'],
  ),

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
  ...of('src/edge/client/admission.ts', 'test/edge/client/proxy-clients.test.ts', [
    `this.#total >= connections || `,
    '',
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
  ...of(
    'src/edge/cache/ranged-lookup.ts',
    'test/edge/cache/parts.test.ts',
    [`extent?.etag === this.#extent.etag && `, ''],
    [`if (extent) this.#leading?.discard()`, ''],
  ),
  ...of('src/edge/cache/parts/part-response.ts', 'test/edge/cache/parts.test.ts', [
    `else if (status === 200 || status === 206) this`,
    'else if (status === 206) this',
  ]),
  ...of(
    'src/edge/cache/entries/policy.ts',
    'test/edge/cache/hostile.test.ts',
    [`if (terms.authorization && !forAuthorized) return`, 'if (false) return'],
    [`if (!omitted.has('set-cookie') && headerOf(headers, 'set-cookie') !== undefined) return`, 'if (false) return'],
    [`if (unqualified(directives, 'private')) return`, 'if (false) return'],
    [`cache_deception_armor !== false &&`, 'cache_deception_armor === true &&'],
  ),
  ...of('src/edge/cache/entries/extensions.ts', 'test/edge/cache/hostile.test.ts', [`PAGE.test(type) || `, '']),
  ...of(
    'src/edge/cache/delivery/query.ts',
    'test/edge/cache/query.test.ts',
    [`[hash, bytes.length, ...described]`, `[hash]`],
    [`createHash('sha256').update(bytes)`, `createHash('sha256')`],
    [`[-_]`, `-`],
  ),
  ...of(
    'src/edge/cache/delivery/request.ts',
    'test/edge/cache/hostile.test.ts',
    [`const lower = hyphenedName(name)`, 'const lower = name.toLowerCase()'],
    [`PREFIXES.some((prefix) => lower.startsWith(prefix))`, 'false'],
    [`98: ['base-url'.length],`, ''],
    [`99: ['cf-visitor'.length, 'cloudfront-forwarded-proto'.length],`, ''],
  ),
  ...of(
    'src/edge/cache/key.ts',
    'test/edge/cache/hosts.test.ts',
    [`if (request.forwardedHost !== host)`, 'if (false)'],
    [`if (exchange.decisions.route?.host_header !== undefined && !custom?.host?.resolved)`, 'if (false)'],
  ),
  ...of('src/edge/serve/arrived-exchange.ts', 'test/edge/cache/hosts.test.ts', [
    `const host = normalHostField(fields.host ?? '', scheme)`,
    `const host = fields.host ?? ''`,
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
    [`await syncFolder(disk, dirname(entry))`, ';'],
  ),
  ...of('src/store/level/format.ts', 'test/store/level/format.test.ts', [`{ sync: true }`, '{ sync: false }']),
  ...of(
    'src/store/level/check.ts',
    'test/store/level-damage.test.ts',
    [`return (last?.version ?? witness.tables) >= witness.version`, 'return true'],
    [`isCertain ||= isLog && found.isCertain`, ''],
    [`  await assertUnlocked(folder)\n`, ''],
    [`  await copyStore(folder, copy)\n  return { witnessed, loss, copy }`, '  return { witnessed, loss, copy }'],
  ),
  ...of('src/store/level/level.ts', 'test/store/level-damage.test.ts', [`await this.#witness.write(meta)`, '']),
  ...of('src/store/level/witness.ts', 'test/store/level/witness.test.ts', [`await this.#file.datasync()`, '']),
  ...of(
    'src/disk/write-health.ts',
    'test/disk/write-health.test.ts',
    [`pause = Math.min(pause * 2, MAX_PAUSE_MS)`, 'pause = pause * 1'],
    [`join(await makeFolder(disk, folder), TRIAL)`, 'join(folder, TRIAL)'],
    [
      `        this.#failing.set(folder, reasonOf(error))\n        return\n`,
      '        this.#failing.set(folder, reasonOf(error))\n',
    ],
  ),
  ...of('src/store/blobs/file-blobs.ts', 'test/store/blobs.test.ts', [`health?.failed(folder, error)`, '']),
  ...of('pipelines/logpush/spool/durable-spool.ts', 'test/pipelines/logpush/spool-faults.test.ts', [
    `      this.#deps.failed()\n      this.#deps.health.failed(this.#folder, error)`,
    '      this.#deps.failed()',
  ]),
  ...of(
    'pipelines/logpush/spool/segments.ts',
    'test/pipelines/logpush/spool-removals.test.ts',
    [`await disk.rename(last.path, empty.path)`, 'Object.assign(empty, { path: last.path })'],
    [`left.push(segment)`, 'throw error'],
  ),
  ...of('pipelines/logpush/spool/cursors.ts', 'test/pipelines/logpush/spool-removals.test.ts', [
    `      this.#all.delete(name)\n      this.#ended.set(name, cursor)`,
    '      this.#ended.set(name, cursor)',
  ]),
  ...of('src/edge/cache/files/journal.ts', 'test/edge/cache/purge-durability.test.ts', [`await file.datasync()`, '']),
  ...of('src/edge/cache/files/owner.ts', 'test/edge/cache/purge-durability.test.ts', [
    `      await this.#syncRemovals()\n`,
    '',
  ]),
  ...of('src/store/level/level.ts', 'test/store/level/create.test.ts', [
    `await confirmCreated(folder, options)`,
    'void 0',
  ]),
  ...of('src/webhooks/sender.ts', 'test/simulator/simulator.test.ts', [
    `if (this.#leases?.isPresent === false) return`,
    'if (false) return',
  ]),
  ...of('pipelines/logpush/batch-name.ts', 'test/pipelines/logpush/batch-name.test.ts', [
    `hashOf(origin, [origin.records])`,
    'hashOf(origin)',
  ]),
  ...of('pipelines/logpush/spool/segments.ts', 'test/pipelines/logpush/spool-model.test.ts', [
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
  // Agents.
  ...of(
    'src/edge/agents/canonical/canonical-address.ts',
    'test/edge/agents/canonical.test.ts',
    [`if (url.host !== own.host || url.username`, `if (url.username`],
    [`if (url.pathname + url.search === own.pathname + own.search) return undefined`, ''],
  ),
  ...of('src/edge/agents/canonical/canonical-response.ts', 'test/edge/agents/canonical.test.ts', [
    `this.#pages.leads(canonical, this.#page) || `,
    '',
  ]),
  ...of('src/edge/agents/payments.ts', 'test/edge/agents/access.test.ts', [
    `if (reason !== undefined) return refusal`,
    'if (false) return refusal',
  ]),
  ...of('src/daemon/proxy/stored-signatures.ts', 'test/daemon/stored-signatures.test.ts', [
    `value: { expires }, ifVersion: 0`,
    'value: { expires }',
  ]),
  ...of(
    'src/edge/serve/internal.ts',
    'test/edge/agents/mcp-attacks.test.ts',
    [`  other.agent = exchange.agent\n`, ''],
    [` && !needsAuthentication(other)`, ''],
  ),
  ...of('src/edge/agents/mcp/observed-page.ts', 'test/edge/agents/mcp-attacks.test.ts', [
    `exchange.target.includes('?') || `,
    '',
  ]),
  ...of('src/agents/identity.ts', 'test/agents/identity.test.ts', [`type === 'directory' || isReplaced ? `, 'true ? ']),
  ...of('src/agents/signatures/directories.ts', 'test/agents/identity.test.ts', [
    `if (fetching || isKept) continue`,
    'if (fetching) continue',
  ]),
]
