// kill -9 of two daemons, Redis and nats-server in turn under load.
import { register } from 'tsx/esm/api'

const KILLS = 20

export async function drill(option) {
  register()
  const { killMachines } = await import('./machine-kills.ts')
  return await killMachines(option('kills', KILLS))
}
