import { post } from '../../api/client.ts'
import { useLive } from '../../live.ts'
import { count, number } from '../../parts/format.ts'
import { useSettled } from '../../settled.ts'
import { State } from '../../parts/panel.tsx'
import { Notice } from '../../parts/states.tsx'
import { writeOutput, type Draft } from './draft.ts'
import { readFilter } from './filter.ts'
import type { OwnedJob } from './jobs.ts'
import panel from '../../parts/live-records.module.css'
import styles from './logs.module.css'

/** Records that are shown. */
const SHOWN = 5
const SETTLE_MS = 600

/** How many of the records that come now the job would send, and the last of them as it would write them. */
export function RecordPreview({ draft, job }: { draft: Draft; job: OwnedJob | undefined }) {
  const { owner, dataset, filter, output } = draft
  const { sample_rate: _rate, ...shape } = writeOutput(output, job?.output_options ?? {}) ?? {}
  const wanted = JSON.stringify({ path: owner.path, dataset, filter, shape })
  const settled = useSettled(wanted, SETTLE_MS)
  const open = (body: object) => async () => {
    const { destination_conf: url } = await post<{ destination_conf: string }>(`${owner.path}/edged/tail`, {
      dataset,
      ...body,
    })
    return { url }
  }
  const isSound = readFilter(filter)?.rows.every(({ value }) => value !== '') ?? true
  const all = useLive(settled, open({ fields: undefined }))
  const matched = useLive(
    isSound ? settled : undefined,
    open({ ...(filter !== '' && { filter }), output_options: shape }),
  )
  const isCounted = filter !== '' && isSound
  // While a person types, the records are those of the filter before.
  const isCurrent = settled === wanted
  return (
    <div className={styles['conditions']} aria-label="Records as they would be sent" role="group">
      <div className={styles['fieldHead']}>
        <strong>Records as they would be sent</strong>
        {isCurrent && matched.state === 'live' && <State tone="ok">Live</State>}
      </div>
      {matched.state === 'ended' && <Notice kind="warn">{matched.reason}</Notice>}
      {matched.state !== 'ended' && (
        <p className="soft" aria-live="off">
          {!isCurrent || all.total === 0
            ? `Waits for records of ${dataset}. They show here as they come.`
            : isCounted
              ? `${number(matched.total)} of the last ${count(all.total, 'record')} match.`
              : `${count(all.total, 'record')} since you opened this step.`}
        </p>
      )}
      {isCurrent && matched.lines.length > 0 && (
        <pre className={panel['lines']} tabIndex={0} role="region" aria-label="Last records">
          {matched.lines
            .slice(0, SHOWN)
            .map(({ text }) => text)
            .join('\n')}
        </pre>
      )}
    </div>
  )
}
