import { useState } from 'preact/hooks'
import { post } from '../api.ts'
import { useWork } from '../hooks.ts'
import { Badge, Panel, Problem, TextField } from '../parts.tsx'
import { usePlace } from '../place.ts'

interface Step {
  readonly type?: string
  readonly step_name?: string
  readonly name?: string
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

/** Which rules a request meets. Nothing is sent. */
export function Trace() {
  const { ofAccount, zone } = usePlace()
  const [url, setUrl] = useState(`http://${zone!.name}/`)
  const [method, setMethod] = useState('GET')
  const [traced, setTraced] = useState<Traced>()
  const { busy, error, run } = useWork()
  return (
    <Panel title="Trace a request">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault()
          run(async () => setTraced(await post<Traced>(`${ofAccount}/request-tracer/trace`, { method, url })))
        }}
      >
        <TextField label="Method" value={method} onInput={setMethod} required />
        <TextField label="URL" value={url} onInput={setUrl} required />
        <button type="submit" aria-disabled={busy}>
          Trace
        </button>
      </form>
      <Problem text={error} />
      <div aria-live="polite">
        {traced && (
          <>
            <p>
              {traced.status_code === undefined
                ? 'A rule closes the connection.'
                : traced.status_code === 200
                  ? 'No rule responds: the request goes on.'
                  : `A rule responds with ${traced.status_code}.`}
            </p>
            <Steps steps={traced.trace} />
          </>
        )}
      </div>
    </Panel>
  )
}

const Steps = ({ steps }: { steps: readonly Step[] }) => (
  <ul>
    {steps.map((step, at) => (
      <li key={at}>
        <Badge good={step.matched ? true : undefined}>{step.matched ? 'matched' : 'not matched'}</Badge> {step.type}{' '}
        {step.name ?? step.step_name} {step.action} {step.description}{' '}
        {step.expression && <code>{step.expression}</code>}
        {step.trace && step.trace.length > 0 && <Steps steps={step.trace} />}
      </li>
    ))}
  </ul>
)
