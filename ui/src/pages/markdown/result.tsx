import { useMemo, useState } from 'react'
import { Diff } from '../../parts/diff.tsx'
import { Segments } from '../../parts/fields.tsx'
import { bytes, ms, number, percent } from '../../parts/format.ts'
import { Code } from '../../parts/panel.tsx'
import { Notice } from '../../parts/states.tsx'
import { DataTable } from '../../parts/table.tsx'
import { plainLines, quietPage, tokensOf } from './page-text.ts'
import styles from './markdown.module.css'

/** A response of the zone. */
export interface Tried {
  readonly status: number
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly body: string
  readonly body_bytes: number
  readonly truncated: boolean
  readonly milliseconds: number
}

export interface Converted {
  readonly markdown: string
  readonly left_out: readonly { readonly what: string; readonly reason: string; readonly count: number }[]
}

/** A page with its Markdown. */
export interface Found {
  readonly html: string
  /** Of a page of the zone. */
  readonly responses?: { readonly html: Tried; readonly markdown: Tried }
  readonly page: Converted | undefined
  readonly main: Converted | undefined
}

/** The page, its Markdown, their difference, and what was left out. */
export function Result({ found }: { found: Found }) {
  const { html, responses, page, main } = found
  const [view, setView] = useState('sides')
  const [content, setContent] = useState('page')
  const converted = content === 'main' ? main : page
  const sent = responses?.markdown
  const isSent = sent !== undefined && /markdown/.test(fieldOf(sent, 'content-type'))
  const markdown = content === 'page' && isSent ? sent.body : (converted?.markdown ?? '')
  const [before, after] = [tokensOf(html), tokensOf(markdown)]
  return (
    <div className={styles['result']}>
      {sent && !isSent && (
        <Notice kind="warn">
          The zone does not send this page as Markdown: the response has status {sent.status} and the type{' '}
          {fieldOf(sent, 'content-type') || 'of no content'}.
        </Notice>
      )}
      <div className={styles['choices']}>
        <Segments
          label="View"
          value={view}
          options={[
            ['sides', 'Page and Markdown'],
            ['markdown', 'Markdown'],
            ['diff', 'Difference'],
          ]}
          onChange={setView}
        />
        <Segments
          label="Content"
          value={content}
          options={[
            ['page', 'Whole page'],
            ['main', 'Main content'],
          ]}
          onChange={setContent}
        />
        <p aria-live="polite">
          About {number(before)} tokens as HTML → {number(after)} as Markdown (
          {percent(Math.max(0, before - after), before)} saved)
        </p>
      </div>
      {view === 'diff' ? (
        <Difference html={html} markdown={markdown} />
      ) : (
        <Sides html={html} markdown={markdown} isBoth={view === 'sides'} />
      )}
      {converted && <LeftOut parts={converted.left_out} />}
      {responses && (
        <details>
          <summary>Responses</summary>
          <div className={styles['sides']}>
            <Response title="For browsers" tried={responses.html} />
            <Response title="For agents" tried={responses.markdown} />
          </div>
        </details>
      )}
    </div>
  )
}

const fieldOf = ({ headers }: Tried, wanted: string): string =>
  headers.find(({ name }) => name.toLowerCase() === wanted)?.value ?? ''

function Sides({ html, markdown, isBoth }: { html: string; markdown: string; isBoth: boolean }) {
  const quiet = useMemo(() => quietPage(html), [html])
  return (
    <div className={isBoth ? styles['sides'] : undefined}>
      {isBoth && (
        <iframe className={styles['page']} title="The page without styles and scripts" sandbox="" srcDoc={quiet} />
      )}
      <Code label="Markdown" text={markdown} />
    </div>
  )
}

/** Text that browsers show, compared with the text of the Markdown. */
function Difference({ html, markdown }: { html: string; markdown: string }) {
  const texts = useMemo(() => plainLines(html, markdown), [html, markdown])
  return (
    <>
      <p className="soft">Text of the page, compared with the text of the Markdown. Removed lines were left out.</p>
      <Diff before={texts.page} after={texts.markdown} label="Difference of the page and its Markdown" />
    </>
  )
}

function LeftOut({ parts }: { parts: Converted['left_out'] }) {
  if (parts.length === 0) return <p className="soft">Nothing was left out.</p>
  return (
    <details>
      <summary>What was left out ({number(parts.length)})</summary>
      <DataTable
        label="Left out"
        rows={parts}
        sortParam="left"
        keyOf={({ what, reason }) => `${what} ${reason}`}
        columns={[
          { key: 'what', title: 'Part', card: 'title', cell: ({ what }) => <code>{what}</code> },
          { key: 'reason', title: 'Why', card: 'fact', cell: ({ reason }) => reason },
          { key: 'count', title: 'Times', numeric: true, width: 96, card: 'state', cell: ({ count }) => number(count) },
        ]}
      />
    </details>
  )
}

const Response = ({ title, tried }: { title: string; tried: Tried }) => (
  <div>
    <h3>{title}</h3>
    <p>
      Status {tried.status}, {bytes(tried.body_bytes)}
      {tried.truncated ? ' and more' : ''}, {ms(tried.milliseconds)}
    </p>
    <Code
      label={`Header fields: ${title}`}
      text={tried.headers.map(({ name, value }) => `${name}: ${value}`).join('\n')}
    />
  </div>
)
