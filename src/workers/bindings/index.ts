import type { BindingKind } from './binding-kind.js'
import { d1 } from './d1.js'
import { durableObjectNamespace } from './durable-object-namespace.js'
import { pipelines } from './pipelines.js'
import { ratelimit } from './ratelimit.js'
import { secretKey } from './secret-key.js'
import { sendEmail } from './send-email.js'
import { SIMPLE_BINDINGS } from './simple.js'
import { vpcNetwork } from './vpc-network.js'

const ALL = [
  ...SIMPLE_BINDINGS,
  d1,
  durableObjectNamespace,
  pipelines,
  ratelimit,
  secretKey,
  sendEmail,
  vpcNetwork,
].sort((a, b) => (a.type < b.type ? -1 : 1))

/** All binding types. */
export const BINDINGS: ReadonlyMap<string, BindingKind> = new Map(ALL.map((kind) => [kind.type, kind]))
