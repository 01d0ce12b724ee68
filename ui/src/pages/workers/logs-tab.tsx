import { useState } from 'react'
import { post } from '../../api/client.ts'
import { useLive } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { clock, ms } from '../../parts/format.ts'
import { LiveBar } from '../../parts/live-records.tsx'
import { Panel, State } from '../../parts/panel.tsx'
import { eventName, linesOf, readTrace, type Script, type Trace } from './worker.ts'
import styles from './workers.module.css'

/** Calls of a Worker as they come, with their console and their errors. */
export function LogsTab({ script, path }: { script: Script; path: string }) {
  const [isOn, setOn] = useState(true)
  const live = useLive(isOn ? path : undefined, async () => {
    const { url } = await post<{ url: string }>(`${path}/tails`, {})
    return { url, protocol: 'trace-v1' }
  })
  return (
    <Panel
      title="Calls as they come"
      actions={
        !isOn && (
          <Button size="small" onClick={() => setOn(true)}>
            Start
          </Button>
        )
      }
    >
      <LiveBar live={live} what="call" onStop={() => setOn(false)} />
      {live.lines.length === 0 && isOn && live.state !== 'ended' && (
        <p className="soft">No call yet. Calls of {script.id} show here as they come.</p>
      )}
      {live.lines.length > 0 && (
        <ul className={styles['calls']} aria-label="Live calls" tabIndex={0}>
          {live.lines.map(({ id, at, text }) => (
            <li key={id} className={styles['call']}>
              <Call trace={readTrace(text)} at={at} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Call({ trace, at }: { trace: Trace; at: number }) {
  const lines = linesOf(trace)
  const isGood = trace.outcome === 'ok'
  const error = trace.exceptions?.[0]
  const status = trace.event?.response?.status
  return (
    <details>
      <summary>
        <span className="num">{clock(trace.eventTimestamp ?? at)}</span>
        <State tone={isGood ? 'ok' : 'bad'}>
          {trace.outcome ?? '–'}
          {status === undefined ? '' : ` ${status}`}
        </State>
        <span>
          {eventName(trace)}
          {error && ` · ${error.name}: ${error.message}`}
          {!error && lines.length > 0 && <span className="soft"> · {lines[0]}</span>}
        </span>
        <span className="soft num">{trace.wallTime === undefined ? '' : ms(Math.round(trace.wallTime))}</span>
      </summary>
      <pre tabIndex={0}>{lines.length > 0 ? lines.join('\n') : 'Nothing was written to the console.'}</pre>
    </details>
  )
}
