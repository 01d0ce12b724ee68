import { Toast } from '@base-ui/react/toast'
import type { ReactNode } from 'react'
import { messageOf } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { Button, IconButton } from './button.tsx'
import styles from './toast.module.css'

const UNDO_MS = 8000
const PLAIN_MS = 4000

/** Messages at the lower left. They wait while the pointer or the focus is on them. */
export const ToastProvider = ({ children }: { children: ReactNode }) => (
  <Toast.Provider limit={3} timeout={PLAIN_MS}>
    {children}
    <Toast.Portal>
      <Toast.Viewport className={styles['viewport']}>
        <Toasts />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
)

/** A further button of a message. */
interface ToastAction {
  readonly name: string
  readonly run: () => void
}

interface Data {
  readonly undo?: (() => Promise<unknown>) | undefined
  readonly action?: ToastAction | undefined
}

type Add = ReturnType<typeof Toast.useToastManager<Data>>['add']

async function takeBack(undo: () => Promise<unknown>, add: Add): Promise<void> {
  try {
    await undo()
    add({ title: 'Undone.' })
  } catch (error) {
    add({ title: `This could not be undone: ${messageOf(error)}`, type: 'bad' })
  }
  // Pages show the values from before the change again.
  await queries.invalidateQueries()
}

function Toasts() {
  const { toasts, close, add } = Toast.useToastManager<Data>()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} aria-label="Message" className={styles['toast']} data-kind={toast.type}>
      <Toast.Title render={<p />} className={styles['text']} />
      {toast.data?.undo && (
        <Button
          size="small"
          onClick={() => {
            close(toast.id)
            void takeBack(toast.data!.undo!, add)
          }}
        >
          Undo
        </Button>
      )}
      {toast.data?.action && (
        <Button
          size="small"
          kind="quiet"
          onClick={() => {
            close(toast.id)
            toast.data!.action!.run()
          }}
        >
          {toast.data.action.name}
        </Button>
      )}
      <IconButton icon="x" label="Close" size="small" onClick={() => close(toast.id)} />
    </Toast.Root>
  ))
}

/** Returns a function that shows a message. `undo`: a button for 8 seconds that takes the change back. */
export function useToast(): (
  text: string,
  options?: { undo?: () => Promise<unknown>; action?: ToastAction; kind?: 'bad' },
) => void {
  const { add } = Toast.useToastManager<Data>()
  return (text, { undo, action, kind } = {}) => {
    add({
      title: text,
      data: { undo, action },
      timeout: undo || action ? UNDO_MS : PLAIN_MS,
      ...(kind && { type: kind, priority: 'high' as const }),
    })
  }
}
