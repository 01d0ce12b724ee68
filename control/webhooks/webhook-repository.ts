import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { newUuid } from '../../src/core/ids.js'
import type { Destination } from '../../src/core/model/delivery.js'
import { WEBHOOKS, type FormerSecret, type StoredWebhook } from '../../src/core/model/webhook.js'
import type { Scope } from '../../src/core/scope.js'
import type { Stored, Write } from '../../src/core/store.js'
import { secretOf, type Sealed } from '../../src/core/vault.js'
import { destinationOf } from '../../src/webhooks/auth-headers.js'
import { credentialIssues, type HeaderInput, type Known } from '../../src/webhooks/header-rules.js'
import { FORMER_SECRET_MS } from '../../src/webhooks/signature.js'
import { audit, audited, type Actor } from '../resources/audit.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { ApiError } from '../http/errors.js'
import { QuotaReservation } from '../resources/quota.js'
import type { PostureDeps } from './services.js'
import { assertReachable, urlIssues } from './destination-check.js'
import type { Candidate, NewWebhook, WebhookChange } from './schemas.js'

/** Maximum replaced secrets that sign beside the current one; older ones stop immediately. */
const MAX_FORMER = 10
/** Maximum deleted webhooks per account that are retained, so that their jobs have a label. */
const MAX_DELETED = 100

/** Checks, encrypts and stores the webhooks of all accounts. */
export class WebhookRepository {
  readonly #deps: PostureDeps
  readonly #edits = new KeyedEdits()
  readonly #room = new QuotaReservation()

  constructor(deps: PostureDeps) {
    this.#deps = deps
  }

  /** Returns the webhooks of an account, oldest first. */
  all(scope: Scope): StoredWebhook[] {
    const found = this.#deps.store.list(WEBHOOKS, scope).map(({ value }) => value)
    return found.filter(live).sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
  }

  /** Returns a webhook. Throws `webhookNotFound`. */
  get(scope: Scope, id: string): StoredWebhook {
    return this.#live(scope, id).value
  }

  /** Returns a webhook, or undefined if it does not exist or was deleted. */
  find(scope: Scope, id: string): StoredWebhook | undefined {
    const found = this.#deps.store.get(WEBHOOKS, scope, id)?.value
    return found && live(found) ? found : undefined
  }

  /** Returns the label of a webhook, deleted or not; empty if it is no longer retained. */
  label(scope: Scope, id: string): string {
    return this.#deps.store.get(WEBHOOKS, scope, id)?.value.label ?? ''
  }

  /** Returns the destination of a webhook that is not stored. Throws with pointers into the body. */
  async candidate(scope: Scope, body: Candidate): Promise<Destination> {
    await this.#check(scope, body)
    const { destination_url, authentication_type, headers = [], signing_secret } = body
    return {
      destination_url,
      authentication_type,
      headers: headers.map(({ key, value }) => ({ key: key.toLowerCase(), value: value ?? '' })),
      signing_secrets: signing_secret === undefined ? [] : [signing_secret],
    }
  }

  /** Returns the destination of a stored webhook. Checks it again, because names can resolve differently. */
  async destination(scope: Scope, id: string): Promise<Destination> {
    const webhook = this.get(scope, id)
    await assertReachable(this.#deps.posture().egress, webhook.destination_url)
    return destinationOf(webhook, scope, this.#deps.posture().vault, this.#deps.clock.now())
  }

  async create(actor: Actor, body: NewWebhook): Promise<StoredWebhook> {
    const { store, clock, posture } = this.#deps
    const { scope } = actor
    await this.#check(scope, body)
    const id = newUuid()
    const now = this.#now()
    const { label, destination_url, authentication_type, status = 'enabled', headers = [], signing_secret } = body
    const value: StoredWebhook = {
      id,
      label,
      destination_url,
      authentication_type,
      status,
      version: 1,
      created_at: now,
      updated_at: now,
      headers: headers.map((header) => this.#sealed(scope, id, header)),
      ...(signing_secret !== undefined && { signing_secret: this.#seal(scope, id, signing_secret) }),
    }
    const places = posture().limits().webhooks - this.all(scope).length
    await this.#room.take(scope.id, places, 'tooManyWebhooks', async () => {
      await store.batch(...audited(clock, actor, { kind: WEBHOOKS, scope, id, after: value }))
    })
    return value
  }

  /** Replaces the configuration. Retains secrets that the body refers to, also for another host. */
  async update(actor: Actor, id: string, body: WebhookChange): Promise<Replaced> {
    const { scope } = actor
    await this.#check(scope, body, id)
    return await this.#edits.run(id, async () => {
      const { value: before, version } = this.#live(scope, id)
      // Another request may have changed the secrets that this one retains.
      assertNoIssues(credentialIssues(body, this.#known(scope, before)))
      const after = this.#changed(scope, before, body)
      await this.#store(actor, version, before, after)
      return { webhook: after, moved: movedKeys(before, after) }
    })
  }

  /** Deletes a webhook. Its secrets are removed immediately. */
  async remove(actor: Actor, id: string): Promise<void> {
    const { store, clock } = this.#deps
    const { scope } = actor
    await this.#edits.run(id, async () => {
      const { value: before, version } = this.#live(scope, id)
      const { signing_secret: _secret, former_secrets: _former, ...rest } = before
      const now = this.#now()
      const after: StoredWebhook = { ...rest, status: 'disabled', headers: [], updated_at: now, deleted_at: now }
      await store.batch(
        [{ kind: WEBHOOKS, scope, id, value: after, ifVersion: version }, ...this.#forgotten(scope)],
        [audit(clock, actor, { kind: WEBHOOKS, scope, id, before })],
      )
    })
  }

  /** Returns the issues that no schema expresses, of the members that are present. `id`: the webhook to update. */
  async issues(scope: Scope, body: Partial<Candidate>, id?: string): Promise<Issue[]> {
    const { destination_url, authentication_type, ...credentials } = body
    const known = id === undefined ? undefined : this.#known(scope, this.get(scope, id))
    const { egress } = this.#deps.posture()
    return [
      ...(destination_url === undefined ? [] : await urlIssues(egress, destination_url)),
      ...(authentication_type === undefined ? [] : credentialIssues({ authentication_type, ...credentials }, known)),
    ]
  }

  async #check(scope: Scope, body: Candidate, id?: string): Promise<void> {
    assertNoIssues(await this.issues(scope, body, id))
  }

  async #store(actor: Actor, version: number, before: StoredWebhook, after: StoredWebhook): Promise<void> {
    const { store, clock } = this.#deps
    const { scope } = actor
    const { id } = before
    await store.batch(...audited(clock, actor, { kind: WEBHOOKS, scope, id, before, after, ifVersion: version }))
  }

  #changed(scope: Scope, before: StoredWebhook, body: WebhookChange): StoredWebhook {
    const { id, created_at } = before
    const { label, destination_url, authentication_type, status, headers = [] } = body
    return {
      id,
      label,
      destination_url,
      authentication_type,
      status,
      version: before.version + 1,
      created_at,
      updated_at: this.#now(),
      headers: headers.map((header) => kept(before, header) ?? this.#sealed(scope, id, header)),
      ...(authentication_type === 'HMAC-Signing' && this.#secrets(scope, before, body.signing_secret)),
      ...(status === 'disabled' && disabledBy(before)),
    }
  }

  /** Returns the signing secrets after a change. A replaced one signs for another day. */
  #secrets(
    scope: Scope,
    { id, signing_secret: current, former_secrets = [] }: StoredWebhook,
    given: string | undefined,
  ): Pick<StoredWebhook, 'signing_secret' | 'former_secrets'> {
    const now = this.#deps.clock.now()
    const signing = former_secrets.filter(
      ({ until, secret }) => Date.parse(until) > now && this.#open(scope, id, secret) !== undefined,
    )
    const before = current && this.#open(scope, id, current)
    const replaced = given !== undefined && before !== undefined && before !== given ? current : undefined
    const until = new Date(now + FORMER_SECRET_MS).toISOString()
    const former: FormerSecret[] = [...(replaced ? [{ secret: replaced, until }] : []), ...signing].slice(0, MAX_FORMER)
    const secret = given !== undefined && given !== before ? this.#seal(scope, id, given) : current
    return { ...(secret && { signing_secret: secret }), ...(former.length > 0 && { former_secrets: former }) }
  }

  /** Removes the oldest deleted webhooks beyond the limit. */
  #forgotten(scope: Scope): Write[] {
    const deleted = this.#deps.store.list(WEBHOOKS, scope).filter(({ value }) => !live(value))
    const byTime = deleted.sort((a, b) => ((a.value.deleted_at ?? '') < (b.value.deleted_at ?? '') ? 1 : -1))
    return byTime.slice(MAX_DELETED - 1).map(({ id }) => ({ kind: WEBHOOKS, scope, id, value: undefined }))
  }

  #live(scope: Scope, id: string): Stored<StoredWebhook> {
    const found = this.#deps.store.get(WEBHOOKS, scope, id)
    if (!found || !live(found.value)) throw new ApiError('webhookNotFound')
    return found
  }

  #known(scope: Scope, { id, headers, signing_secret }: StoredWebhook): Known {
    const values = new Map(headers.map(({ key, value }) => [key, value]))
    return {
      value: (key) => {
        const value = values.get(key)
        return value && this.#open(scope, id, value)
      },
      secret: signing_secret !== undefined && this.#open(scope, id, signing_secret) !== undefined,
    }
  }

  #sealed(scope: Scope, id: string, { key, value }: HeaderInput): StoredWebhook['headers'][number] {
    return { key: key.toLowerCase(), value: this.#seal(scope, id, value ?? '') }
  }

  #seal(scope: Scope, id: string, text: string): Sealed {
    return { sealed: this.#deps.posture().vault.seal(text, secretOf(WEBHOOKS, scope, id)) }
  }

  /** Decrypts a secret. Returns undefined if its key is lost, so that a new secret can replace it. */
  #open(scope: Scope, id: string, { sealed }: Sealed): string | undefined {
    try {
      return this.#deps.posture().vault.open(sealed, secretOf(WEBHOOKS, scope, id))
    } catch {
      return undefined
    }
  }

  #now(): string {
    return new Date(this.#deps.clock.now()).toISOString()
  }
}

/** Outcome of a change. */
export interface Replaced {
  readonly webhook: StoredWebhook
  /** Keys of headers whose stored values go to another host than before. */
  readonly moved: readonly string[]
}

const live = ({ deleted_at }: StoredWebhook): boolean => deleted_at === undefined

/** Returns when and why the daemon disabled a webhook, if it did. */
const disabledBy = ({ disabled_at, disabled_reason }: StoredWebhook): Partial<StoredWebhook> => ({
  ...(disabled_at !== undefined && { disabled_at }),
  ...(disabled_reason !== undefined && { disabled_reason }),
})

/** Returns the keys of the headers whose stored values another host gets from now on. */
function movedKeys(before: StoredWebhook, after: StoredWebhook): string[] {
  if (new URL(before.destination_url).host === new URL(after.destination_url).host) return []
  return after.headers.filter((header) => before.headers.includes(header)).map(({ key }) => key)
}

/** Returns the stored header for a header without a value. */
const kept = ({ headers }: StoredWebhook, { key, value }: HeaderInput): StoredWebhook['headers'][number] | undefined =>
  typeof value === 'string' ? undefined : headers.find((header) => header.key === key.toLowerCase())
