import { Page } from '../../parts/page.tsx'

export default function Markdown() {
  return <Page>Markdown</Page>
}
