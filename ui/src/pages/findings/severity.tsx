import { State, type Tone } from '../../parts/panel.tsx'

const TONES: Readonly<Record<string, Tone>> = { Critical: 'bad', High: 'bad', Medium: 'warn', Low: 'info' }

export const Severity = ({ severity }: { severity: string }) => (
  <State tone={TONES[severity] ?? 'off'}>{severity}</State>
)
