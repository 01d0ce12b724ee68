import { useState } from 'react'
import { placed, post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Segments, TextArea } from '../../parts/fields.tsx'
import { count } from '../../parts/format.ts'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import styles from './cache.module.css'

/** What can be purged: name in the API, title, one of them, how they are written. */
const KINDS = [
  ['files', 'URLs', 'URL', 'Whole URLs or paths, one per line: https://ZONE/style.css or /style.css'],
  ['prefixes', 'Prefixes', 'prefix', 'Beginnings of paths, with or without host, one per line: ZONE/images or /images'],
  ['tags', 'Tags', 'tag', 'Tags of the Cache-Tag field, one per line'],
  ['hosts', 'Hosts', 'host', 'Host names, one per line'],
  ['everything', 'Everything', '', ''],
] as const

type Kind = (typeof KINDS)[number][0]

/** Removes cached responses, so that the next request asks the origin. */
export function Purge() {
  const { zone, ofZone } = usePlace()
  const toast = useToast()
  const confirm = useConfirm()
  const [kind, setKind] = useState<Kind>('files')
  const [text, setText] = useState('')
  const [, , one, hint] = KINDS.find(([name]) => name === kind)!
  const lines = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  // A path alone is one of the zone itself.
  const before = kind === 'files' ? `https://${zone!.name}` : kind === 'prefixes' ? zone!.name : ''
  const names = before === '' ? lines : lines.map((line) => (line.startsWith('/') ? before + line : line))
  const work = useWork(async () => {
    await post(`${ofZone}/purge_cache`, kind === 'everything' ? { purge_everything: true } : { [kind]: names })
    toast(
      kind === 'everything'
        ? `The cache of ${zone!.name} is empty.`
        : `${count(names.length, one, `${one}${one === 'prefix' ? 'es' : 's'}`)} purged.`,
    )
    setText('')
  }, [ofZone])
  const errors = placed(work.failure, [`/${kind}`])
  const everything = async (): Promise<void> => {
    const isSure = await confirm({
      title: `Purge everything of ${zone!.name}?`,
      text: 'Every cached response of the zone is removed. Origins get more requests until the cache is filled again.',
      verb: 'Purge everything',
    })
    if (isSure) work.start()
  }
  return (
    <form
      className={styles['purge']}
      onSubmit={(event) => {
        event.preventDefault()
        if (kind === 'everything') void everything()
        else work.start()
      }}
    >
      <Segments
        label="What to purge"
        value={kind}
        options={KINDS.map(([name, title]) => [name, title])}
        onChange={(next) => {
          setKind(next as Kind)
          work.reset()
        }}
      />
      {kind === 'everything' ? (
        <p>Removes every cached response of {zone!.name}.</p>
      ) : (
        <TextArea
          label={KINDS.find(([name]) => name === kind)![1]}
          hint={hint.replaceAll('ZONE', zone!.name)}
          rows={4}
          value={text}
          onChange={setText}
          error={errors.at(`/${kind}`)}
        />
      )}
      {errors.rest !== undefined && (
        <p className="bad" role="alert">
          {errors.rest}
        </p>
      )}
      <div>
        <Button
          type="submit"
          kind={kind === 'everything' ? 'danger' : 'primary'}
          busy={work.busy}
          disabled={kind !== 'everything' && names.length === 0}
        >
          {kind === 'everything'
            ? 'Purge everything…'
            : names.length === 0
              ? 'Purge'
              : `Purge ${count(names.length, one, `${one}${one === 'prefix' ? 'es' : 's'}`)}`}
        </Button>
      </div>
    </form>
  )
}
