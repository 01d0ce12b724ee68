import { useEffect, useRef, useState } from 'react'
import { useParam } from '../../address.tsx'
import { post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Segments, TextArea, TextField } from '../../parts/fields.tsx'
import { Panel } from '../../parts/panel.tsx'
import { usePlace } from '../../place.tsx'
import { Result, type Converted, type Found, type Tried } from './result.tsx'
import styles from './markdown.module.css'

/** A page beside its Markdown: from the zone, through the proxy, or HTML that one pastes. */
export function Preview() {
  const [source, setSource] = useState('zone')
  return (
    <Panel
      title="Preview"
      actions={
        <Segments
          label="What to convert"
          value={source}
          options={[
            ['zone', 'A page of the zone'],
            ['html', 'HTML that you paste'],
          ]}
          onChange={setSource}
        />
      }
    >
      {source === 'zone' ? <OfZone /> : <OfHtml />}
    </Panel>
  )
}

/** Returns host and path of a path, or of a whole address. */
function partsOf(text: string, zone: string): { host: string; path: string } {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    return { host: zone, path: text.startsWith('/') ? text : `/${text}` }
  const { host, pathname, search } = new URL(text)
  return { host, path: pathname + search }
}

function OfZone() {
  const { zone, ofZone, ofAccount } = usePlace()
  const [url, setUrl] = useParam('url')
  const [text, setText] = useState(url || '/')
  const [found, setFound] = useState<Found>()
  const work = useWork<string, Found>(async (address) => {
    const { host, path } = partsOf(address, zone!.name)
    const [html, markdown] = await Promise.all(
      ['text/html', 'text/markdown'].map((accept) => post<Tried>(`${ofZone}/edged/try`, { host, path, accept })),
    )
    const [page, main] = await bothOf(ofAccount, html!.body, true)
    return { html: html!.body, responses: { html: html!, markdown: markdown! }, page, main }
  }, [])
  const run = (address: string): void => void work.run(address).then(setFound, () => setFound(undefined))
  const isLinked = useRef(url !== '')
  useEffect(() => {
    if (isLinked.current) run(url)
    isLinked.current = false
  })
  return (
    <>
      <form
        className={styles['ask']}
        onSubmit={(event) => {
          event.preventDefault()
          setUrl(text)
          run(text)
        }}
      >
        <TextField label="Path or address" value={text} onChange={setText} required error={work.error} />
        <Button type="submit" kind="primary" busy={work.busy}>
          Preview
        </Button>
      </form>
      {found && <Result found={found} />}
    </>
  )
}

function OfHtml() {
  const { ofAccount } = usePlace()
  const [html, setHtml] = useState('')
  const [found, setFound] = useState<Found>()
  const work = useWork<void, Found>(async () => {
    const [page, main] = await bothOf(ofAccount, html, false)
    return { html, page, main }
  }, [])
  return (
    <>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void work.run().then(setFound, () => setFound(undefined))
        }}
      >
        <TextArea label="HTML" rows={8} value={html} onChange={setHtml} error={work.error} />
        <div>
          <Button type="submit" kind="primary" busy={work.busy} disabled={html === ''}>
            Convert
          </Button>
        </div>
      </form>
      {found && <Result found={found} />}
    </>
  )
}

/** Converts the whole page and its main content. `isLoose`: a page that cannot be converted gives nothing. */
const bothOf = async (ofAccount: string, html: string, isLoose: boolean) =>
  await Promise.all(
    ['page', 'main'].map(async (content) => {
      const converted = post<Converted>(`${ofAccount}/edged/convert`, { html, content })
      return isLoose ? await converted.catch(() => undefined) : await converted
    }),
  )
