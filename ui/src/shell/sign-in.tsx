import { useState } from 'react'
import { signIn } from '../api/client.ts'
import { useWork } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { CheckField, TextField } from '../parts/fields.tsx'
import logo from './logo.svg'
import styles from './shell.module.css'

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Asks for an API token. `reason`: why an earlier token is no longer accepted. */
export function SignIn({ reason, onDone }: { reason: string | undefined; onDone: () => void }) {
  const [token, setToken] = useState('')
  const [keep, setKeep] = useState(LOOPBACK.test(location.hostname))
  const work = useWork(async () => {
    await signIn(token, keep)
    onDone()
  }, [])
  return (
    <main className={styles['signIn']}>
      <img src={logo} alt="" width="48" height="48" />
      <h1>edged</h1>
      <p className="soft">Your own edge: Markdown for agents, rules, cache, logs.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          work.start()
        }}
      >
        <TextField label="API token" secret autoFocus required value={token} onChange={setToken} error={work.error} />
        {reason !== undefined && work.error === undefined && (
          <p className="bad" role="alert">
            You are signed out: {reason}.
          </p>
        )}
        <CheckField label="Keep me signed in until this tab is closed" on={keep} onChange={setKeep} />
        <Button kind="primary" type="submit" busy={work.busy}>
          Sign in
        </Button>
        <p className="soft">
          <code>npm start</code> prints a token for trying edged out. <a href="/docs/api.html#tokens">About tokens</a>
        </p>
      </form>
    </main>
  )
}
