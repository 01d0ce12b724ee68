import { State } from '../../parts/panel.tsx'
import type { Running } from './pipeline.ts'

const STATES = {
  running: ['ok', 'Delivering'],
  failing: ['bad', 'Failing'],
  waiting: ['warn', 'Starts again'],
  ended: ['off', 'Ended'],
} as const

export function PipelineState({ state }: { state: Running['state'] }) {
  const [tone, name] = STATES[state]
  return <State tone={tone}>{name}</State>
}
