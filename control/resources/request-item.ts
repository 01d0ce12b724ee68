import { Type, type Static } from 'typebox'
import type { RequestRecord } from '../../src/core/model/requests/request-record.js'
import type { RequestCoverage, RequestReader } from '../../src/core/model/requests/request-reader.js'
import type { ControlDeps } from '../http/context.js'

/** Dependencies of endpoints that read the last requests of zones. */
export interface RequestsDeps extends ControlDeps {
  readonly requests: () => RequestReader
}

const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const count = (description: string) => Type.Integer({ minimum: 0, description })

/** Members of a request in a list. */
export const ITEM = {
  ray_id: Type.String({ description: 'As in the field cf-ray of its response.' }),
  at: Type.String({ format: 'date-time', description: 'When it arrived.' }),
  method: Type.String(),
  host: Type.String(),
  path: Type.String({ description: 'As the client sent it, without query string.' }),
  query: Type.String({ description: 'Begins with `?`. Empty without one, and if query strings are not kept.' }),
  status: Type.Integer({ description: 'Of the response that the client got; 499 if it left before.' }),
  cache_status: orNull('As in the field cf-cache-status. Null if the cache had no part in it.'),
  markdown: Type.Union([Type.Enum(['converted', 'refused', 'failed']), Type.Null()], {
    description: 'What became of a page that was asked for as Markdown. Null if none was.',
  }),
  agent: orNull('Name of the agent that sent it. Null for other clients.'),
  agent_verified: Type.Union([Type.Enum(['none', 'address', 'signature']), Type.Null()], {
    description: 'How it was verified that the agent is who it says. Null without an agent.',
  }),
  client_ip: Type.String({ description: 'With `history.anonymise` its last part is zero.' }),
  country: orNull('Two capital letters. Null if it is not known.'),
  bytes: count('Bytes of the body that the client got.'),
  duration_ms: Type.Number({ description: 'From the first byte of the request to the last byte of the response.' }),
  sample_interval: Type.Integer({ minimum: 1, description: 'The request stands for this number of requests.' }),
}
export const RequestItem = Type.Object(ITEM)

/** Where the requests of a response come from. */
export const Coverage = Type.Object(
  {
    machines: Type.Integer({ minimum: 1, description: 'Machines whose requests it has, with this one.' }),
    missing: Type.Array(Type.String(), {
      description: 'Machines that did not answer within 5 s, or that take no connections of other machines.',
    }),
  },
  { description: 'Requests of all processes of these machines.' },
)

/** Returns the coverage of a response. */
export const coverageOf = ({ machines, missing }: RequestCoverage): Static<typeof Coverage> => ({
  machines,
  missing: [...missing],
})

/** Returns a record as lists show it. */
export const requestItem = (record: RequestRecord): Static<typeof RequestItem> => ({
  ray_id: record.ray,
  at: new Date(record.at).toISOString(),
  method: record.method,
  host: record.host,
  path: record.path,
  query: record.query ?? '',
  status: record.status,
  cache_status: record.cache ?? null,
  markdown: record.markdown ?? null,
  agent: record.agent?.name ?? null,
  agent_verified: record.agent?.verified ?? null,
  client_ip: record.ip,
  country: record.country ?? null,
  bytes: record.bytes,
  duration_ms: record.ms,
  sample_interval: record.n ?? 1,
})
