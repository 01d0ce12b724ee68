import { post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { useConfirm } from '../../parts/confirm.tsx'
import { when } from '../../parts/format.ts'
import { useToast } from '../../parts/toast.tsx'
import type { Deployment, Share } from './worker.ts'

/** Returns a function that deploys versions with their shares. */
export function useDeploy(path: string): (versions: readonly Share[]) => Promise<unknown> {
  const work = useWork(
    async (versions: readonly Share[]) => await post(`${path}/deployments`, { strategy: 'percentage', versions }),
    [path],
  )
  return work.run
}

/** Returns what deploys again what was deployed before, after a question. Undefined if nothing was. */
export function useRollBack(path: string, deployments: readonly Deployment[]): (() => Promise<void>) | undefined {
  const confirm = useConfirm()
  const toast = useToast()
  const deploy = useDeploy(path)
  const [current, before] = deployments
  if (!current || !before) return undefined
  return async () => {
    const isSure = await confirm({
      title: `Roll back to the deployment of ${when(before.created_on)}?`,
      text: 'All requests go to its versions at once. The newest version stays stored.',
      verb: 'Roll back',
      danger: false,
    })
    if (!isSure) return
    try {
      await deploy(before.versions)
      toast('Rolled back.', { undo: async () => await deploy(current.versions) })
    } catch (error) {
      toast(String(error), { kind: 'bad' })
    }
  }
}
