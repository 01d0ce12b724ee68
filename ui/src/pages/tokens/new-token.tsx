import { useState } from 'react'
import { placed, post } from '../../api/client.ts'
import { useRead, useWork } from '../../api/queries.ts'
import { TextField } from '../../parts/fields.tsx'
import { Sheet, SheetForm } from '../../parts/sheet.tsx'
import { usePlace, useZones } from '../../place.tsx'
import { CheckList } from './check-list.tsx'
import { Secret } from './secret.tsx'
import { resourcesOf, TEMPLATES, type Template } from './token.ts'
import styles from './tokens.module.css'

interface Made {
  readonly id: string
  readonly name: string
  readonly value: string
}

/** A new token in three steps on one sheet: what it may do, for which zones, until when. Then its secret, once. */
export function NewToken({ onClose }: { onClose: () => void }) {
  const { account } = usePlace()
  const zones = useZones()
  const known = useRead<readonly { readonly name: string }[]>('/user/tokens/permission_groups')
  const [template, setTemplate] = useState<Template>(TEMPLATES[0]!)
  const [groups, setGroups] = useState<readonly string[]>(TEMPLATES[0]!.groups)
  const [name, setName] = useState('')
  const [only, setOnly] = useState<readonly string[]>([])
  const [ends, setEnds] = useState('')
  const [made, setMade] = useState<Made>()
  const work = useWork(async () => {
    const policy = {
      effect: 'allow',
      permission_groups: groups.map((group) => ({ name: group })),
      resources: resourcesOf(account.id, only),
    }
    const given = {
      name: name.trim(),
      policies: [policy],
      ...(ends !== '' && { expires_on: new Date(ends).toISOString() }),
    }
    setMade(await post<Made>('/user/tokens', given))
  }, ['/user/tokens'])
  const errors = placed(work.failure, ['/name', '/expires_on', '/policies'])
  if (made) return <Secret title={`Token ${made.name}`} secret={made.value} onClose={onClose} />
  const choose = (next: Template): void => {
    setTemplate(next)
    setGroups(next.groups)
  }
  return (
    <Sheet title="New token" onClose={onClose} isDirty={name !== ''}>
      <SheetForm
        verb="Create token"
        busy={work.busy}
        failure={work.failure}
        rest={groups.length === 0 ? 'Choose at least one permission.' : errors.rest}
        onSubmit={() => groups.length > 0 && work.start()}
        onCancel={onClose}
      >
        <TextField
          label="Name"
          placeholder="ci-logs"
          required
          value={name}
          onChange={setName}
          error={errors.at('/name')}
        />
        <fieldset className={styles['templates']}>
          <legend>What it may do</legend>
          {TEMPLATES.map((one) => (
            <label key={one.key} className={styles['template']}>
              <input type="radio" name="template" checked={one === template} onChange={() => choose(one)} />
              <span>
                <strong>{one.name}</strong>
                <span className="soft">{one.text}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <details open={template.key === 'own'}>
          <summary className={styles['summary']}>{groups.length} permissions</summary>
          <CheckList
            label="Permissions"
            all={(known.value ?? []).map((one) => one.name)}
            chosen={groups}
            onChange={setGroups}
          />
        </details>
        {errors.at('/policies') !== undefined && (
          <p className="bad" role="alert">
            {errors.at('/policies')}
          </p>
        )}
        <details>
          <summary className={styles['summary']}>
            {only.length === 0 ? 'All zones of the account' : `${only.length} zones only`}
          </summary>
          <CheckList
            label="Zones"
            all={(zones.value ?? []).filter((zone) => zone.account.id === account.id).map((zone) => zone.id)}
            nameOf={(id) => zones.value?.find((zone) => zone.id === id)?.name ?? id}
            chosen={only}
            onChange={setOnly}
          />
        </details>
        <TextField
          label="Ends"
          type="datetime-local"
          hint="Empty: never."
          value={ends}
          onChange={setEnds}
          error={errors.at('/expires_on')}
        />
      </SheetForm>
    </Sheet>
  )
}
