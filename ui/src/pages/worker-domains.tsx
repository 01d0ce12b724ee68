import { useState } from 'preact/hooks'
import { placed, remove, sendWhole } from '../api.ts'
import { useRead, useWork } from '../hooks.ts'
import { Choice, Loaded, Panel, Problem, TextField } from '../parts.tsx'
import { usePlace } from '../place.ts'
import { Table } from '../table.tsx'

interface Domain {
  readonly id: string
  readonly hostname: string
  readonly service: string
  readonly zone_name: string
}

/** Host names that Workers respond to. `scripts`: names of the Workers. */
export function Domains({ scripts }: { scripts: readonly string[] }) {
  const { ofAccount } = usePlace()
  const domains = useRead<readonly Domain[]>(`${ofAccount}/workers/domains`, 15_000)
  const { busy, error, run } = useWork()
  const adding = useWork()
  const { at, rest } = placed(adding.failure, ['/hostname'])
  const [hostname, setHostname] = useState('')
  const [chosen, setChosen] = useState('')
  const [notice, setNotice] = useState('')
  const service = scripts.includes(chosen) ? chosen : scripts[0]
  return (
    <Panel title="Custom domains">
      {service !== undefined && (
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault()
            adding.run(async () => {
              const { messages } = await sendWhole('PUT', `${ofAccount}/workers/domains`, { hostname, service })
              setNotice(messages.map(({ message }) => message).join('; '))
              setHostname('')
              domains.reload()
            })
          }}
        >
          <TextField
            label="Host name of the Worker"
            hint="In a zone of the account."
            value={hostname}
            onInput={setHostname}
            error={at('/hostname')}
            required
          />
          <Choice label="Worker" value={service} options={scripts.map((name) => [name, name])} onChange={setChosen} />
          <button type="submit" aria-disabled={adding.busy}>
            Add the domain
          </button>
        </form>
      )}
      <p aria-live="polite">{adding.error === undefined && notice}</p>
      <Problem text={rest ?? error} />
      <Loaded read={domains}>
        {(list) => (
          <Table
            caption="Custom domains"
            rows={list}
            keyOf={({ id }) => id}
            textOf={({ hostname, service }) => `${hostname} ${service}`}
            empty="No custom domains. With one, a Worker responds at a host name of a zone; it needs a script."
            columns={[
              ['Domain', ({ hostname }) => hostname],
              ['Worker', ({ service }) => service],
              ['Zone', ({ zone_name: zone }) => zone],
              [
                '',
                ({ id, hostname }) => (
                  <button
                    type="button"
                    aria-disabled={busy}
                    aria-label={`Remove ${hostname}`}
                    onClick={() =>
                      confirm(`Remove ${hostname}?`) &&
                      run(async () => {
                        await remove(`${ofAccount}/workers/domains/${id}`)
                        domains.reload()
                      })
                    }
                  >
                    Remove
                  </button>
                ),
              ],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}
