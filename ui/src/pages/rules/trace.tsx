import { useEffect, useRef, useState } from 'react'
import { To, useParam } from '../../address.tsx'
import { placed, post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField, Row, SelectField, TextArea, TextField } from '../../parts/fields.tsx'
import { Badge, Panel, State } from '../../parts/panel.tsx'
import { usePlace } from '../../place.tsx'
import { actionName, phaseNamed } from './phases.ts'
import styles from './rules.module.css'

interface Step {
  readonly type?: string
  readonly step_name?: string
  readonly kind?: string
  readonly description?: string
  readonly matched?: boolean
  readonly action?: string
  readonly expression?: string
  readonly trace?: readonly Step[]
}

interface Traced {
  readonly status_code?: number
  readonly trace: readonly Step[]
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((name) => [name, name] as const)
const MEMBERS = ['/url', '/method', '/headers', '/body', '/context/geoloc', '/context/client_ip']

/** Which rules a request meets, phase by phase. Nothing is sent to an origin. */
export function Trace() {
  const { ofAccount, zone } = usePlace()
  const [givenUrl] = useParam('trace_url')
  const [givenMethod] = useParam('trace_method', 'GET')
  const [givenIp] = useParam('trace_ip')
  const [givenCountry] = useParam('trace_country')
  const [url, setUrl] = useState(givenUrl || (zone ? `http://${zone.name}/` : ''))
  const [method, setMethod] = useState(givenMethod)
  const [ip, setIp] = useState(givenIp)
  const [country, setCountry] = useState(givenCountry)
  const [fields, setFields] = useState('')
  const [body, setBody] = useState('')
  const [isHuman, setHuman] = useState(false)
  const work = useWork<void, Traced>(
    async () =>
      await post<Traced>(`${ofAccount}/request-tracer/trace`, {
        url,
        method,
        headers: fieldsOf(fields),
        ...(body !== '' && { body: { plain_text: body } }),
        context: {
          ...(ip !== '' && { client_ip: ip }),
          ...(country !== '' && { geoloc: { iso_code: country.toUpperCase() } }),
          ...(isHuman && { skip_challenge: true }),
        },
      }),
    [],
  )
  const [traced, setTraced] = useState<Traced>()
  const run = (): void => void work.run().then(setTraced, () => setTraced(undefined))
  // A link from a request has all that the trace needs.
  const isFirst = useRef(givenUrl !== '')
  useEffect(() => {
    if (isFirst.current) run()
    isFirst.current = false
  })
  const errors = placed(work.failure, MEMBERS)
  return (
    <Panel title="Trace a request">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          run()
        }}
      >
        <div className={styles['traceHead']}>
          <SelectField
            label="Method"
            value={method}
            options={METHODS}
            onChange={setMethod}
            error={errors.at('/method')}
          />
          <TextField label="URL" value={url} onChange={setUrl} required error={errors.at('/url')} />
        </div>
        <details open={ip !== '' || country !== ''}>
          <summary>Header fields, body and client</summary>
          <div className="stack">
            <TextArea
              label="Header fields"
              hint="Name: value, one per line"
              value={fields}
              onChange={setFields}
              error={errors.at('/headers')}
            />
            <TextArea label="Body" value={body} onChange={setBody} error={errors.at('/body')} />
            <Row>
              <TextField label="IP address" value={ip} onChange={setIp} error={errors.at('/context/client_ip')} />
              <TextField
                label="Country"
                placeholder="DE"
                value={country}
                onChange={setCountry}
                error={errors.at('/context/geoloc')}
              />
            </Row>
            <CheckField label="The client has passed each challenge" on={isHuman} onChange={setHuman} />
          </div>
        </details>
        <div>
          <Button type="submit" kind="primary" busy={work.busy}>
            Trace
          </Button>
        </div>
      </form>
      {errors.rest !== undefined && (
        <p className="bad" role="alert">
          {errors.rest}
        </p>
      )}
      <div aria-live="polite">{traced && <Result traced={traced} />}</div>
    </Panel>
  )
}

/** Returns `Name: value` lines as an object. */
function fieldsOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    }),
  )
}

const OK = 200

function Result({ traced: { status_code: status, trace } }: { traced: Traced }) {
  return (
    <>
      <p>
        {status === undefined
          ? 'A rule closes the connection.'
          : status === OK
            ? 'No rule responds: the request goes on to the origin.'
            : `A rule responds with ${status}.`}
      </p>
      {trace.length === 0 && <p className="soft">No phase has rules for this host.</p>}
      <ol className={styles['ladder']} aria-label="Phases in their order">
        {trace.map((phase, at) => (
          <PhaseStep key={at} phase={phase} />
        ))}
      </ol>
    </>
  )
}

function PhaseStep({ phase }: { phase: Step }) {
  const name = phase.step_name ?? ''
  const rules = (phase.trace ?? []).flatMap((ruleset) => rulesOf(ruleset, ruleset.kind === 'root'))
  const matched = rules.filter(({ step }) => step.matched)
  return (
    <li>
      <div className={styles['rung']}>
        <strong>{phaseNamed(name).title}</strong>
        {matched.length > 0 ? (
          <State tone="ok">{matched.length === 1 ? '1 rule matched' : `${matched.length} rules matched`}</State>
        ) : (
          <State tone="off">{rules.length} compared, none matched</State>
        )}
      </div>
      {matched.map(({ step, isOfAccount }, at) => (
        <div key={at} className={styles['matched']}>
          {isOfAccount ? (
            <span>{step.description || 'Rule of the account'}</span>
          ) : (
            <To to={{ page: 'rules', rest: [name, step.step_name ?? ''] }}>
              {step.description || 'Rule without a name'}
            </To>
          )}
          <Badge tone="info">{actionName(step.action ?? '')}</Badge>
          <code className={styles['expression']}>{step.expression}</code>
        </div>
      ))}
    </li>
  )
}

/** Returns the rules of a step and of the rulesets that its rules run. */
function rulesOf(step: Step, isOfAccount: boolean): readonly { step: Step; isOfAccount: boolean }[] {
  const below = (step.trace ?? []).flatMap((one) => rulesOf(one, isOfAccount))
  return step.type === 'rule' ? [{ step, isOfAccount }, ...below] : below
}
