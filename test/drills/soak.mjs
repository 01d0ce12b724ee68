// Mixed traffic for a long time: memory, open handles and latency at the beginning and at the end.
import { register } from 'tsx/esm/api'

const MINUTES = 30

export async function drill(option) {
  register()
  const { soak } = await import('./soak-run.ts')
  return await soak(option('minutes', MINUTES) * 60)
}
