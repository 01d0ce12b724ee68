import { Type } from 'typebox'
import {
  NORMALIZATION,
  TRANSFORM_ID as id,
  URL_NORMALIZATION,
  type UrlNormalization,
} from '../../src/core/model/transforms.js'
import { strict } from '../../src/core/schema.js'
import { area } from '../http/area.js'
import { type Call } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'
import { auditOf } from '../resources/audit.js'

const Normalization = Type.Object(
  {
    scope: Type.Enum(['none', 'incoming', 'both'], {
      description: 'incoming: rules and Workers see the normalized path. both: the origin gets it too.',
    }),
    type: Type.Enum(['cloudflare', 'rfc3986'], {
      description: 'cloudflare: also backslashes become slashes, and slashes in a row become one.',
    }),
  },
  strict,
)

const rows = area({ scopes: ['zone'], access: ACCESS.urlNormalization }, ({ store, clock }: ControlDeps) => {
  const change = async (
    call: Pick<Call, 'scope' | 'caller' | 'requestId' | 'source'>,
    next: UrlNormalization | undefined,
  ) => {
    const { scope } = call
    const entry = auditOf(clock, call, { action: 'update', kind: URL_NORMALIZATION, scope, id })
    await store.change(URL_NORMALIZATION, scope, id, () => next, entry)
    return next ?? NORMALIZATION
  }
  return { store, change }
})

/** How the paths of requests to a zone are normalized. */
export const urlNormalization = rows.endpoints([
  rows.get('/url_normalization', {
    result: Normalization,
    summary: 'Read how the paths of requests are normalized',
    handle: ({ store }, { scope }) => store.get(URL_NORMALIZATION, scope, id)?.value ?? NORMALIZATION,
  }),
  rows.put('/url_normalization', {
    result: Normalization,
    summary: 'Set how the paths of requests are normalized',
    body: Normalization,
    handle: async ({ change }, call) => await change(call, call.body),
  }),
  rows.delete('/url_normalization', {
    result: Normalization,
    summary: 'Return to the default: scope incoming, type cloudflare',
    handle: async ({ change }, call) => await change(call, undefined),
  }),
])
