import { of, type Mutant } from './mutant.js'

/** Guards of data in crashes, on full disks and on several machines. */
export const DURABILITY: readonly Mutant[] = [
  ...of(
    'src/disk/durable-write.ts',
    'test/disk/durable-write.test.ts',
    [`await file.datasync()`, ''],
    [`await folder.sync()`, ''],
    [`await syncFolder(disk, folder)\n}`, '}'],
    [`await syncFolder(disk, dirname(entry))`, ';'],
  ),
  ...of('src/store/level/format.ts', 'test/store/level/format.test.ts', [`{ sync: true }`, '{ sync: false }']),
  ...of(
    'src/store/level/check.ts',
    'test/store/level-damage.test.ts',
    [`return (last?.version ?? witness.tables) >= witness.version`, 'return true'],
    [`isCertain ||= isLog && found.isCertain`, ''],
    [`  await assertUnlocked(folder)\n`, ''],
    [`  await copyStore(folder, copy)\n  return { witnessed, loss, copy }`, '  return { witnessed, loss, copy }'],
  ),
  ...of('src/store/level/level.ts', 'test/store/level-damage.test.ts', [`await this.#witness.write(meta)`, '']),
  ...of('src/store/level/witness.ts', 'test/store/level/witness.test.ts', [`await this.#file.datasync()`, '']),
  ...of(
    'src/disk/write-health.ts',
    'test/disk/write-health.test.ts',
    [`pause = Math.min(pause * 2, MAX_PAUSE_MS)`, 'pause = pause * 1'],
    [`join(await makeFolder(disk, folder), TRIAL)`, 'join(folder, TRIAL)'],
    [
      `        this.#failing.set(folder, reasonOf(error))\n        return\n`,
      '        this.#failing.set(folder, reasonOf(error))\n',
    ],
  ),
  ...of('src/store/blobs/file-blobs.ts', 'test/store/blobs.test.ts', [`health?.failed(folder, error)`, '']),
  ...of('pipelines/logpush/spool/durable-spool.ts', 'test/pipelines/logpush/spool-faults.test.ts', [
    `      this.#deps.failed()\n      this.#deps.health.failed(this.#folder, error)`,
    '      this.#deps.failed()',
  ]),
  ...of(
    'pipelines/logpush/spool/segments.ts',
    'test/pipelines/logpush/spool-removals.test.ts',
    [`await disk.rename(last.path, empty.path)`, 'Object.assign(empty, { path: last.path })'],
    [`left.push(segment)`, 'throw error'],
  ),
  ...of('pipelines/logpush/spool/cursors.ts', 'test/pipelines/logpush/spool-removals.test.ts', [
    `      this.#all.delete(name)\n      this.#ended.set(name, cursor)`,
    '      this.#ended.set(name, cursor)',
  ]),
  ...of('src/edge/cache/files/journal.ts', 'test/edge/cache/purge-durability.test.ts', [`await file.datasync()`, '']),
  ...of('src/edge/cache/files/owner.ts', 'test/edge/cache/purge-durability.test.ts', [
    `      await this.#syncRemovals()\n`,
    '',
  ]),
  ...of('src/store/level/level.ts', 'test/store/level/create.test.ts', [
    `await confirmCreated(folder, options)`,
    'void 0',
  ]),
  ...of('src/webhooks/sender.ts', 'test/webhooks/sender.test.ts', [
    `if (this.#leases?.isPresent === false) return`,
    'if (false) return',
  ]),
  ...of('pipelines/logpush/batch-name.ts', 'test/pipelines/logpush/batch-name.test.ts', [
    `hashOf(origin, [origin.records])`,
    'hashOf(origin)',
  ]),
  ...of('pipelines/logpush/spool/segments.ts', 'test/pipelines/logpush/spool-model.test.ts', [
    `await file.datasync()`,
    '',
  ]),
  ...of('pipelines/logpush/spool/cursors.ts', 'test/pipelines/logpush/spool-model.test.ts', [
    `await file.datasync()`,
    '',
  ]),
  ...of('pipelines/logpush/spool/recover.ts', 'test/pipelines/logpush/spool-model.test.ts', [
    `await file.datasync()`,
    '',
  ]),

  // The home of Workers' data, and deletions at a limit.
  ...of(
    'src/daemon/machines/home-file.ts',
    'test/daemon/machines/home-file.test.ts',
    [`(await nameIn(file)) ?? proposed`, 'proposed'],
    [`if (isCode(error, 'ENOENT')) return undefined`, 'return undefined'],
    [`await file.datasync()`, ''],
    [`  await syncFolder(disk, folder)\n`, ''],
    [`return NAME.test(name) ? name : undefined`, 'return name'],
    [`'wx+'`, `'w+'`],
  ),
  ...of(
    'pipelines/logpush/spool/nats/retention.ts',
    'test/pipelines/logpush/nats-retention.test.ts',
    [`this.#unanswered = deletion\n`, '\n'],
    [`Math.max(0, lost.length - purged)`, '0'],
    [`await store.caughtUp()`, ''],
    [`this.#before + 1`, 'info.state.last_seq + 1'],
    [`    await this.#repeat()\n    const oldest`, '    const oldest'],
    [`if (deletion.stream === this.#deps.link.ready.id)`, 'if (true)'],
    [`message.acceptedAt >= before`, 'false'],
    [`Math.max(first, needed)`, 'first'],
    [`if (!(await leases.tryHold(DAEMON, LEASE))) continue`, 'await leases.tryHold(DAEMON, LEASE)'],
  ),
  ...of(
    'src/webhooks/retention.ts',
    'test/webhooks/retention.test.ts',
    [`, ifVersion: version`, ''],
    [`value.status === 'completed' || value.status === 'failed'`, 'true'],
    [`index < over.length - jobs || `, ''],
    [` || value.last_updated_at < old`, ''],
  ),
]
