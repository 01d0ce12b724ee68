import { useState } from 'react'
import { patch, placed, post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { To } from '../../address.tsx'
import type { Zone } from '../../api/types.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField, TextField } from '../../parts/fields.tsx'
import { Code, State } from '../../parts/panel.tsx'
import { Sheet, SheetBody, SheetForm } from '../../parts/sheet.tsx'
import { usePlace } from '../../place.tsx'
import { ORIGIN_HINT } from './zone.ts'

/** Adds a zone: name and origin, then how to send it the first request. */
export function AddZone({ onClose }: { onClose: () => void }) {
  const { account } = usePlace()
  const [name, setName] = useState('')
  const [origin, setOrigin] = useState('')
  const [isConverted, setConverted] = useState(true)
  const [made, setMade] = useState<Zone>()
  const work = useWork(async () => {
    const zone = await post<Zone>('/zones', {
      name: name.trim().toLowerCase(),
      account: { id: account.id },
      edged: { origin: origin.trim() },
    })
    await patch(`/zones/${zone.id}/settings/content_converter`, { value: isConverted ? 'on' : 'off' })
    setMade(zone)
  })
  const errors = placed(work.failure, ['/name', '/edged/origin'])
  if (made) return <Added zone={made} onClose={onClose} />
  return (
    <Sheet title="Add zone" onClose={onClose} isDirty={name !== '' || origin !== ''}>
      <SheetForm
        verb="Add zone"
        busy={work.busy}
        failure={work.failure}
        rest={errors.rest}
        onSubmit={() => work.start()}
        onCancel={onClose}
      >
        <TextField
          label="Host name"
          placeholder="shop.example.com"
          hint="edged serves this name and all names below it."
          required
          value={name}
          onChange={setName}
          error={errors.at('/name')}
        />
        <TextField
          label="Origin"
          placeholder="http://app.example.com:8080"
          hint={ORIGIN_HINT}
          required
          value={origin}
          onChange={setOrigin}
          error={errors.at('/edged/origin')}
        />
        <CheckField
          label="Markdown for agents"
          hint="Agents that ask for text/markdown get the page as Markdown."
          on={isConverted}
          onChange={setConverted}
        />
      </SheetForm>
    </Sheet>
  )
}

/** Asks the new zone for its first page, and says how clients reach it. */
function Added({ zone, onClose }: { zone: Zone; onClose: () => void }) {
  const [status, setStatus] = useState<number>()
  const check = useWork(async () => {
    const tried = await post<{ readonly status: number }>(`/zones/${zone.id}/edged/try`, {
      host: zone.name,
      path: '/',
    })
    setStatus(tried.status)
  }, [])
  return (
    <Sheet title={`${zone.name} is added`} onClose={onClose}>
      <SheetBody>
        <p>Point the DNS record of {zone.name} to this machine. To try it before:</p>
        <Code
          label="Command that tries the zone"
          text={`curl --resolve ${zone.name}:80:${location.hostname} http://${zone.name}/`}
        />
        <div>
          <Button onClick={() => check.start()} busy={check.busy}>
            Check the origin
          </Button>{' '}
          {check.error !== undefined && <State tone="bad">{check.error}</State>}
          {check.error === undefined && status !== undefined && (
            <State tone={status < SERVER_ERROR ? 'ok' : 'bad'}>The first page answered {status}</State>
          )}
        </div>
        <p>
          <To to={{ scope: 'z', place: zone.name, page: 'overview' }}>Open {zone.name}</To>
        </p>
      </SheetBody>
    </Sheet>
  )
}

const SERVER_ERROR = 500
