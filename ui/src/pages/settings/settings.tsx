import { useRead } from '../../api/queries.ts'
import { useAddress, useGo, useParam } from '../../address.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Page } from '../../parts/page.tsx'
import { Panel, Tabs } from '../../parts/panel.tsx'
import { Empty, Loading, Notice, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { SettingRow } from '../../parts/setting/setting-row.tsx'
import type { Setting } from '../../parts/setting/setting.ts'
import { ObjectSheet } from './object-sheet.tsx'
import styles from './settings.module.css'

const ALL = 'all'
const WRITE = 'Zone Settings Write'

/** Every setting of a zone by topic. Settings that edged stores without acting on them are folded away. */
export default function Settings() {
  const { ofZone, may } = usePlace()
  const read = useRead<readonly Setting[]>(`${ofZone}/edged/settings`)
  const { rest } = useAddress()
  const go = useGo()
  const [text, setText] = useParam('find')
  const [topic = ALL, open] = rest
  const topics = [...new Set((read.value ?? []).map((one) => one.topic))]
  const edited = read.value?.find(({ id }) => id === open)
  return (
    <Page>
      {!may(WRITE) && <Notice>Read only: needs {WRITE}.</Notice>}
      <Panel>
        <div className={styles['bar']}>
          <TextField
            type="search"
            label="Find a setting"
            hideLabel
            placeholder="Find a setting  /"
            value={text}
            onChange={setText}
          />
        </div>
        <Tabs
          label="Topics"
          value={topic}
          onChange={(next) => go({ rest: next === ALL ? [] : [next] })}
          tabs={[[ALL, 'All'], ...topics.map((name) => [name, name] as const)]}
        />
        <Shown read={read} what="the settings" rows={10}>
          {(settings) => (
            <Topics settings={matching(settings, topic, text)} isFound={text !== ''} mayWrite={may(WRITE)} />
          )}
        </Shown>
      </Panel>
      {edited ? (
        <ObjectSheet
          setting={edited}
          mayWrite={may(WRITE) && edited.editable}
          onClose={() => go({ rest: topic === ALL ? [] : [topic] })}
        />
      ) : (
        open !== undefined && read.isLoading && <Loading rows={1} />
      )}
    </Page>
  )
}

function matching(settings: readonly Setting[], topic: string, text: string): readonly Setting[] {
  const wanted = text.trim().toLowerCase()
  return settings.filter(
    (one) =>
      (topic === ALL || one.topic === topic) &&
      `${one.id} ${one.title} ${one.description}`.toLowerCase().includes(wanted),
  )
}

function Topics({
  settings,
  isFound,
  mayWrite,
}: {
  settings: readonly Setting[]
  isFound: boolean
  mayWrite: boolean
}) {
  if (settings.length === 0) return <Empty title="No setting has this in its name" />
  const acting = settings.filter(({ acts }) => acts)
  const inert = settings.filter(({ acts }) => !acts)
  const topics = [...new Set(acting.map(({ topic }) => topic))]
  return (
    <>
      {topics.map((topic) => (
        <section key={topic} className={styles['topic']} aria-label={topic}>
          <h2>{topic}</h2>
          {acting
            .filter((one) => one.topic === topic)
            .map((one) => (
              <SettingRow key={one.id} setting={one} mayWrite={mayWrite} />
            ))}
        </section>
      ))}
      {inert.length > 0 && (
        <details className={styles['inert']} open={isFound || acting.length === 0}>
          <summary>Stored without effect ({inert.length})</summary>
          <p className="soft">
            Kept for clients of the API. edged does not act on them.{' '}
            <a href="/docs/no-effect.html" target="_blank" rel="noreferrer">
              Read more
            </a>
          </p>
          {inert.map((one) => (
            <SettingRow key={one.id} setting={one} mayWrite={mayWrite} />
          ))}
        </details>
      )}
    </>
  )
}
