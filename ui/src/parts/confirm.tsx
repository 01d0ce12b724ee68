import { AlertDialog } from '@base-ui/react/alert-dialog'
import { createContext, use, useRef, useState, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { TextField } from './fields.tsx'
import styles from './dialog.module.css'

/** A question before a change that cannot be undone. */
export interface Question {
  /** With the name and size of what changes: `Delete log job siem-all?`. */
  readonly title: string
  readonly text?: ReactNode
  /** The verb on the button. */
  readonly verb: string
  readonly danger?: boolean
  /** The user types this text first. */
  readonly typed?: string
}

type Ask = (question: Question) => Promise<boolean>

const ConfirmContext = createContext<Ask>(async () => await Promise.resolve(false))

/** Returns a function that asks a question and returns whether the user agrees. */
export const useConfirm = (): Ask => use(ConfirmContext)

export function ConfirmProvider({ children }: { children: ReactNode }) {
  const [question, setQuestion] = useState<Question>()
  const [isOpen, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const answer = useRef<(agreed: boolean) => void>(undefined)
  const cancel = useRef<HTMLButtonElement>(null)
  const ask: Ask = async (next) =>
    await new Promise((resolve) => {
      answer.current?.(false)
      answer.current = resolve
      setQuestion(next)
      setTyped('')
      setOpen(true)
    })
  const close = (agreed: boolean): void => {
    setOpen(false)
    answer.current?.(agreed)
    answer.current = undefined
  }
  const isReady = question?.typed === undefined || typed === question.typed
  return (
    <ConfirmContext value={ask}>
      {children}
      <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && close(false)}>
        <AlertDialog.Portal>
          <AlertDialog.Backdrop className={`${styles['backdrop']} ${styles['over']}`} />
          <AlertDialog.Popup className={styles['confirm']} initialFocus={cancel}>
            <AlertDialog.Title render={<h2 />}>{question?.title}</AlertDialog.Title>
            {question?.text && <AlertDialog.Description render={<div />}>{question.text}</AlertDialog.Description>}
            {question?.typed !== undefined && (
              <TextField label={`Type ${question.typed} to go on`} value={typed} onChange={setTyped} />
            )}
            <div className={styles['buttons']}>
              <Button ref={cancel} onClick={() => close(false)}>
                Cancel
              </Button>
              <Button
                kind={question?.danger === false ? 'primary' : 'danger'}
                disabled={!isReady}
                onClick={() => close(true)}
              >
                {question?.verb}
              </Button>
            </div>
          </AlertDialog.Popup>
        </AlertDialog.Portal>
      </AlertDialog.Root>
    </ConfirmContext>
  )
}
