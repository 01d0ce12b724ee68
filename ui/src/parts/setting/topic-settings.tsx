import { useRead } from '../../api/queries.ts'
import { usePlace } from '../../place.tsx'
import { Shown } from '../states.tsx'
import type { Setting } from './setting.ts'
import { SettingRow } from './setting-row.tsx'

/** The settings of one topic that edged acts on, for pages about this topic. */
export function TopicSettings({ topic }: { topic: string }) {
  const { ofZone, may } = usePlace()
  const read = useRead<readonly Setting[]>(`${ofZone}/edged/settings`)
  return (
    <Shown read={read} what="the settings" rows={3}>
      {(settings) =>
        settings
          .filter((one) => one.topic === topic && one.acts)
          .map((one) => <SettingRow key={one.id} setting={one} mayWrite={may('Zone Settings Write')} />)
      }
    </Shown>
  )
}
