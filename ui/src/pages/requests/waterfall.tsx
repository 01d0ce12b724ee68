import { ms } from '../../parts/format.ts'
import type { Phase } from './types.ts'
import styles from './requests.module.css'

const NAMES: Readonly<Record<Phase['name'], string>> = {
  rules: 'Rules',
  cache: 'Cache',
  worker: 'Worker',
  origin: 'Origin',
  convert: 'Convert',
  send: 'Send',
}

/** Stages in the order of the corridor. A stage that the request did not pass has a dash. */
export function Waterfall({ phases, total }: { phases: readonly Phase[]; total: number }) {
  const end = Math.max(total, ...phases.map(({ start_ms: start, ms: length }) => start + length), 0.1)
  const longest = Math.max(...phases.map(({ ms: length }) => length))
  return (
    <ol className={styles['waterfall']}>
      {Object.entries(NAMES).map(([name, title]) => {
        const own = phases.filter((phase) => phase.name === name)
        return (
          <li key={name}>
            <span>{title}</span>
            <span className={styles['track']}>
              {own.map(({ start_ms: start, ms: length }) => (
                <span
                  key={start}
                  className={styles['stage']}
                  data-longest={length === longest || undefined}
                  style={{ left: `${(100 * start) / end}%`, width: `${(100 * length) / end}%` }}
                />
              ))}
            </span>
            <span className="num">{own.length === 0 ? '–' : ms(own.reduce((sum, one) => sum + one.ms, 0))}</span>
            <span className="soft cut" title={own.map(({ result }) => result).join(', ')}>
              {own
                .map(({ result }) => result)
                .filter((result) => result !== '')
                .join(', ')}
            </span>
          </li>
        )
      })}
    </ol>
  )
}
