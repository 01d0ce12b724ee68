import { Type, type TSchema } from 'typebox'
import { SETTING, type Setting } from '../../src/core/model/setting.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { area, type Row, type ServicesOf } from '../http/area.js'
import { ApiResponse, withoutEffect, type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'
import { auditOf } from '../resources/audit.js'

/** A setting of a zone with a path of its own. It is stored and returned, without effect. */
interface CacheSetting {
  readonly path: string
  readonly id: string
  /** For summaries: `Read NAME of a zone`. */
  readonly name: string
  readonly value: TSchema
  readonly initial: unknown
  readonly isCreatable?: true
  readonly isRemovable?: true
  /** It is changed with PUT instead of PATCH. */
  readonly isReplaced?: true
}

const ONOFF = Type.Enum(['on', 'off'])

/** Types of images that have variants, by the ending of their path. */
const IMAGES = ['avif', 'bmp', 'gif', 'jp2', 'jpeg', 'jpg', 'jpg2', 'png', 'tif', 'tiff', 'webp']
const MediaTypes = Type.Array(
  Type.String({
    maxLength: 64,
    pattern: '^image/[a-z0-9.+-]+$',
    'x-message': 'must be a media type of images, as in image/webp',
  }),
  { maxItems: 32, uniqueItems: true },
)
const Variants = Type.Object(Object.fromEntries(IMAGES.map((ending) => [ending, Type.Optional(MediaTypes)])), strict)

const RESERVE = 'cache_reserve'
const CLEAR = 'cache_reserve_clear'

const SETTINGS: readonly CacheSetting[] = [
  { path: '/argo/smart_routing', id: 'smart_routing', name: 'Argo Smart Routing', value: ONOFF, initial: 'off' },
  { path: '/argo/tiered_caching', id: 'tiered_caching', name: 'tiered caching', value: ONOFF, initial: 'off' },
  {
    path: '/cache/tiered_cache_smart_topology_enable',
    id: 'tiered_cache_smart_topology_enable',
    name: 'the smart topology of tiered caching',
    value: ONOFF,
    initial: 'off',
    isCreatable: true,
    isRemovable: true,
  },
  {
    path: '/cache/regional_tiered_cache',
    id: 'tc_regional',
    name: 'regional tiered caching',
    value: ONOFF,
    initial: 'off',
  },
  { path: '/cache/cache_reserve', id: RESERVE, name: 'Cache Reserve', value: ONOFF, initial: 'off' },
  {
    path: '/cache/variants',
    id: 'variants',
    name: 'the variants of images',
    value: Variants,
    initial: {},
    isRemovable: true,
  },
  {
    path: '/cache/origin_post_quantum_encryption',
    id: 'origin_pqe',
    name: 'post-quantum key agreement with origins',
    value: Type.Enum(['preferred', 'supported', 'off']),
    initial: 'off',
    isReplaced: true,
  },
]

const Facts = {
  id: Type.String(),
  editable: Type.Boolean(),
  modified_on: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Null until the API has set a value.',
  }),
}

const Clear = Type.Object({
  id: Type.Literal(CLEAR),
  start_ts: Type.String({ format: 'date-time' }),
  end_ts: Type.String({ format: 'date-time' }),
  state: Type.Literal('Completed', { description: 'At once: nothing is in Cache Reserve here.' }),
  modified_on: Type.String({ format: 'date-time' }),
})

type Services = ServicesOf<typeof rows>
const rows = area(
  { scopes: ['zone'], access: ACCESS.cacheSettings, refusal: 'badSetting' },
  ({ store, clock }: Pick<ControlDeps, 'store' | 'clock'>) => {
    const stored = (scope: Scope, id: string): Setting | undefined => store.get(SETTING, scope, id)?.value
    const set = async (call: Call, id: string, value: unknown): Promise<Setting> => {
      const { scope } = call
      const entry = auditOf(clock, call, { action: 'update', kind: SETTING, scope, id })
      const setting = { value, modified_on: new Date(clock.now()).toISOString() }
      await store.change(SETTING, scope, id, () => (value === undefined ? undefined : setting), entry)
      return setting
    }
    return { stored, set }
  },
)

/** Settings of a zone about tiered caching, Cache Reserve and variants, each with a path of its own. */
export const cacheSettings = rows.endpoints([
  ...SETTINGS.flatMap(endpointsOf),
  rows.get(`/cache/${CLEAR}`, {
    summary: 'Read the state of the last clear of Cache Reserve',
    result: Clear,
    handle({ stored }, { scope }) {
      const last = stored(scope, CLEAR)
      if (!last) throw new ApiError('noReserveClear')
      return cleared(last.modified_on)
    },
  }),
  rows.post(`/cache/${CLEAR}`, {
    summary: 'Clear Cache Reserve. Cache Reserve must be off',
    result: Clear,
    async handle({ stored, set }, call) {
      if (stored(call.scope, RESERVE)?.value === 'on') throw new ApiError('reserveIsOn')
      const { modified_on } = await set(call, CLEAR, 'Completed')
      return new ApiResponse(cleared(modified_on), { messages: withoutEffect(['']) })
    },
  }),
])

const cleared = (at: string) => ({ id: CLEAR, start_ts: at, end_ts: at, state: 'Completed', modified_on: at }) as const

function endpointsOf({ path, id, name, value, initial, ...setting }: CacheSetting): Row<Services>[] {
  const result = Type.Object({ ...Facts, value })
  const change = {
    body: Type.Object({ value }, strict),
    result,
    async handle({ set }: Services, call: Call<string, { readonly value: unknown }>) {
      const { modified_on } = await set(call, id, call.body.value)
      return new ApiResponse(
        { id, value: call.body.value, editable: true, modified_on },
        { messages: withoutEffect(['/value']) },
      )
    },
  }
  return [
    rows.get(path, {
      summary: `Read ${name} of a zone`,
      result,
      handle({ stored }, { scope }) {
        const set = stored(scope, id)
        return { id, value: set ? set.value : initial, editable: true, modified_on: set?.modified_on ?? null }
      },
    }),
    setting.isReplaced
      ? rows.put(path, { summary: `Replace ${name} of a zone`, ...change })
      : rows.patch(path, { summary: `Change ${name} of a zone`, ...change }),
    ...(setting.isCreatable ? [rows.post(path, { summary: `Set ${name} of a zone`, ...change })] : []),
    ...(setting.isRemovable
      ? [
          rows.delete(path, {
            summary: `Return ${name} of a zone to the default`,
            result: Type.Object(Facts),
            async handle({ set }, call) {
              const { modified_on } = await set(call, id, undefined)
              return { id, editable: true, modified_on }
            },
          }),
        ]
      : []),
  ]
}
