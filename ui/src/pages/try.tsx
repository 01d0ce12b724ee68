import { useState } from 'preact/hooks'
import { post } from '../api.ts'
import { useWork } from '../hooks.ts'
import { bytes, Choice, Field, Panel, percent, Problem, TextField } from '../parts.tsx'
import { Table } from '../table.tsx'
import { usePlace } from '../place.ts'

interface Tried {
  readonly status: number
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly body: string
  readonly body_bytes: number
  readonly truncated: boolean
  readonly milliseconds: number
}
interface Converted {
  readonly markdown: string
  readonly tokens: number
  readonly html_bytes: number
  readonly markdown_bytes: number
  readonly left_out: readonly { readonly what: string; readonly reason: string; readonly count: number }[]
}

/** A page beside its Markdown: from the zone, through the proxy, or from pasted HTML. */
export function Try() {
  const [source, setSource] = useState('zone')
  return (
    <>
      <Panel title="Source">
        <Choice
          label="What to convert"
          value={source}
          options={[
            ['zone', 'A page of the zone, as its clients get it'],
            ['html', 'HTML that you paste'],
          ]}
          onChange={setSource}
        />
        {source === 'zone' ? <FromZone /> : <FromHtml />}
      </Panel>
    </>
  )
}

function FromZone() {
  const { zone, ofZone, ofAccount } = usePlace()
  const [host, setHost] = useState(zone!.name)
  const [path, setPath] = useState('/')
  const [found, setFound] = useState<{
    html: Tried
    markdown: Tried
    page: Converted | undefined
    main: Converted | undefined
  }>()
  const { busy, error, run } = useWork()
  const fetchBoth = async () => {
    const [html, markdown] = await Promise.all(
      ['text/html', 'text/markdown'].map((accept) => post<Tried>(`${ofZone}/edged/try`, { host, path, accept })),
    )
    const [page, main] = await Promise.all(
      ['page', 'main'].map((content) =>
        post<Converted>(`${ofAccount}/edged/convert`, { html: html!.body, content }).catch(() => undefined),
      ),
    )
    setFound({ html: html!, markdown: markdown!, page, main })
  }
  return (
    <>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault()
          run(fetchBoth)
        }}
      >
        <TextField label="Host" value={host} onInput={setHost} required />
        <TextField label="Path" value={path} onInput={setPath} required />
        <button type="submit" class="main" aria-disabled={busy}>
          Try
        </button>
      </form>
      <Problem text={error} />
      {found && (
        <>
          <Sides html={found.html.body} markdown={found.markdown.body} page={found.page} main={found.main} />
          <h3>Responses</h3>
          <div class="halves">
            <Response title="For browsers" tried={found.html} />
            <Response title="For agents" tried={found.markdown} />
          </div>
        </>
      )}
    </>
  )
}

function FromHtml() {
  const { ofAccount } = usePlace()
  const [html, setHtml] = useState('<h1>Hello</h1>\n<p>A <b>page</b>.</p>')
  const [found, setFound] = useState<{ html: string; page: Converted; main: Converted }>()
  const { busy, error, run } = useWork()
  const convert = async () => {
    const ask = (content: string) => post<Converted>(`${ofAccount}/edged/convert`, { html, content })
    const [page, main] = await Promise.all([ask('page'), ask('main')])
    setFound({ html, page, main })
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        run(convert)
      }}
    >
      <Field label="HTML">
        {(id) => (
          <textarea
            id={id}
            rows={8}
            value={html}
            spellcheck={false}
            onInput={(event) => setHtml(event.currentTarget.value)}
          />
        )}
      </Field>
      <button type="submit" class="main" aria-disabled={busy}>
        Convert
      </button>
      <Problem text={error} />
      {found && <Sides html={found.html} markdown={found.page.markdown} page={found.page} main={found.main} />}
    </form>
  )
}

const tokens = (text: string): number => Math.ceil(new TextEncoder().encode(text).length / 4)

/** The page beside its Markdown. */
function Sides({
  html,
  markdown,
  page,
  main,
}: {
  html: string
  markdown: string
  page: Converted | undefined
  main: Converted | undefined
}) {
  const [mode, setMode] = useState('page')
  const shown = mode === 'main' && main !== undefined ? main.markdown : markdown
  const leftOut = (mode === 'main' ? main : page)?.left_out
  return (
    <>
      <Choice
        label="Content"
        value={mode}
        options={[
          ['page', 'The whole page'],
          ['main', 'Main content only'],
        ]}
        onChange={setMode}
      />
      <p aria-live="polite">
        {`HTML about ${tokens(html).toLocaleString()} tokens, Markdown about ${tokens(shown).toLocaleString()} (${percent(tokens(shown), tokens(html))}).`}
      </p>
      <div class="halves">
        <div>
          <h3>Page</h3>
          <iframe title="The page without styles and scripts" sandbox="" srcdoc={html} />
        </div>
        <div>
          <h3>Markdown</h3>
          <pre tabIndex={0} aria-label="Markdown">
            {shown}
          </pre>
        </div>
      </div>
      {leftOut && (
        <details>
          <summary>{`What was left out and why (${leftOut.length})`}</summary>
          <Table
            caption="Left out"
            rows={leftOut}
            empty="Nothing was left out."
            columns={[
              ['Part', ({ what }) => <code>{what}</code>],
              ['Why', ({ reason }) => reason],
              ['Times', ({ count }) => count],
            ]}
          />
        </details>
      )}
    </>
  )
}

const Response = ({ title, tried }: { title: string; tried: Tried }) => (
  <div>
    <h3>{title}</h3>
    <p>
      {`Status ${tried.status}, ${bytes(tried.body_bytes)}${tried.truncated ? ' and more' : ''}, ${tried.milliseconds} ms`}
    </p>
    <Table
      caption={`Header fields: ${title}`}
      rows={tried.headers}
      empty="No header fields."
      columns={[
        ['Field', ({ name }) => <code>{name}</code>],
        ['Value', ({ value }) => <code>{value}</code>],
      ]}
    />
  </div>
)
