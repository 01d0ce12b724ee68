import { of, type Mutant } from './mutant.js'

/** Guards of the memory and time of one client, sender or request. */
export const LIMITS: readonly Mutant[] = [
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
  ...of('src/egress/fetch-page.ts', 'test/control/rulesets/error-pages.test.ts', [
    `if (size > maxBytes) throw`,
    'if (false) throw',
  ]),
  ...of(
    'pipelines/sources/listeners/otlp-records.ts',
    'test/pipelines/sources/listeners/otlp.test.ts',
    [`if (count > MAX_RECORDS)`, 'if (false)'],
    [`if (added > MAX_ADDED_BYTES)`, 'if (false)'],
    [`if (++parts > MAX_RECORDS) throw`, 'if (false) throw'],
  ),
  ...of('control/http/websocket-clients.ts', 'test/control/logpush/live.test.ts', [
    `transport.end(() => transport.destroy())`,
    '',
  ]),

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

  // Bodies of uploads.
  ...of(
    'control/workers/services/multipart.ts',
    'test/control/workers/upload-rejected.test.ts',
    [`if (this.#taken + value.length > this.#limits.bytes) throw this.#tooLarge()`, ''],
    [`if (!this.#limits.memory.take(value.length))`, 'if (false)'],
    [`if (coding !== 'identity') throw`, 'if (false) throw'],
  ),
]
