import type { BindingKind } from './binding-kind.js'
import { agentMemory } from './agent-memory.js'
import { ai } from './ai.js'
import { aiSearch } from './ai-search.js'
import { aiSearchNamespace } from './ai-search-namespace.js'
import { analyticsEngine } from './analytics-engine.js'
import { artifacts } from './artifacts.js'
import { assets } from './assets.js'
import { browser } from './browser.js'
import { d1 } from './d1.js'
import { dataBlob } from './data-blob.js'
import { dispatchNamespace } from './dispatch-namespace.js'
import { durableObjectNamespace } from './durable-object-namespace.js'
import { flagship } from './flagship.js'
import { hyperdrive } from './hyperdrive.js'
import { images } from './images.js'
import { inherit } from './inherit.js'
import { json } from './json.js'
import { k2 } from './k2.js'
import { kvNamespace } from './kv-namespace.js'
import { logfwdr } from './logfwdr.js'
import { media } from './media.js'
import { messaging } from './messaging.js'
import { mtlsCertificate } from './mtls-certificate.js'
import { pipelines } from './pipelines.js'
import { plainText } from './plain-text.js'
import { queue } from './queue.js'
import { r2Bucket } from './r2-bucket.js'
import { ratelimit } from './ratelimit.js'
import { secretKey } from './secret-key.js'
import { secretText } from './secret-text.js'
import { secretsStoreSecret } from './secrets-store-secret.js'
import { sendEmail } from './send-email.js'
import { service } from './service.js'
import { stream } from './stream.js'
import { textBlob } from './text-blob.js'
import { vectorize } from './vectorize.js'
import { versionMetadata } from './version-metadata.js'
import { vpcNetwork } from './vpc-network.js'
import { vpcService } from './vpc-service.js'
import { wasmModule } from './wasm-module.js'
import { websearch } from './websearch.js'
import { workerLoader } from './worker-loader.js'
import { workflow } from './workflow.js'

const ALL = [
  agentMemory,
  ai,
  aiSearch,
  aiSearchNamespace,
  analyticsEngine,
  artifacts,
  assets,
  browser,
  d1,
  dataBlob,
  dispatchNamespace,
  durableObjectNamespace,
  flagship,
  hyperdrive,
  images,
  inherit,
  json,
  k2,
  kvNamespace,
  logfwdr,
  media,
  messaging,
  mtlsCertificate,
  pipelines,
  plainText,
  queue,
  r2Bucket,
  ratelimit,
  secretKey,
  secretText,
  secretsStoreSecret,
  sendEmail,
  service,
  stream,
  textBlob,
  vectorize,
  versionMetadata,
  vpcNetwork,
  vpcService,
  wasmModule,
  websearch,
  workerLoader,
  workflow,
]

/** Every kind of binding, by its type. */
export const BINDINGS: ReadonlyMap<string, BindingKind> = new Map(ALL.map((kind) => [kind.type, kind]))
