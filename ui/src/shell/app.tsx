import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { isSignedIn, whenSignedOut } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { ConfirmProvider } from '../parts/confirm.tsx'
import { SessionContext } from '../parts/session.ts'
import { ToastProvider } from '../parts/toast.tsx'
import { makeRouter } from './router.tsx'
import { SignIn } from './sign-in.tsx'
import styles from './shell.module.css'

const router = makeRouter()

/** The dashboard. Asks for a token first, and again when the API no longer accepts it. */
export function App() {
  const [session, setSession] = useState<'none' | 'active' | 'ended'>(isSignedIn() ? 'active' : 'none')
  const [reason, setReason] = useState<string>()
  useEffect(
    () =>
      whenSignedOut((why) => {
        setReason(why)
        if (why === undefined) queries.clear()
        setSession((old) => (why === undefined || old === 'none' ? 'none' : 'ended'))
      }),
    [],
  )
  return (
    // The policy of the page allows no style elements.
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <ToastProvider>
          <SessionContext value={session === 'active'}>
            <ConfirmProvider>
              {/* Texts that the user has typed outlive the token. */}
              {session !== 'none' && (
                <div hidden={session === 'ended'} className={styles['app']}>
                  <RouterProvider router={router} />
                </div>
              )}
              {session !== 'active' && <SignIn reason={reason} onDone={() => setSession('active')} />}
            </ConfirmProvider>
          </SessionContext>
        </ToastProvider>
      </QueryClientProvider>
    </CSPProvider>
  )
}
