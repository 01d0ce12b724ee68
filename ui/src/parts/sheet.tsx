import { Dialog } from '@base-ui/react/dialog'
import { use, useEffect, useRef, type ReactNode } from 'react'
import { Button, IconButton } from './button.tsx'
import { useConfirm } from './confirm.tsx'
import { SessionContext } from './session.ts'
import styles from './dialog.module.css'

interface SheetProps {
  /** Names the object: `GET /status/503 · 503`. */
  readonly title: ReactNode
  readonly open?: boolean
  readonly onClose: () => void
  /** Has changes that are not saved: closing asks first. */
  readonly isDirty?: boolean
  /** Buttons beside the title. */
  readonly actions?: ReactNode
  /** 880 pixels instead of 560. */
  readonly wide?: boolean
  readonly children: ReactNode
}

/**
 * A side sheet over the page. Escape, a click beside the sheet and the button close it. Then the focus returns to where it
 * was. The page gives it an address of its own, and `onClose` goes to the address without it.
 */
export function Sheet({ title, open = true, onClose, isDirty = false, actions, wide = false, children }: SheetProps) {
  const confirm = useConfirm()
  const isActive = use(SessionContext)
  const head = useRef<HTMLHeadingElement>(null)
  const popup = useRef<HTMLDivElement>(null)
  const close = async (): Promise<void> => {
    const isSure = !isDirty || (await confirm({ title: 'Discard the changes?', verb: 'Discard' }))
    if (isSure) onClose()
  }
  return (
    <Dialog.Root
      open={open}
      modal={isActive}
      disablePointerDismissal={!isActive}
      onOpenChange={(next) => !next && void close()}
    >
      <Dialog.Portal hidden={!isActive}>
        <Dialog.Backdrop className={styles['backdrop']} />
        <Dialog.Popup
          ref={popup}
          className={styles['sheet']}
          data-wide={wide || undefined}
          // The first field of a form, or else the title.
          initialFocus={() =>
            popup.current?.querySelector<HTMLElement>(
              'form :is(input, select, textarea):not([type=hidden], :disabled)',
            ) ?? head.current
          }
        >
          <header className={styles['sheetHead']}>
            <Dialog.Title ref={head} tabIndex={-1}>
              {title}
            </Dialog.Title>
            {actions}
            <IconButton icon="x" label="Close" onClick={() => void close()} />
          </header>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** The content of a sheet without a form. */
export const SheetBody = ({ children }: { children: ReactNode }) => (
  <div className={styles['sheetBody']} tabIndex={-1}>
    {children}
  </div>
)

/**
 * A form in a sheet. The foot has Cancel and one primary button. After a failure the first field with an error gets the focus;
 * `rest` shows the errors that belong to no field.
 */
export function SheetForm({
  verb,
  busy,
  failure,
  rest,
  onSubmit,
  onCancel,
  extra,
  children,
}: {
  verb: string
  busy: boolean
  failure?: unknown
  rest?: string | undefined
  onSubmit: () => void
  onCancel: () => void
  /** Further buttons, left of the primary one. */
  extra?: ReactNode
  children: ReactNode
}) {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (failure !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [failure])
  return (
    <form
      ref={form}
      className={styles['sheetForm']}
      noValidate={false}
      onSubmit={(event) => {
        event.preventDefault()
        event.stopPropagation()
        if (!busy) onSubmit()
      }}
    >
      <div className={styles['sheetBody']}>{children}</div>
      <footer className={styles['sheetFoot']}>
        {rest !== undefined && (
          <p className={styles['footNote']} role="alert">
            {rest}
          </p>
        )}
        <Button onClick={onCancel}>Cancel</Button>
        {extra}
        <Button kind="primary" type="submit" busy={busy}>
          {verb}
        </Button>
      </footer>
    </form>
  )
}
