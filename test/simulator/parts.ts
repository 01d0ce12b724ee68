import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BatchBuffer } from '../../pipelines/logpush/batches/batch-buffer.js'
import type { Plan } from './plan.js'
import { HomesSubject, homesPlan } from './homes/subject.js'
import { RedisSubject, redisPlan } from './redis/subject.js'
import { SpoolSubject, spoolPlan } from './spool/subject.js'
import { StoreSubject, storePlan } from './stores/embedded.js'
import { WebhooksSubject, webhooksPlan } from './webhooks/subject.js'
import { simulate, type Outcome } from './world.js'

/** A part of the product that can be simulated. */
export interface Part {
  readonly plan: (seed: number) => Plan
  readonly run: (plan: Plan, said?: (line: string) => void) => Promise<Outcome>
  /** Number of seeds that `npm test` runs. */
  readonly tested: number
}

let buffer: Promise<BatchBuffer> | undefined

/** Batches of the jobs. They are small, so the folder stays empty. */
function openBuffer(): Promise<BatchBuffer> {
  const folder = mkdtempSync(join(tmpdir(), 'simulator-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return BatchBuffer.open(folder, { memoryBytes: Infinity })
}

export const PARTS: Readonly<Record<string, Part>> = {
  spool: {
    tested: 100,
    plan: spoolPlan,
    run: async (plan, said) => {
      const opened = await (buffer ??= openBuffer())
      return await simulate(plan, (world) => new SpoolSubject(world, opened), said)
    },
  },
  store: {
    tested: 60,
    plan: storePlan,
    run: async (plan, said) => await simulate(plan, (world) => new StoreSubject(world), said),
  },
  redis: {
    tested: 40,
    plan: redisPlan,
    run: async (plan, said) => await simulate(plan, (world) => new RedisSubject(world), said),
  },
  homes: {
    tested: 30,
    plan: homesPlan,
    run: async (plan, said) => await simulate(plan, (world) => new HomesSubject(world), said),
  },
  webhooks: {
    tested: 50,
    plan: webhooksPlan,
    run: async (plan, said) => await simulate(plan, (world) => new WebhooksSubject(world), said),
  },
}
