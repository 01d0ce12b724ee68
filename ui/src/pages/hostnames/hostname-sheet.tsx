import { useState } from 'react'
import { patch, placed, post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { CheckField, TextField } from '../../parts/fields.tsx'
import { Facts } from '../../parts/panel.tsx'
import { Sheet, SheetBody, SheetForm } from '../../parts/sheet.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { isMarked, withMark, type Hostname } from './hostname.ts'

/** A new custom host name, or the details of one. */
export function HostnameSheet({
  hostname,
  mayWrite,
  onClose,
}: {
  hostname: Hostname | undefined
  mayWrite: boolean
  onClose: () => void
}) {
  const { ofZone } = usePlace()
  const toast = useToast()
  const [name, setName] = useState('')
  const [origin, setOrigin] = useState(hostname?.custom_origin_server ?? '')
  const [on, setOn] = useState(hostname ? isMarked(hostname) : true)
  const path = `${ofZone}/custom_hostnames`
  const work = useWork(async () => {
    const given = {
      custom_metadata: withMark(hostname ?? { id: '', hostname: '', status: '' }, on),
      ...(origin.trim() !== '' && { custom_origin_server: origin.trim() }),
    }
    await (hostname ? patch(`${path}/${hostname.id}`, given) : post(path, { hostname: name.trim(), ...given }))
    toast(`${hostname?.hostname ?? name.trim()} is ${hostname ? 'saved' : 'added'}.`)
    onClose()
  }, [path])
  const errors = placed(work.failure, ['/hostname', '/custom_origin_server'])
  const isDirty = name !== '' || origin !== (hostname?.custom_origin_server ?? '')
  const title = hostname?.hostname ?? 'Add host name'
  if (!mayWrite)
    return (
      <Sheet title={title} onClose={onClose}>
        <SheetBody>
          <Facts
            rows={[
              ['Origin', origin || 'of the zone'],
              ['Markdown', on ? 'on' : 'off'],
            ]}
          />
        </SheetBody>
      </Sheet>
    )
  return (
    <Sheet title={title} onClose={onClose} isDirty={isDirty}>
      <SheetForm
        verb={hostname ? 'Save' : 'Add host name'}
        busy={work.busy}
        failure={work.failure}
        rest={errors.rest}
        onSubmit={() => work.start()}
        onCancel={onClose}
      >
        {!hostname && (
          <TextField
            label="Host name"
            placeholder="shop.customer.com"
            required
            value={name}
            onChange={setName}
            error={errors.at('/hostname')}
          />
        )}
        <TextField
          label="Origin"
          hint="A host name of this zone. Empty: the origin of the zone."
          value={origin}
          onChange={setOrigin}
          error={errors.at('/custom_origin_server')}
        />
        <CheckField
          label="Markdown for agents"
          hint="Acts while the setting “Markdown on custom hostnames” leaves it to the metadata."
          on={on}
          onChange={setOn}
        />
      </SheetForm>
    </Sheet>
  )
}
