import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '../../../src/core/log.js'
import { account, DAEMON } from '../../../src/core/scope.js'
import { kind } from '../../../src/core/store.js'
import { secretOf, type Sealed } from '../../../src/core/vault.js'
import { openStore } from '../../../src/store/index.js'
import { Keyring } from '../../../src/store/secrets/keyring.js'
import { CERTIFICATES, rotate } from '../../../src/store/secrets/reseal.js'
import { openVault, type SecretKeys } from '../../../src/store/secrets/vault.js'
import { ACME_ACCOUNTS, MANAGED_CERTIFICATES } from '../../../src/tls/acme/records.js'
import { testFolder } from '../../helpers/folder.js'

interface Hook {
  readonly signing_secret?: Sealed
  readonly headers?: readonly { readonly key: string; readonly value: Sealed }[]
  readonly user_data?: unknown
}

const HOOKS = kind<Hook>('webhook')
const A = account('a')
const KEY_1 = '01'.repeat(32)
const KEY_2 = randomBytes(32).toString('base64')
const PLANTED = 'planted-secret-7f3a'

const idOf = (key: string, form: 'hex' | 'base64') =>
  createHash('sha256').update(Buffer.from(key, form)).digest('hex').slice(0, 8)

async function vaultIn(folder: string, keys: Partial<SecretKeys> = {}) {
  const store = await openStore('embedded', { folder, log: silentLog })
  try {
    const vault = await openVault(store, { keyFile: join(folder, 'secret.key'), ...keys }, silentLog)
    return { store, vault }
  } catch (error) {
    await store.close()
    throw error
  }
}

async function opened(t: Test, folder: string, keys: Partial<SecretKeys> = {}) {
  const both = await vaultIn(folder, keys)
  t.teardown(() => both.store.close())
  return both
}

t.test('a secret decrypts for the record that it was encrypted for, and for no other', async (t) => {
  const { vault } = await opened(t, testFolder(t))
  const mine = secretOf(HOOKS, A, 'one')
  for (const text of ['', 'x', 'é💥', 'x'.repeat(100_000)]) t.equal(vault.open(vault.seal(text, mine), mine), text)
  const sealed = vault.seal(PLANTED, mine)
  t.not(sealed, vault.seal(PLANTED, mine), 'never the same text twice')
  for (const other of [
    secretOf(HOOKS, A, 'two'),
    secretOf(HOOKS, account('b'), 'one'),
    secretOf(kind('job'), A, 'one'),
    '',
  ])
    t.throws(() => vault.open(sealed, other), /does not fit/)
})

t.test('an encrypted text that was changed does not decrypt', async (t) => {
  const { vault } = await opened(t, testFolder(t))
  const sealed = vault.seal(PLANTED, 'a')
  for (let at = 12; at < sealed.length - 1; at += 1) {
    const other = sealed[at] === 'A' ? 'B' : 'A'
    t.throws(() => vault.open(sealed.slice(0, at) + other + sealed.slice(at + 1), 'a'), { message: /fit/ })
  }
  for (const wrong of ['', 'v1', 'v1..', 'v2' + sealed.slice(2), sealed.slice(0, 30), `${sealed}=`, ` ${sealed}`])
    t.throws(() => vault.open(wrong, 'a'))
})

t.test('a key is created once, for its owner only, and found again', async (t) => {
  const folder = testFolder(t)
  const first = await vaultIn(folder)
  const sealed = first.vault.seal(PLANTED, 'a')
  await first.store.close()
  const file = join(folder, 'secret.key')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.match(readFileSync(file, 'utf8'), /^[0-9a-f]{64}\n$/)
  t.same(readdirSync(folder).sort(), ['secret.key', 'store'])
  chmodSync(file, 0o400)
  const second = await vaultIn(folder)
  t.equal(second.vault.open(sealed, 'a'), PLANTED)
  await second.store.close()

  rmSync(file)
  await t.rejects(vaultIn(folder), /key file .* is missing, and the store holds secrets/)
  t.throws(() => statSync(file), 'no new key hides the loss')
})

t.test('a wrong or invalid key is rejected without revealing the key', async (t) => {
  const folder = testFolder(t)
  const first = await vaultIn(folder, { key: KEY_1 })
  await first.store.close()
  await t.rejects(vaultIn(folder, { key: KEY_2 }), {
    message: new RegExp(`key has id ${idOf(KEY_2, 'base64')}, but .* sealed with key ${idOf(KEY_1, 'hex')}`),
  })
  const again = await vaultIn(folder, { key: KEY_1.toUpperCase() })
  await again.store.close()
  for (const key of ['', 'short', KEY_1.slice(1), `${KEY_1}00`, `${KEY_1}!`]) {
    const error = await vaultIn(testFolder(t), { key }).catch((error: unknown) => error)
    t.match(error, { message: 'secrets.key is not a key; use 64 hexadecimal digits or 44 characters of base64' })
  }
})

t.test('rotation encrypts the keys of certificates too', async (t) => {
  const folder = testFolder(t)
  const before = await vaultIn(folder, { key: KEY_1 })
  const ring = new Keyring(before.vault.deriveAll(CERTIFICATES))
  const kinds = [ACME_ACCOUNTS, MANAGED_CERTIFICATES] as const
  for (const kind of kinds) {
    const key = ring.seal(`key of ${kind.name}`, secretOf(kind, DAEMON, 'a.example'))
    await before.store.batch([{ kind, scope: DAEMON, id: 'a.example', value: { key, orders: [], failures: 0 } }])
  }
  await before.store.batch([
    { kind: MANAGED_CERTIFICATES, scope: DAEMON, id: 'none.example', value: { orders: [], failures: 1 } },
  ])
  await before.store.close()
  const during = await vaultIn(folder, { key: KEY_2, oldKeys: [KEY_1] })
  t.same(await rotate(during.store, during.vault), { resealed: 3, failed: 0 })
  t.same(await rotate(during.store, during.vault), { resealed: 0, failed: 0 })
  await during.store.close()
  const after = await opened(t, folder, { key: KEY_2 })
  const renewed = new Keyring(after.vault.deriveAll(CERTIFICATES))
  for (const kind of kinds) {
    const { key = '' } = after.store.get<{ key?: string }>(kind, DAEMON, 'a.example')!.value
    t.equal(renewed.open(key, secretOf(kind, DAEMON, 'a.example')), `key of ${kind.name}`)
  }
})

t.test('rotation encrypts every secret with the new key and changes nothing else', async (t) => {
  const folder = testFolder(t)
  const before = await vaultIn(folder, { key: KEY_1 })
  const imitation = { sealed: `v1.${idOf(KEY_1, 'hex')}.${'A'.repeat(60)}` }
  for (let index = 0; index < 150; index += 1) {
    const aad = secretOf(HOOKS, A, String(index))
    const seal = (text: string) => ({ sealed: before.vault.seal(`${text}${index}`, aad) })
    await before.store.batch([
      {
        kind: HOOKS,
        scope: A,
        id: String(index),
        value: { signing_secret: seal('s'), headers: [{ key: 'X', value: seal('h') }] },
      },
    ])
  }
  const user_data = [imitation, { sealed: 'v1.x' }, { sealed: 1 }, { sealed: 'a', more: 1 }]
  const plain = await before.store.batch([{ kind: HOOKS, scope: A, id: 'user', value: { user_data } }])
  await before.store.close()

  const during = await vaultIn(folder, { key: KEY_2, oldKeys: [KEY_1] })
  t.equal(
    during.vault.open(during.store.get(HOOKS, A, '7')!.value.signing_secret!.sealed, secretOf(HOOKS, A, '7')),
    's7',
  )
  t.same(await rotate(during.store, during.vault), { resealed: 301, failed: 1 })
  t.same(await rotate(during.store, during.vault), { resealed: 0, failed: 1 }, 'a second time finds nothing to do')
  await during.store.close()

  const after = await opened(t, folder, { key: KEY_2 })
  for (const { id, value } of after.store.list(HOOKS, A)) {
    if (id === 'user') continue
    const aad = secretOf(HOOKS, A, id)
    t.equal(after.vault.open(value.signing_secret!.sealed, aad), `s${id}`)
    t.equal(after.vault.open(value.headers![0]!.value.sealed, aad), `h${id}`)
  }
  t.match(after.store.get(HOOKS, A, 'user'), { version: plain, value: { user_data } })
  await after.store.close()
  await t.rejects(vaultIn(folder, { key: KEY_1 }), /sealed with key/)
})

t.test('no file of the store contains the plain text of an encrypted secret', async (t) => {
  const folder = testFolder(t)
  const { store, vault } = await vaultIn(folder)
  const aad = secretOf(HOOKS, A, 'one')
  const value = { signing_secret: { sealed: vault.seal(PLANTED, aad) }, user_data: 'marker-in-plain-text' }
  await store.batch([{ kind: HOOKS, scope: A, id: 'one', value }])
  await store.close()
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const all = files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join('\n')
  t.match(all, 'marker-in-plain-text', 'the search can find something')
  t.notMatch(all, PLANTED)
  t.notMatch(all, Buffer.from(PLANTED).toString('base64').slice(0, 20))
  t.notMatch(all, Buffer.from(PLANTED).toString('hex'))
})
