import { useState } from 'react'
import { put, remove } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Switch } from '../../parts/fields.tsx'
import { ago } from '../../parts/format.ts'
import { Facts, Time } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useZones } from '../../place.tsx'
import { Secret } from './secret.tsx'
import { groupsOf, scopeOf, type Token } from './token.ts'
import styles from './tokens.module.css'

/** Details of a token: switch it off, give it a new secret, delete it. */
export function TokenSheet({ token, mayWrite, onClose }: { token: Token; mayWrite: boolean; onClose: () => void }) {
  const zones = useZones()
  const confirm = useConfirm()
  const toast = useToast()
  const [secret, setSecret] = useState<string>()
  const path = `/user/tokens/${token.id}`
  const store = async (status: 'active' | 'disabled'): Promise<unknown> =>
    await put(path, {
      name: token.name,
      status,
      policies: token.policies,
      ...(token.expires_on && { expires_on: token.expires_on }),
    })
  const toggle = useWork<'active' | 'disabled'>(
    async (status) => {
      await store(status)
      toast(`${token.name} is ${status === 'active' ? 'on' : 'off'}.`)
    },
    ['/user/tokens'],
  )
  const roll = useWork(async () => setSecret(await put<string>(`${path}/value`, {})), ['/user/tokens'])
  const revoke = useWork(async () => {
    await remove(path)
    toast(`${token.name} is revoked.`)
    onClose()
  }, ['/user/tokens'])
  const ask = async (title: string, text: string, verb: string, then: () => void): Promise<void> => {
    if (await confirm({ title, text, verb })) then()
  }
  if (secret !== undefined) return <Secret title={`Token ${token.name}`} secret={secret} onClose={onClose} />
  const error = toggle.error ?? roll.error ?? revoke.error
  return (
    <Sheet title={token.name} onClose={onClose}>
      <SheetBody>
        {mayWrite && (
          <div className={styles['buttons']}>
            <Switch
              label={`${token.name} is active`}
              on={token.status === 'active'}
              disabled={toggle.busy}
              onChange={(on) => toggle.start(on ? 'active' : 'disabled')}
            />
            <Button
              icon="refresh"
              busy={roll.busy}
              onClick={() =>
                void ask(`Give ${token.name} a new secret?`, 'The old secret stops working at once.', 'Roll', () =>
                  roll.start(),
                )
              }
            >
              Roll
            </Button>
            <Button
              kind="danger"
              icon="trash"
              busy={revoke.busy}
              onClick={() =>
                void ask(
                  `Revoke token ${token.name}?`,
                  'Requests with it are refused at once. This cannot be undone.',
                  'Revoke',
                  () => revoke.start(),
                )
              }
            >
              Revoke
            </Button>
          </div>
        )}
        {error !== undefined && (
          <p className="bad" role="alert">
            {error}
          </p>
        )}
        <Facts
          rows={[
            ['For', scopeOf(token, (id) => zones.value?.find((zone) => zone.id === id)?.name)],
            ['Last used', token.last_used_on ? ago(token.last_used_on) : 'never'],
            ['Created', <Time key="created" at={token.issued_on} />],
            ['Ends', token.expires_on ? <Time key="ends" at={token.expires_on} /> : 'never'],
            [
              'Permissions',
              <ul key="groups" className={styles['groups']}>
                {groupsOf(token).map((name) => (
                  <li key={name}>{name === '*' ? 'Everything' : name}</li>
                ))}
              </ul>,
            ],
          ]}
        />
      </SheetBody>
    </Sheet>
  )
}
