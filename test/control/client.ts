import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Test } from 'tap'
import type { Endpoint } from '../../control/http/endpoint.js'
import { basicEndpoints, startControl, type BasicDeps } from '../../control/index.js'
import type { LogpushServices } from '../../control/logpush/services.js'
import { openapiDocument } from '../../control/openapi/index.js'
import { bySpecificity } from '../../control/http/paths.js'
import type { ControlConfig, Upgrades } from '../../control/http/context.js'
import type { Clock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import type { Store } from '../../src/core/store.js'
import { AllZones } from '../../src/daemon/zones/all-zones.js'
import { openStore } from '../../src/store/index.js'

export const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
export const OTHER_ACCOUNT = '11111111111111111111111111111111'
export const ZONE = '9f1839b6152d298aca64c4e906b6d074'
export const FREE_ZONE = '22222222222222222222222222222222'
export const OTHER_ZONE = '33333333333333333333333333333333'
export const ADMIN = 'admin-token-0123456789-abcdefghijklmnop'
/** No account, zone or anything else has it. */
export const NOWHERE = 'ffffffffffffffffffffffffffffffff'

const zone = (id: string, account: string, name: string, plan: 'free' | 'pro'): ControlConfig['zones'][number] => ({
  id,
  account,
  name,
  origin: 'http://127.0.0.1:9000',
  plan,
  settings: { content_converter: 'off' },
  negotiation: 'listed',
  markdown: { content: 'page', md_addresses: false, links: 'written', compress: false, llms_txt: 'off' },
  agents: {
    content_signal: false,
    hint: false,
    robots: false,
    web_bot_auth: { keys: {} },
    access: [],
    mcp: false,
    skills: false,
    api_catalog: false,
  },
  websockets: true,
  origin_proxy_protocol: 'off',
  cache: 'default',
  balance: 'round_robin',
  retries: 1,
  compress: false,
  paths: [],
  rules: {},
  custom_hostnames: 'selected',
})

/** Two accounts, three zones, one token that may do all. */
export const CONFIG: ControlConfig = {
  accounts: [
    { id: ACCOUNT, name: 'Example', rules: {} },
    { id: OTHER_ACCOUNT, name: 'Other', rules: {} },
  ],
  zones: [
    zone(ZONE, ACCOUNT, 'example.test', 'pro'),
    zone(FREE_ZONE, ACCOUNT, 'free.test', 'free'),
    zone(OTHER_ZONE, OTHER_ACCOUNT, 'other.test', 'pro'),
  ],
  tokens: [{ name: 'admin', token: ADMIN, permissions: ['*'], accounts: ['*'], zones: ['*'] }],
  legacy_keys: [],
  lists: [{ name: 'moved', kind: 'redirect', items: [] }],
  control: {
    listen: '127.0.0.1:0',
    trusted_proxies: [],
    rate_limit: { requests: 0, period: 300_000 },
    quotas: {
      rulesets_per_scope: 500,
      rules_per_ruleset: 1000,
      ruleset_versions: 50,
      lists_per_account: 100,
      items_per_list: 200_000,
      custom_hostnames_per_zone: 50_000,
      zones_per_account: 100,
      error_pages_per_scope: 25,
      error_page_bytes_per_scope: 10e6,
    },
  },
}

/** A clock that stands until it is moved. */
export function handClock(start = Date.parse('2026-11-21T12:00:00Z')): Clock & { advance(ms: number): void } {
  let now = start
  return {
    now: () => now,
    monotonic: () => now - start,
    sleep: async () => {},
    advance: (ms) => {
      now += ms
    },
  }
}

export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it with t.match
  readonly body: any
}

export interface Client {
  readonly url: string
  readonly store: Store
  readonly deps: BasicDeps
  readonly clock: ReturnType<typeof handClock>
  readonly endpoints: readonly Endpoint[]
  /** Sends a request as the administrator and checks the answer against the OpenAPI document. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestResponse>
  /** The same as the holder of a token with this access. */
  as(token: string): Client['call']
}

/** The API on a port of its own, over a memory store; ends with the test. */
export async function client(
  t: Test,
  options: {
    readonly config?: Partial<ControlConfig>
    readonly areas?: (deps: BasicDeps) => Endpoint[]
    readonly logpush?: LogpushServices
    readonly fetchPage?: BasicDeps['fetchPage']
    readonly originIssue?: BasicDeps['originIssue']
    /** Asked once `areas` has been. */
    readonly upgrades?: () => readonly Upgrades[]
    readonly clock?: ReturnType<typeof handClock>
  } = {},
): Promise<Client> {
  const { clock = handClock(), logpush } = options
  const store = await openStore('memory', { folder: '', log: silentLog, clock })
  const config: ControlConfig = { ...CONFIG, ...options.config }
  const deps: BasicDeps = {
    config: new AllZones(store).in(() => config),
    store,
    clock,
    log: silentLog,
    trace: () => undefined,
    ...(options.originIssue && { originIssue: options.originIssue }),
    fetchPage: options.fetchPage ?? (() => Promise.reject(new Error('the test fetches no pages'))),
    logpush() {
      if (!logpush) throw new Error('the test has no log push')
      return logpush
    },
  }
  const endpoints = (options.areas ?? basicEndpoints)(deps)
  const upgrades = [...(logpush ? [logpush.live] : []), ...(options.upgrades?.() ?? [])]
  const control = await startControl(endpoints, { ...deps, upgrades })
  t.teardown(async () => {
    await control.close(0)
    await store.close()
  })
  const check = conformance(endpoints)
  const as =
    (token: string): Client['call'] =>
    async (method, path, body, headers = {}) => {
      const sent = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
      const response = await fetch(control.url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(sent !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(sent !== undefined && { body: sent }),
      })
      const text = await response.text()
      const result = {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : JSON.parse(text),
      }
      check(method, path, result)
      return result
    }
  return { url: control.url, store, deps, clock, endpoints, as, call: as(ADMIN) }
}

/** Throws when an answer is not what the OpenAPI document promises. */
export function conformance(endpoints: readonly Endpoint[]) {
  const { document, ajv } = documentOf(endpoints)
  const paths = document['paths'] as Record<string, Record<string, { responses: object }>>
  const templates = Object.keys(paths).sort((a, b) => bySpecificity(colon(a), colon(b)))
  return (method: string, path: string, { status, body }: { status: number; body: unknown }): void => {
    if (body === undefined) return
    const bare = path.split('?')[0] ?? ''
    const template = templates.find((one) => new RegExp(`^${one.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(bare))
    const success = (body as { success?: unknown }).success === true
    const where =
      success && template !== undefined
        ? `api#/paths/${escape(template)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`
        : 'api#/components/schemas/Failure'
    const operation = template === undefined ? undefined : paths[template]?.[method.toLowerCase()]
    // 405 belongs to no operation: the URL parser turns `/tokens/..` into another path.
    if (operation && status !== 405 && !(status in operation.responses))
      throw new Error(`the document does not tell that ${method} ${template} answers ${status}`)
    const valid = ajv.getSchema(where)
    if (!valid) throw new Error(`the document has no answer ${status} of ${method} ${path}`)
    if (!valid(body))
      throw new Error(`${method} ${path} answered against its document: ${ajv.errorsText(valid.errors)}`)
  }
}

const documents = new Map<string, { document: Record<string, unknown>; ajv: Ajv2020 }>()

/** Clients with the same endpoints share the compiled document: compiling it takes longer than most tests. */
function documentOf(endpoints: readonly Endpoint[]) {
  const key = JSON.stringify(endpoints.map(({ method, path, scopes }) => [method, path, scopes]))
  const known = documents.get(key)
  if (known) return known
  const document = openapiDocument(endpoints)
  const ajv = addFormats.default(new Ajv2020({ strict: false, discriminator: true, inlineRefs: false }))
  ajv.addSchema(document, 'api')
  const made = { document, ajv }
  documents.set(key, made)
  return made
}

const colon = (template: string): string => template.replaceAll(/\{([^}]+)\}/g, ':$1')
const escape = (template: string): string => encodeURI(template.replaceAll('~', '~0').replaceAll('/', '~1'))
