import { differences } from './entry.ts'
import styles from './audit.module.css'

/** The members of an object that a change touched, before and after. */
export function DifferenceTable({ before, after }: { before: unknown; after: unknown }) {
  const rows = differences(before, after)
  if (rows.length === 0) return <p className="soft">The log has no values of this change.</p>
  return (
    <div className={styles['scroll']} role="region" aria-label="Values" tabIndex={0}>
      <table className={styles['differences']}>
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.path}>
              <th scope="row">{row.path}</th>
              <td>{row.before === undefined ? '–' : <del>{row.before}</del>}</td>
              <td>{row.after === undefined ? '–' : <ins>{row.after}</ins>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
