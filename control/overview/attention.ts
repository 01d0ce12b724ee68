import { Type } from 'typebox'
import type { Permission } from '../http/permissions.js'
import { ACCESS } from '../http/permissions.js'
import { area } from '../http/area.js'
import { mayUse } from '../http/auth/access.js'
import { whole } from '../http/paging.js'
import type { AttentionItem, OverviewDeps } from './services.js'

const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

/** Permissions to read, by kind. One permission of a kind is enough. */
const READ: Readonly<Record<AttentionItem['kind'], readonly Permission[]>> = {
  job_failing: ACCESS.logpush.read,
  breaker_open: ACCESS.webhooks.read,
  webhook_failing: ACCESS.webhooks.read,
  origin_down: ACCESS.zones.read,
  origin_missing: ACCESS.zones.read,
  certificate_missing: ACCESS.certificates.read,
  certificate_expires: ACCESS.certificates.read,
  worker_exceptions: ACCESS.workers.read,
  file_rules_shadow: ACCESS.rulesets.read,
  spool_nearly_full: ACCESS.logpush.read,
}

const Item = Type.Object({
  kind: Type.Enum(Object.keys(READ)),
  severity: Type.Enum(['error', 'warning']),
  since: orNull('Null if it is not known.'),
  text: Type.String({ description: 'One sentence for people.' }),
  zone_id: orNull('Null for what concerns the account.'),
  object: Type.Object({
    type: Type.String({
      description: 'job, pipeline, webhook, origin, zone, certificate, worker, phase or spool.',
    }),
    id: Type.String(),
    name: Type.String(),
  }),
})

const rows = area<OverviewDeps>({ scopes: ['account', 'zone'], access: { read: [], write: [] } })

/** What somebody should look at now. */
export const attention = rows.endpoints([
  rows.get('/edged/attention', {
    summary: 'List what needs attention: of what the caller may read, errors first',
    result: Type.Array(Item),
    async handle({ overview, config }, { scope, caller, accountId }) {
      const zones = new Map(config().zones.map(({ id, account }) => [id, account]))
      const items = await overview().attention()
      return whole(
        items
          .filter((item) => {
            const { zone_id: zone, account_id: account, kind } = item
            if (scope.type === 'zone') {
              if (zone !== scope.id) return false
            } else if (account !== null && account !== accountId) return false
            if (zone !== null) return mayUse(caller, READ[kind], { account: zones.get(zone) ?? accountId, zone })
            return account === null
              ? mayUse(caller, READ[kind], 'daemon')
              : mayUse(caller, READ[kind], { account: accountId })
          })
          .map(({ account_id: _account, ...item }) => item),
      )
    },
  }),
])
