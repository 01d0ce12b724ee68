import { Type, type Static } from 'typebox'
import { newOrderedUuid } from '../../src/core/ids.js'
import { FINDINGS, type StoredFinding } from '../../src/core/model/finding.js'
import { INTEGRATIONS, type StoredIntegration } from '../../src/core/model/integration.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { audited, auditOf } from '../resources/audit.js'
import { QuotaReservation } from '../resources/quota.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, type Call, type Message } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'

const PATH = '/one/integrations'
const INTEGRATION = `${PATH}/:integration_id` as const
const MAX_INTEGRATIONS = 100

const APPLICATIONS = [
  'ANTHROPIC',
  'AWS',
  'BITBUCKET',
  'BOX',
  'CONFLUENCE',
  'DROPBOX',
  'GITHUB',
  'GOOGLE_CLOUD_PLATFORM',
  'GOOGLE_WORKSPACE',
  'JIRA',
  'MICROSOFT_INTERNAL',
  'OPENAI',
  'SALESFORCE',
  'SERVICENOW',
  'SLACK',
] as const

const Application = Type.Object({
  id: Type.Enum([...APPLICATIONS]),
  display_name: Type.String(),
  description: Type.String(),
  category: Type.String(),
  logo: Type.Null(),
  instructions: Type.Null(),
  dlp_enabled: Type.Boolean(),
  auth_methods: Type.Array(Type.Object({})),
  permissions: Type.Array(Type.Object({})),
  supported_environments: Type.Array(Type.String()),
  use_cases: Type.Array(Type.Object({})),
})
type ApplicationId = (typeof APPLICATIONS)[number]

const application = (id: ApplicationId): Static<typeof Application> => ({
  id,
  display_name: id,
  description: '',
  category: '',
  logo: null,
  instructions: null,
  dlp_enabled: false,
  auth_methods: [],
  permissions: [],
  supported_environments: [],
  use_cases: [],
})

function known(id: string): ApplicationId {
  const found = APPLICATIONS.find((one) => one === id)
  if (found === undefined) throw new ApiError('applicationNotFound')
  return found
}

const Texts = Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { maxItems: 100 })
const Changeable = {
  name: Type.String({ minLength: 1, maxLength: 255 }),
  credentials: Type.Object({}, { description: 'Not stored: edged reads no accounts of applications.' }),
  dlp_profiles: Type.Optional(Texts),
  permissions: Type.Optional(Texts),
  use_cases: Type.Optional(Type.Array(Type.Enum(['casb', 'ces', 'auto_remediation']), { maxItems: 3 })),
}
const NewIntegration = Type.Object(
  {
    application: Type.Enum([...APPLICATIONS]),
    auth_method: Type.Optional(Type.Union([Type.String({ maxLength: 255 }), Type.Null()])),
    ...Changeable,
  },
  strict,
)
const IntegrationChange = Type.Partial(Type.Object(Changeable), strict)

const Listed = {
  id: Type.String(),
  application: Type.Object({ id: Type.String(), display_name: Type.String() }),
  created: Type.String(),
  is_paused: Type.Boolean(),
  name: Type.String(),
  status: Type.String({ description: 'Healthy: findings name it. Initializing: none does. Offline: it is paused.' }),
  updated: Type.String(),
}
const ListedIntegration = Type.Object(Listed)
const Integration = Type.Object({
  ...Listed,
  auth_method: Type.Union([Type.Object({ id: Type.String(), display_name: Type.String() }), Type.Null()]),
  authorization_link: Type.Null(),
  credentials_expiry: Type.Null(),
  dlp_profiles: Type.Array(Type.String()),
  health_details: Type.Array(Type.Object({})),
  last_hydrated: Type.Union([Type.String(), Type.Null()], {
    description: 'When a finding that names it arrived last.',
  }),
  permissions: Type.Array(Type.String()),
  use_cases: Type.Array(Type.Object({ id: Type.String() })),
})
type Integration = Static<typeof Integration>

const Pages = {
  page: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 }),
  page_size: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
}
const Query = Type.Object({
  ...Pages,
  application: Type.Optional(Type.String({ maxLength: 256 })),
  dlp_enabled: Type.Optional(Type.Boolean()),
  search: Type.Optional(Type.String({ maxLength: 256, description: 'Part of the name.' })),
  status: Type.Optional(Type.Enum(['Healthy', 'Initializing', 'Offline', 'Unhealthy'])),
  use_cases: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'Names with commas between. An integration with one of these names fits.',
    }),
  ),
  order: Type.Enum(['application', 'created', 'name', 'status'], { default: 'created' }),
  direction: Type.Enum(['asc', 'desc'], { default: 'asc' }),
})

/** What the findings of an account say about an integration. */
interface Seen {
  readonly integration: StoredFinding['integration']
  readonly vendor: string
  readonly created: string
  readonly updated: string
}

const rows = area(
  { scopes, access: ACCESS.webhooks, refusal: 'badIntegration' },
  ({ store, clock }: Pick<ControlDeps, 'store' | 'clock'>) => {
    const room = new QuotaReservation()
    const all = (scope: Scope): Integration[] => {
      const seen = integrationsOf(store.list(FINDINGS, scope).map(({ value }) => value))
      const stored = store.list(INTEGRATIONS, scope).map(({ value }) => value)
      const own = new Set(stored.map(({ id }) => id))
      return [
        ...stored.map((one) => shown(one, seen.get(one.id))),
        ...[...seen].filter(([id]) => !own.has(id)).map(([, one]) => ofFindings(one)),
      ]
    }
    const find = (scope: Scope, id: string): Integration => {
      const found = all(scope).find((one) => one.id === id)
      if (!found) throw new ApiError('integrationNotFound')
      return found
    }
    const own = (scope: Scope, id: string) => {
      const found = store.get(INTEGRATIONS, scope, id)
      if (found) return found
      find(scope, id)
      throw new ApiError('integrationOfFindings')
    }
    const change = async (call: Call, id: string, members: Partial<StoredIntegration>): Promise<Integration> => {
      const { scope } = call
      own(scope, id)
      const updated = new Date(clock.now()).toISOString()
      const entry = auditOf(clock, call, { kind: INTEGRATIONS, scope, id })
      await store.change(INTEGRATIONS, scope, id, (old) => old && { ...old, ...members, updated }, entry)
      return find(scope, id)
    }
    return { store, clock, room, all, find, own, change }
  },
)

/** Connections to applications: those that were created here, and those that findings name. Policies name both. */
export const integrations = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the integrations of an account: those created here, and those that findings name',
    query: Query,
    result: Type.Array(ListedIntegration),
    handle({ all }, { scope, query }) {
      const { application, dlp_enabled: isDlp, search = '', status, use_cases: cases, order, direction } = query
      const wanted = cases?.split(',')
      const chosen = all(scope).filter(
        (one) =>
          (application === undefined || one.application.id === application) &&
          (isDlp === undefined || one.dlp_profiles.length > 0 === isDlp) &&
          (status === undefined || one.status === status) &&
          (wanted === undefined || one.use_cases.some(({ id }) => wanted.includes(id))) &&
          one.name.toLowerCase().includes(search.toLowerCase()),
      )
      const key = (one: Integration) => (order === 'application' ? one.application.id : one[order])
      const sign = direction === 'asc' ? 1 : -1
      chosen.sort((a, b) => (key(a) === key(b) ? 0 : key(a) < key(b) ? -sign : sign))
      return page(chosen, { page: query.page, per_page: query.page_size }, listed)
    },
  }),
  rows.get('/one/applications', {
    summary: 'List the applications that integrations name',
    query: Type.Object({ ...Pages, environment: Type.Optional(Type.String({ maxLength: 256 })) }),
    result: Type.Array(Application),
    handle: (_, { query }) => page(APPLICATIONS, { page: query.page, per_page: query.page_size }, application),
  }),
  rows.get('/one/applications/:application_id', {
    summary: 'Read an application',
    result: Application,
    handle: (_, { params }) => application(known(params.application_id)),
  }),
  rows.get('/one/applications/:application_id/auth-methods', {
    summary: 'List the ways to sign in to an application: always empty, because edged signs in to none',
    query: Type.Object(Pages),
    result: Type.Array(Type.Object({})),
    handle(_, { params }) {
      known(params.application_id)
      return whole<never>([])
    },
  }),
  rows.post(PATH, {
    summary: 'Create an integration, which findings and policies can name. Its credentials are not stored',
    body: NewIntegration,
    result: Integration,
    async handle({ store, clock, room, find }, call) {
      const { scope, body } = call
      const id = newOrderedUuid(clock.now())
      const now = new Date(clock.now()).toISOString()
      const { application, name, auth_method: method, dlp_profiles = [], permissions = [], use_cases = ['casb'] } = body
      const after: StoredIntegration = {
        id,
        application,
        name,
        ...(typeof method === 'string' && { auth_method: method }),
        dlp_profiles,
        permissions,
        use_cases,
        is_paused: false,
        created: now,
        updated: now,
      }
      const places = MAX_INTEGRATIONS - store.count(INTEGRATIONS, scope)
      await room.take(scope.id, places, 'tooManyIntegrations', async () => {
        await store.batch(...audited(clock, call, { kind: INTEGRATIONS, scope, id, after }))
      })
      return new ApiResponse(find(scope, id), { messages: [NOT_STORED] })
    },
  }),
  rows.get(INTEGRATION, {
    summary: 'Read an integration',
    result: Integration,
    handle: ({ find }, { scope, params }) => find(scope, params.integration_id),
  }),
  rows.patch(INTEGRATION, {
    summary: 'Change an integration; what is left out stays. Credentials are not stored',
    body: IntegrationChange,
    result: Integration,
    async handle({ change }, call) {
      const { credentials, ...members } = call.body
      const changed = await change(call, call.params.integration_id, members)
      return new ApiResponse(changed, { messages: credentials ? [NOT_STORED] : [] })
    },
  }),
  rows.delete(INTEGRATION, {
    summary: 'Delete an integration. Its findings stay',
    status: 204,
    async handle({ store, clock, own }, call) {
      const { scope, params } = call
      const { id, value: before, version } = own(scope, params.integration_id)
      await store.batch(...audited(clock, call, { kind: INTEGRATIONS, scope, id, before, ifVersion: version }))
    },
  }),
  ...([true, false] as const).map((is_paused) =>
    rows.post(`${INTEGRATION}/${is_paused ? 'pause' : 'resume'}`, {
      summary: is_paused ? 'Mark an integration as paused' : 'Mark an integration as not paused',
      result: Integration,
      handle: async ({ change }, call) => await change(call, call.params.integration_id, { is_paused }),
    }),
  ),
])

const NOT_STORED: Message = {
  code: 10900,
  message: 'not stored, without effect here: edged reads no accounts of applications',
  source: { pointer: '/credentials' },
}

/** Returns the integrations that findings name, by id, as the latest finding of each describes it. */
function integrationsOf(findings: readonly StoredFinding[]): ReadonlyMap<string, Seen> {
  const found = new Map<string, Seen>()
  for (const { integration, vendor, created_at, updated_at } of findings) {
    const known = found.get(integration.id)
    const isLater = !known || known.updated <= updated_at
    found.set(integration.id, {
      ...(isLater ? { integration, vendor, updated: updated_at } : known),
      created: known && known.created < created_at ? known.created : created_at,
    })
  }
  return found
}

const named = (id: string) => ({ id, display_name: id })

const NOTHING = { auth_method: null, authorization_link: null, credentials_expiry: null, health_details: [] }

function shown(stored: StoredIntegration, seen: Seen | undefined): Integration {
  const { id, name, application, auth_method: method, is_paused, created, updated } = stored
  return {
    ...NOTHING,
    id,
    name,
    application: named(application),
    auth_method: method === undefined ? null : named(method),
    is_paused,
    status: is_paused ? 'Offline' : seen ? 'Healthy' : 'Initializing',
    created,
    updated,
    last_hydrated: seen?.updated ?? null,
    dlp_profiles: [...stored.dlp_profiles],
    permissions: [...stored.permissions],
    use_cases: stored.use_cases.map((use) => ({ id: use })),
  }
}

const ofFindings = ({
  integration: { id, name = id, status = 'Healthy' },
  vendor,
  created,
  updated,
}: Seen): Integration => ({
  ...NOTHING,
  id,
  name,
  application: named(vendor),
  is_paused: false,
  status,
  created,
  updated,
  last_hydrated: updated,
  dlp_profiles: [],
  permissions: [],
  use_cases: [],
})

const listed = ({
  id,
  application,
  created,
  is_paused,
  name,
  status,
  updated,
}: Integration): Static<typeof ListedIntegration> => ({
  id,
  application,
  created,
  is_paused,
  name,
  status,
  updated,
})
