import { HomesSubject, homesPlan, type HomesFlaws } from './homes/subject.js'
import type { NatsFlaws } from './nats/server.js'
import { NatsSubject, natsPlan } from './nats/subject.js'
import type { Plan } from './plan.js'
import { batchBuffer } from './spool/buffer.js'
import { FLAWED as FLAWED_SPOOLS } from './spool/flawed.js'
import { SpoolSubject, spoolPlan } from './spool/subject.js'
import type { RedisFlaws } from './redis/server.js'
import { RedisSubject, redisPlan } from './redis/subject.js'
import { StoreSubject, storePlan } from './stores/embedded.js'
import type { EngineFlaws } from './stores/engine.js'
import { FLAWED } from './stores/flawed.js'
import { FLAWED as FLAWED_WEBHOOKS } from './webhooks/flawed.js'
import { WebhooksSubject, webhooksPlan } from './webhooks/subject.js'
import type { Subject, World } from './world.js'

/** A fault that is planted in a port or around a part, and what a run must say about it. */
export interface Mutant {
  readonly name: string
  readonly plan: (seed: number) => Plan
  readonly subject: (world: World) => Subject
  readonly found: RegExp
  /** The first seed to run. A fault that few runs notice begins near one that does. */
  readonly from?: number
}

type Flaw = keyof typeof FLAWED

const store = (name: string, found: RegExp, flaws: EngineFlaws, as?: Flaw): Mutant => ({
  name: `store: ${name}`,
  plan: storePlan,
  subject: (world) => new StoreSubject(world, flaws, as && FLAWED[as]),
  found,
})

const redis = (name: string, found: RegExp, flaws: RedisFlaws, as?: Flaw): Mutant => ({
  name: `redis: ${name}`,
  plan: redisPlan,
  subject: (world) => new RedisSubject(world, flaws, as && FLAWED[as]),
  found,
})

const buffer = await batchBuffer()

const nats = (name: string, found: RegExp, flaws: NatsFlaws & { readonly blind?: boolean }): Mutant => ({
  name: `nats: ${name}`,
  plan: natsPlan,
  subject: (world) => new NatsSubject(world, buffer, flaws),
  found,
})

const spool = (name: string, found: RegExp, as: keyof typeof FLAWED_SPOOLS): Mutant => ({
  name: `spool: ${name}`,
  plan: spoolPlan,
  subject: (world) => new SpoolSubject(world, buffer, FLAWED_SPOOLS[as]()),
  found,
})

const webhooks = (name: string, found: RegExp, as: keyof typeof FLAWED_WEBHOOKS): Mutant => ({
  name: `webhooks: ${name}`,
  plan: webhooksPlan,
  subject: (world) => new WebhooksSubject(world, FLAWED_WEBHOOKS[as]),
  found,
})

const homes = (name: string, found: RegExp, flaws: HomesFlaws): Mutant => ({
  name: `homes: ${name}`,
  plan: homesPlan,
  subject: (world) => new HomesSubject(world, flaws),
  found,
})

export const MUTANTS: readonly Mutant[] = [
  store('batches are not synced', /is confirmed|missing|is damaged/, { unsynced: true }),
  store('a part of a batch is read', /holds \d+ records|in part|lacks the content/, { torn: true }),
  {
    ...store('what failed is not undone', /is confirmed|was rejected|missing|holds|of operations|twice/, {
      forgetful: true,
    }),
    from: 95,
  },
  store('changes do not compare versions', /one is lost/, {}, 'blind'),
  store('watchers miss a batch', /a watcher knows|a watcher gets/, {}, 'deaf'),
  store('batches are split', /visible in part/, {}, 'split'),
  store('rejected batches are made', /was rejected|was made|one is lost/, {}, 'late'),
  store('audit entries are dropped', /lacks operation/, {}, 'unaudited'),
  spool('a sync of a file is skipped', /as lost: damage|is at|was \d+|never delivered/, 'unsynced'),
  spool('a sync of a folder is skipped', /never delivered|was \d+/, 'unnamed'),
  spool('the disk returns wrong bytes', /as lost/, 'decayed'),
  spool('rejected records are confirmed', /never delivered/, 'confirming'),
  spool('the cursor moves before the response', /never delivered/, 'hasty'),
  { ...spool('the cursor has no batches in flight', /is in .* and in/, 'nameless'), from: 60 },
  spool('a batch is delivered before the response', /never delivered/, 'early'),
  { ...spool('the name of a batch lacks the number of records', /other bytes/, 'uncountedName'), from: 120 },
  spool('dropped records are not counted', /never delivered/, 'uncounted'),
  nats('messages are stored twice', /is at \d+ and \d+/, { forgetful: true }),
  nats('confirmed messages are not stored', /never delivered|in time/, { lossy: true }),
  nats('a message is deleted that is needed', /never delivered|in time/, { purgesMore: true }),
  nats('the store compares no versions', /is in .* and in|other bytes|never delivered/, { blind: true }),
  webhooks('the store compares no versions', /has the lease/, 'unversioned'),
  webhooks('a lease is not checked', /has the lease/, 'absent'),
  { ...webhooks('a pause is not noticed', /has the lease/, 'frozen'), from: 960 },
  webhooks('watchers miss a batch', /neither delivered/, 'deaf'),
  webhooks('confirmed deliveries are not stored', /neither delivered/, 'lossy'),
  { ...webhooks('an attempt is forgotten', /are counted/, 'forgetful'), from: 70 },
  webhooks('a delivery is given up too early', /is given up after/, 'impatient'),
  { ...webhooks('a response is not read', /no receiver has it/, 'lenient'), from: 70 },
  homes('the store compares no versions', /after|at once|in time/, { blind: true }),
  homes('a machine runs data of another one', /after|at once/, { greedy: true }),
  redis('the server compares no versions', /one is lost/, { blind: true }),
  redis('the change stream has a part of a batch', /visible in part|a watcher knows/, { partial: true }),
  { ...redis('a replica has less than it says', /is confirmed, and lost/, { hasty: true }), from: 120 },
  redis('changes do not compare versions', /one is lost|another value/, {}, 'blind'),
  redis('watchers miss a batch', /a watcher knows|a watcher gets/, {}, 'deaf'),
  redis('reads do not wait for other machines', /is confirmed$/, {}, 'stale'),
]
