/**
 * Bodies that almost fit a JSON schema: most members as the schema wants them, a few hostile. Bodies of random JSON
 * alone would never get past the schema.
 */
type Schema = Readonly<Record<string, unknown>>

/** Returns numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const deep = (levels: number): unknown => (levels === 0 ? [] : [deep(levels - 1)])

/** JSON that code may take for something else. */
const HOSTILE: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  -0,
  2 ** 60,
  '',
  ' ',
  '0',
  'null',
  '\u0000',
  '\ud800',
  '\u202e𝟙',
  'a'.repeat(5000),
  '../../etc/passwd',
  '${x}',
  '%00%ff',
  '(((',
  '[',
  'toString',
  'hasOwnProperty',
  [],
  [[]],
  [null],
  ['a', 1, null, {}],
  Array.from({ length: 200 }, () => 'a'),
  {},
  { toString: 1 },
  { length: 1e9 },
  JSON.parse('{"then":1}'),
  { valueOf: null, toJSON: 1 },
  { hasOwnProperty: true },
  { '': '' },
  { id: null, name: [], value: {} },
  deep(40),
]

/** Texts that members of certain names accept. */
const FITTING: Readonly<Record<string, readonly unknown[]>> = {
  expression: ['true', 'http.host eq "a.test"', 'http.request.uri.path in $list', 'ip.src in {192.0.2.0/24}'],
  phase: ['http_request_firewall_custom', 'http_ratelimit', 'http_request_transform', 'http_config_settings'],
  kind: ['zone', 'custom', 'root', 'ip', 'redirect', 'hostname'],
  action: ['block', 'skip', 'rewrite', 'set_config', 'execute', 'redirect', 'route', 'log_custom_field', 'score'],
  ip: ['192.0.2.1', '2001:db8::/32'],
  hostname: ['shop.test', '*.shop.test'],
  url: ['https://127.0.0.1:1/x', 'https://a.invalid/'],
  destination_conf: ['https://127.0.0.1:1/x', 's3://bucket/x?region=r', 'file:///tmp/x'],
  dataset: ['http_requests', 'audit_logs_v2'],
  pattern: ['a.test/*', '*.a.test/x*'],
  cron: ['*/5 * * * *'],
  value: ['on', 'off', 'text'],
}

/** Makes bodies for schemas out of random numbers. */
export class HostileBodies {
  readonly #random: () => number
  readonly #components: Readonly<Record<string, Schema>>

  constructor(random: () => number, components: Readonly<Record<string, Schema>>) {
    this.#random = random
    this.#components = components
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)]!
  }

  body(schema: Schema): unknown {
    return this.#random() < 0.05 ? this.pick(HOSTILE) : this.#value(schema, '', 0)
  }

  #value(schema: Schema, name: string, depth: number): unknown {
    if (this.#random() < 0.06 || depth > 8) return this.pick(HOSTILE)
    const { $ref, anyOf, oneOf, type, properties, items } = schema
    if (typeof $ref === 'string') return this.#value(this.#components[$ref.split('/').at(-1)!] ?? {}, name, depth + 1)
    const branches = (anyOf ?? oneOf) as readonly Schema[] | undefined
    if (branches !== undefined) return this.#value(this.pick(branches), name, depth + 1)
    if (schema['const'] !== undefined) return schema['const']
    if (Array.isArray(schema['enum'])) return this.pick(schema['enum'])
    const fitting = FITTING[name]
    if (fitting !== undefined && type !== 'object' && type !== 'array' && this.#random() < 0.8)
      return this.pick(fitting)
    if (properties !== undefined || type === 'object') return this.#object(schema, depth)
    if (items !== undefined || type === 'array')
      return Array.from({ length: this.pick([0, 1, 1, 2, 3]) }, () =>
        this.#value((items ?? {}) as Schema, name, depth + 1),
      )
    if (type === 'string') return this.pick(['a', 'name', 'true', 'https://127.0.0.1:1/', '1h', 'a.test'])
    if (type === 'integer' || type === 'number') return Number(schema['minimum'] ?? 0) + Math.floor(this.#random() * 10)
    if (type === 'boolean') return this.#random() < 0.5
    return this.pick(HOSTILE)
  }

  #object(schema: Schema, depth: number): Record<string, unknown> {
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
    const required = (schema['required'] ?? []) as readonly string[]
    const members: [string, unknown][] = []
    for (const [name, member] of Object.entries(properties)) {
      const chance = required.includes(name) ? 0.95 : 0.35
      if (this.#random() < chance) members.push([name, this.#value(member, name, depth + 1)])
    }
    if (this.#random() < 0.05) members.push([this.pick(['constructor', 'x', '', '__proto__']), this.pick(HOSTILE)])
    return Object.fromEntries(members)
  }
}
