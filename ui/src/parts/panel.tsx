import { Tabs as BaseTabs } from '@base-ui/react/tabs'
import { Menu as BaseMenu } from '@base-ui/react/menu'
import { useState, type ReactNode } from 'react'
import type { Source } from '../api/types.ts'
import { Button, IconButton } from './button.tsx'
import { copyText } from './copy.ts'
import { when } from './format.ts'
import { Icon, type IconName } from './icon.tsx'
import styles from './panel.module.css'

/** A box with a title. `docs`: page and section of the manual. */
export const Panel = ({
  title,
  docs,
  actions,
  children,
}: {
  title?: ReactNode
  docs?: string
  actions?: ReactNode
  children: ReactNode
}) => (
  <section className={styles['panel']}>
    {(title || actions) && (
      <header className={styles['head']}>
        {title && <h2>{title}</h2>}
        {docs && (
          <a
            href={`/docs/${docs}`}
            target="_blank"
            rel="noreferrer"
            className={styles['help']}
            aria-label={`Manual: ${typeof title === 'string' ? title : 'this panel'}`}
          >
            <Icon name="circle-help" size={14} />
          </a>
        )}
        <div className={styles['actions']}>{actions}</div>
      </header>
    )}
    {children}
  </section>
)

export type Tone = 'ok' | 'info' | 'warn' | 'bad' | 'off'

const MARKS: Readonly<Record<Tone, string>> = { ok: '●', info: '●', warn: '▲', bad: '✕', off: '○' }

/** A state in words, with a sign and a colour. */
export const State = ({ tone, children }: { tone: Tone; children: ReactNode }) => (
  <span className={styles['state']} data-tone={tone}>
    <span aria-hidden="true">{MARKS[tone]}</span> {children}
  </span>
)

/** A short word in a box. */
export const Badge = ({ tone = 'off', children }: { tone?: Tone; children: ReactNode }) => (
  <span className={styles['badge']} data-tone={tone}>
    {children}
  </span>
)

/** A point in time, in the time zone of the reader. The title has the whole time as ISO 8601. */
export const Time = ({ at }: { at: string | number | null | undefined }) =>
  at == null ? (
    <span className="soft">–</span>
  ) : (
    <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
      {when(at)}
    </time>
  )

/** Says that the configuration file owns an object, with the file and the line. */
export const FromFile = ({ source }: { source: Source }) => (
  <span className={styles['fromFile']} title="Change it in the configuration file">
    <Icon name="lock" size={12} /> From {source.file.split('/').at(-1)}:{source.line}
  </span>
)

/** Names and values below each other. */
export const Facts = ({ rows }: { rows: readonly (readonly [name: string, value: ReactNode] | undefined)[] }) => (
  <dl className={styles['facts']}>
    {rows.map(
      (row) =>
        row && (
          <div key={row[0]}>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
    )}
  </dl>
)

/** Tabs whose choice the caller keeps, in the address where it can. */
export const Tabs = ({
  value,
  tabs,
  onChange,
  label,
}: {
  value: string
  tabs: readonly (readonly [value: string, name: ReactNode])[]
  onChange: (value: string) => void
  label: string
}) => (
  <BaseTabs.Root value={value} onValueChange={(next) => onChange(String(next))}>
    <BaseTabs.List className={styles['tabs']} aria-label={label}>
      {tabs.map(([tab, name]) => (
        <BaseTabs.Tab key={tab} value={tab} className={styles['tab']}>
          {name}
        </BaseTabs.Tab>
      ))}
    </BaseTabs.List>
  </BaseTabs.Root>
)

export interface Action {
  readonly name: string
  readonly icon?: IconName
  readonly danger?: boolean
  readonly disabled?: boolean
  readonly run: () => void
}

/** The menu of a row or a title, behind three dots. Nothing is drawn without actions. */
export function ActionMenu({ label, actions }: { label: string; actions: readonly (Action | false | undefined)[] }) {
  const given = actions.filter((one): one is Action => one !== undefined && one !== false)
  if (given.length === 0) return null
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger
        render={<IconButton icon="more" label={label} size="small" />}
        onClick={(event) => event.stopPropagation()}
      />
      <BaseMenu.Portal>
        <BaseMenu.Positioner className={styles['positioner']} align="end" sideOffset={4}>
          <BaseMenu.Popup className={styles['menu']} onClick={(event) => event.stopPropagation()}>
            {given.map(({ name, icon, danger, disabled, run }) => (
              <BaseMenu.Item
                key={name}
                className={styles['item']}
                data-danger={danger || undefined}
                disabled={disabled ?? false}
                onClick={run}
              >
                {icon && <Icon name={icon} />}
                {name}
              </BaseMenu.Item>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}

const COPIED_MS = 1500

/** Copies a text, or the result of a function. Says so for a moment. */
export function CopyButton({
  text,
  label = 'Copy',
  size = 'small',
}: {
  text: string | (() => string | Promise<string>)
  label?: string
  size?: 'small' | 'normal'
}) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await copyText(typeof text === 'string' ? text : await text())
    setCopied(true)
    setTimeout(() => setCopied(false), COPIED_MS)
  }
  return (
    <Button kind="quiet" size={size} icon={isCopied ? 'check' : 'copy'} onClick={() => void copy()}>
      {isCopied ? 'Copied' : label}
    </Button>
  )
}

/** Text as it is, in a box that scrolls. */
export const Code = ({ text, label }: { text: string; label: string }) => (
  <div className={styles['code']}>
    <pre tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
    <CopyButton text={text} />
  </div>
)
