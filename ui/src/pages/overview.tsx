import { Chart } from '../chart.tsx'
import { useRead } from '../hooks.ts'
import { Badge, bytes, Loaded, Panel, percent, Time } from '../parts.tsx'
import { Table } from '../table.tsx'
import { usePlace } from '../place.ts'

interface Totals {
  readonly requests: number
  readonly client_errors: number
  readonly server_errors: number
  readonly markdown: number
  readonly cache_hits: number
  readonly bytes: number
}
interface Origin {
  readonly url: string
  readonly state: 'up' | 'down' | 'unknown' | 'missing'
  readonly since: string | null
  readonly last_error: string | null
  readonly backup: boolean
  readonly requests_in_flight: number
}
interface ZoneTraffic extends Totals {
  readonly id: string
  readonly name: string
  readonly origins: readonly Origin[]
}
interface OverviewResult {
  readonly version: string
  readonly started_at: string
  readonly zones: readonly ZoneTraffic[]
  readonly points: readonly (Totals & { readonly at: string })[]
}

const STATES = { up: 'up', down: 'down', unknown: 'not asked yet', missing: 'no origin' }
/** Undefined: neither good nor bad. */
const GOOD = { up: true, down: false, unknown: undefined, missing: undefined }

const total = (zones: readonly ZoneTraffic[], member: keyof Totals): number =>
  zones.reduce((sum, zone) => sum + zone[member], 0)

/** Traffic of all zones of the account, and the health of their origins. */
export function Overview() {
  const { ofAccount } = usePlace()
  const read = useRead<OverviewResult>(`${ofAccount}/edged/overview`, 5000)
  return <Loaded read={read}>{(found) => <Found {...found} />}</Loaded>
}

function Found({ zones, points, version, started_at: started }: OverviewResult) {
  const requests = total(zones, 'requests')
  const origins = zones.flatMap(({ name, origins }) => origins.map((origin) => ({ zone: name, ...origin })))
  return (
    <>
      <dl class="cards">
        <Card title="Requests" value={requests.toLocaleString()} />
        <Card title="Errors (5xx)" value={total(zones, 'server_errors').toLocaleString()} />
        <Card title="Markdown" value={percent(total(zones, 'markdown'), requests)} />
        <Card title="Cache hits" value={percent(total(zones, 'cache_hits'), requests)} />
        <Card title="Sent" value={bytes(total(zones, 'bytes'))} />
      </dl>
      <Panel title="Requests per second, last hour">
        <Chart title="Requests per second" {...rates(points)} />
      </Panel>
      <Panel title="Markdown and cache hits in % of the requests, last hour">
        <Chart title="Percent of the requests" {...shares(points)} />
      </Panel>
      <Panel title="Zones">
        <Table
          caption="Zones"
          keyOf={({ id }) => id}
          textOf={({ name }) => name}
          rows={zones}
          empty="This account has no zone."
          columns={[
            ['Zone', ({ name }) => name],
            ['Requests', (zone) => zone.requests.toLocaleString()],
            ['4xx', (zone) => zone.client_errors.toLocaleString()],
            ['5xx', (zone) => zone.server_errors.toLocaleString()],
            ['Markdown', (zone) => percent(zone.markdown, zone.requests)],
            ['Cache hits', (zone) => percent(zone.cache_hits, zone.requests)],
            ['Sent', (zone) => bytes(zone.bytes)],
          ]}
        />
      </Panel>
      <Panel title="Origins">
        <Table
          caption="Origins"
          textOf={({ zone, url }) => `${zone} ${url}`}
          rows={origins}
          empty="No origin."
          columns={[
            ['Zone', ({ zone }) => zone],
            ['Origin', ({ url, backup }) => `${url || '-'}${backup ? ' (backup)' : ''}`],
            ['Health', ({ state }) => <Badge good={GOOD[state]}>{STATES[state]}</Badge>],
            ['Since', ({ since }) => (since === null ? '-' : <Time at={since} />)],
            ['Last error', ({ last_error: error }) => error ?? '-'],
            ['In flight', (origin) => origin.requests_in_flight],
          ]}
        />
      </Panel>
      <p class="soft">
        edged {version}, running since <Time at={started} />. Counts begin at the start.
      </p>
    </>
  )
}

const Card = ({ title, value }: { title: string; value: string }) => (
  <div>
    <dt>{title}</dt>
    <dd>{value}</dd>
  </div>
)

const stepsOf = (points: OverviewResult['points']) =>
  points.slice(1).map((point, i) => ({
    before: points[i]!,
    point,
    seconds: Math.max((Date.parse(point.at) - Date.parse(points[i]!.at)) / 1000, 1),
  }))

/** Returns what share of the requests between neighbouring points was Markdown or came from the cache, in percent. */
function shares(points: OverviewResult['points']) {
  const steps = stepsOf(points)
  const share = (member: keyof Totals) =>
    steps.map(({ before, point }) => {
      const requests = point.requests - before.requests
      return requests > 0 ? (100 * Math.max(point[member] - before[member], 0)) / requests : 0
    })
  return {
    times: steps.map(({ point }) => Date.parse(point.at) / 1000),
    lines: [
      { label: 'Markdown', color: '--good', values: share('markdown') },
      { label: 'Cache hits', color: '--accent', values: share('cache_hits') },
    ],
  }
}

/** Returns the differences of neighbouring points, per second. */
function rates(points: OverviewResult['points']) {
  const steps = stepsOf(points)
  const rate = (member: keyof Totals) =>
    steps.map(({ before, point, seconds }) => Math.max(point[member] - before[member], 0) / seconds)
  return {
    times: steps.map(({ point }) => Date.parse(point.at) / 1000),
    lines: [
      { label: 'Requests', color: '--accent', values: rate('requests') },
      { label: 'Markdown', color: '--good', values: rate('markdown') },
      { label: 'Errors (5xx)', color: '--bad', values: rate('server_errors') },
    ],
  }
}
