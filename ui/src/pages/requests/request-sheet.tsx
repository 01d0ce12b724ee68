import { To, useAddress, useGo } from '../../address.tsx'
import { useRead, type Read } from '../../api/queries.ts'
import { bytes, categoryName, ms, when } from '../../parts/format.ts'
import { Badge, CopyButton, Facts, type Tone } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Empty, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { exactTime, toneOf, Verified } from './list.tsx'
import { asCurl, cacheText, ruleFor } from './request-texts.ts'
import type { RequestDetail } from './types.ts'
import { Waterfall } from './waterfall.tsx'
import styles from './requests.module.css'

const NOT_FOUND = 404

/** One request: where its time went, what acted on it, and what can be made from it. */
export function RequestSheet({ ray }: { ray: string }) {
  const { ofZone } = usePlace()
  const { search } = useAddress()
  const go = useGo()
  const read = useRead<RequestDetail>(`${ofZone}/edged/requests/${encodeURIComponent(ray)}`)
  const found = read.value
  const title = found ? `${found.method} ${found.host}${found.path} · ${found.status}` : `Request ${ray}`
  return (
    <Sheet title={title} wide onClose={() => go({ search })}>
      <SheetBody>
        {read.status === NOT_FOUND ? (
          <NotKept read={read} ray={ray} />
        ) : (
          <Shown read={read} what="the request">
            {(request) => <Detail request={request} />}
          </Shown>
        )}
      </SheetBody>
      {found && <Foot request={found} />}
    </Sheet>
  )
}

function NotKept({ read, ray }: { read: Read<unknown>; ray: string }) {
  const from = read.issues?.[0]?.meta?.['kept_from']
  return (
    <Empty
      title="Not kept"
      text={
        typeof from === 'string' ? (
          <>
            Request <code>{ray}</code> was sampled out, is older than {when(from)}, or belongs to another zone.
          </>
        ) : (
          'No request of this zone is kept.'
        )
      }
      docs="history.html"
    />
  )
}

function Detail({ request }: { request: RequestDetail }) {
  return (
    <div className={styles['detail']}>
      <p className={styles['summary']}>
        <Badge tone={toneOf(request.status) as Tone}>{request.status}</Badge>
        <strong>{ms(request.duration_ms)}</strong>
        <span className="soft" title={request.at}>
          {exactTime(request.at)}
        </span>
        <span className={styles['ray']}>
          Ray <code>{request.ray_id}</code> <CopyButton text={request.ray_id} label="Copy ray id" />
        </span>
      </p>
      <section>
        <h3>Where the time went</h3>
        <Waterfall phases={request.phases} total={request.duration_ms} />
      </section>
      <Acted request={request} />
      <section>
        <h3>Facts</h3>
        <Facts rows={factsOf(request)} />
      </section>
      <Fields title="Request fields" fields={request.fields.request} />
      <Fields title="Response fields" fields={request.fields.response} />
    </div>
  )
}

/** Statuses of an agent whose access is refused, or that has to pay. */
const REFUSED = [402, 403]
/** Actions of rules that do not respond. */
const PASSING = ['log', 'skip', 'score', 'rewrite', 'route', 'set_config', 'set_cache_settings']

/** Whether edged responded by itself because of the access of the agent: no rule, no Worker and no origin did. */
const isByAccess = ({ agent, status, rules, origin, worker }: RequestDetail): boolean =>
  agent !== null &&
  REFUSED.includes(status) &&
  origin === null &&
  worker === null &&
  rules.every(({ action }) => PASSING.includes(action))

function Acted({ request }: { request: RequestDetail }) {
  const { rules, agent } = request
  const isOfAgent = isByAccess(request)
  return (
    <section>
      <h3>{isOfAgent ? 'What acted' : 'Rules that acted'}</h3>
      {isOfAgent && (
        <p>
          <To to={{ page: 'agents', rest: [agent!] }}>The access of {agent}</To> refused the request.
        </p>
      )}
      {rules.length === 0 && !isOfAgent ? (
        <p className="soft">None.</p>
      ) : (
        <ul className={styles['acted']}>
          {rules.map(({ rule_id: id, phase, name, action }) => (
            <li key={id}>
              <To to={{ page: 'rules', rest: [phase, id] }}>{name === '' ? id : name}</To>{' '}
              <span className="soft">{phase.replace(/^http_(request_|response_)?/, '').replaceAll('_', ' ')}</span>{' '}
              <Badge>{action.replaceAll('_', ' ')}</Badge>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function factsOf(request: RequestDetail) {
  const { origin, worker, agent, agent_verified: verified, country, markdown, sample_interval: every } = request
  const tries = origin && origin.tries > 1 ? `, try ${origin.tries}` : ''
  return [
    [
      'URL',
      <>
        {request.scheme}://{request.host}
        {request.path}
        {request.query}
        <br />
        <To to={{ search: { path: request.path } }}>Only this path</To> ·{' '}
        <To to={{ search: { host: request.host } }}>Only this host</To>
      </>,
    ],
    [
      'Client',
      <>
        {request.client_ip} {country}
      </>,
    ],
    agent === null
      ? undefined
      : ([
          'Agent',
          <>
            {agent} {verified !== 'none' && <Verified by={verified!} />}{' '}
            <span className="soft">
              {request.agent_operator}, {request.agent_category !== null && categoryName(request.agent_category)}
              {verified === 'none' && ', not verified'}
            </span>
          </>,
        ] as const),
    origin === null
      ? undefined
      : (['Origin', `${origin.url} answered ${origin.status === 0 ? 'nothing' : origin.status}${tries}`] as const),
    worker === null ? undefined : (['Worker', worker] as const),
    ['Cache', cacheText(request.cache_status, request.cache_reason)],
    markdown === null ? undefined : (['Markdown', markdown] as const),
    ['Size', bytes(request.bytes)],
    ['HTTP', request.http_version],
    every === 1 ? undefined : (['Stands for', `${every} requests like it`] as const),
  ] as const
}

const Fields = ({ title, fields }: { title: string; fields: Readonly<Record<string, string>> }) => (
  <section>
    <h3>{title}</h3>
    {Object.keys(fields).length === 0 ? (
      <p className="soft">None is kept.</p>
    ) : (
      <div className={styles['fields']}>
        <Facts rows={Object.entries(fields)} />
      </div>
    )}
  </section>
)

function Foot({ request }: { request: RequestDetail }) {
  const { may } = usePlace()
  const phase = 'http_request_firewall_custom'
  const { scheme, host, path, query, method, client_ip: ip, country } = request
  return (
    <footer className={styles['foot']}>
      {(may('Account WAF Write') || may('Account Rulesets Write')) && (
        <To
          className={styles['linkButton']}
          to={{ page: 'rules', rest: [phase, 'new'], search: { expression: ruleFor(request) } }}
        >
          Make a rule from this
        </To>
      )}
      <To
        className={styles['linkButton']}
        to={{
          page: 'rules',
          rest: [phase],
          search: {
            trace_url: `${scheme}://${host}${path}${query}`,
            trace_method: method,
            trace_ip: ip,
            trace_country: country ?? undefined,
          },
        }}
      >
        Trace
      </To>
      <To className={styles['linkButton']} to={{ page: 'markdown', search: { url: path + query } }}>
        See as Markdown
      </To>
      <CopyButton text={() => asCurl(request)} label="Copy as curl" size="normal" />
    </footer>
  )
}
