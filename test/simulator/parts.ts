import type { Plan } from './plan.js'
import { HomesSubject, homesPlan } from './homes/subject.js'
import { NatsSubject, natsPlan } from './nats/subject.js'
import { RedisSubject, redisPlan } from './redis/subject.js'
import { batchBuffer } from './spool/buffer.js'
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

export const PARTS: Readonly<Record<string, Part>> = {
  spool: {
    tested: 100,
    plan: spoolPlan,
    run: async (plan, said) => {
      const opened = await batchBuffer()
      return await simulate(plan, (world) => new SpoolSubject(world, opened), said)
    },
  },
  nats: {
    tested: 20,
    plan: natsPlan,
    run: async (plan, said) => {
      const opened = await batchBuffer()
      return await simulate(plan, (world) => new NatsSubject(world, opened), said)
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
