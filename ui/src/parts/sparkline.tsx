import styles from './chart.module.css'

const WIDTH = 72
const HEIGHT = 20

/** A small line without axes, for rows and cards. `label` says for screen readers what it shows. */
export function Sparkline({
  values: all,
  label,
  color = '--accent',
  width = WIDTH,
}: {
  values: readonly (number | null)[]
  label: string
  color?: string
  width?: number
}) {
  const values = all.slice(all.findIndex((value) => value !== null))
  const most = Math.max(...values.map((value) => value ?? 0), 1e-9)
  const last = Math.max(values.length - 1, 1)
  let isPenDown = false
  const path = values
    .map((value, at) => {
      if (value === null) {
        isPenDown = false
        return ''
      }
      const command = isPenDown ? 'L' : 'M'
      isPenDown = true
      return `${command}${((at / last) * width).toFixed(1)} ${(HEIGHT - 1.5 - (value / most) * (HEIGHT - 3)).toFixed(1)}`
    })
    .join('')
  return (
    <svg
      className={styles['spark']}
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <path d={path} fill="none" stroke={`var(${color})`} strokeWidth="1.5" strokeLinejoin="round" />
    </svg>
  )
}
