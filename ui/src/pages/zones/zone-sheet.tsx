import { useState } from 'react'
import { get, patch, placed, remove } from '../../api/client.ts'
import { useRead, useWork } from '../../api/queries.ts'
import { To } from '../../address.tsx'
import type { Zone } from '../../api/types.ts'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { CheckField, SelectField, TextField } from '../../parts/fields.tsx'
import { CopyButton, Facts, FromFile } from '../../parts/panel.tsx'
import { Sheet, SheetBody, SheetForm } from '../../parts/sheet.tsx'
import { Shown } from '../../parts/states.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { zoneYaml, type ZoneSetting } from './zone-yaml.ts'
import { ORIGIN_HINT } from './zone.ts'

interface Details extends Zone {
  readonly plan: { readonly id: string; readonly name: string }
  readonly edged?: { readonly source?: 'file' | 'api'; readonly origin?: string | null }
}

/** Details of a zone. Zones of the API can be changed and deleted, those of the file are read-only. */
export function ZoneSheet({ zone, onClose }: { zone: Zone; onClose: () => void }) {
  const read = useRead<Details>(`/zones/${zone.id}`)
  const { may } = usePlace()
  const value = read.value
  if (!value)
    return (
      <Sheet title={zone.name} onClose={onClose}>
        <SheetBody>
          <Shown read={read} what="the zone">
            {() => null}
          </Shown>
        </SheetBody>
      </Sheet>
    )
  const isOfFile = value.edged?.source === 'file' || (value.edged_source ?? null) !== null
  if (!isOfFile && may('Zone Write')) return <ZoneForm zone={value} onClose={onClose} />
  return (
    <Sheet title={zone.name} onClose={onClose}>
      <SheetBody>
        <Facts
          rows={[
            ['Id', <code key="id">{value.id}</code>],
            ['Plan', value.plan.name],
            ['State', value.paused ? 'Paused: requests pass without rules, cache and Markdown' : 'Active'],
            [
              'Defined in',
              value.edged_source ? (
                <FromFile key="file" source={value.edged_source} />
              ) : isOfFile ? (
                'the configuration file'
              ) : (
                'the API'
              ),
            ],
          ]}
        />
        <p>
          <To to={{ scope: 'z', place: zone.name, page: 'overview' }}>Open {zone.name}</To>
        </p>
      </SheetBody>
    </Sheet>
  )
}

const PLANS = [
  ['free', 'Free: no Markdown'],
  ['pro', 'Pro'],
  ['business', 'Business'],
  ['enterprise', 'Enterprise'],
] as const

function ZoneForm({ zone, onClose }: { zone: Details; onClose: () => void }) {
  const [origin, setOrigin] = useState(zone.edged?.origin ?? '')
  const [plan, setPlan] = useState(zone.plan.id)
  const [isPaused, setPaused] = useState(zone.paused ?? false)
  const confirm = useConfirm()
  const toast = useToast()
  const save = useWork(async () => {
    await patch(`/zones/${zone.id}`, {
      paused: isPaused,
      edged: { plan, ...(origin.trim() !== '' && { origin: origin.trim() }) },
    })
    toast(`${zone.name} is saved.`)
    onClose()
  })
  const removal = useWork(async () => {
    await remove(`/zones/${zone.id}`)
    toast(`${zone.name} is deleted.`)
    onClose()
  })
  const errors = placed(save.failure, ['/edged/origin', '/edged/plan'])
  const ask = async (): Promise<void> => {
    const isSure = await confirm({
      title: `Delete zone ${zone.name}?`,
      text: 'Its rules, settings, log jobs and history go with it. Requests for its names get 404 from now on.',
      verb: 'Delete zone',
      typed: zone.name,
    })
    if (isSure) removal.start()
  }
  const isDirty = origin !== (zone.edged?.origin ?? '') || plan !== zone.plan.id || isPaused !== (zone.paused ?? false)
  return (
    <Sheet
      title={zone.name}
      onClose={onClose}
      isDirty={isDirty}
      actions={
        <>
          <CopyButton
            label="Copy as YAML"
            text={async () => zoneYaml(zone, await get<readonly ZoneSetting[]>(`/zones/${zone.id}/edged/settings`))}
          />
          <Button kind="danger" size="small" icon="trash" busy={removal.busy} onClick={() => void ask()}>
            Delete
          </Button>
        </>
      }
    >
      <SheetForm
        verb="Save"
        busy={save.busy}
        failure={save.failure}
        rest={errors.rest ?? removal.error}
        onSubmit={() => save.start()}
        onCancel={onClose}
      >
        <TextField
          label="Origin"
          hint={ORIGIN_HINT}
          value={origin}
          onChange={setOrigin}
          error={errors.at('/edged/origin')}
        />
        <SelectField label="Plan" value={plan} options={PLANS} onChange={setPlan} error={errors.at('/edged/plan')} />
        <CheckField
          label="Pause"
          hint="Requests pass to the origin without rules, Markdown, cache and Workers."
          on={isPaused}
          onChange={setPaused}
        />
        <Facts rows={[['Id', <code key="id">{zone.id}</code>]]} />
        <p>
          <To to={{ scope: 'z', place: zone.name, page: 'overview' }}>Open {zone.name}</To>
        </p>
      </SheetForm>
    </Sheet>
  )
}
