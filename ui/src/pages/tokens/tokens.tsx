import { Page } from '../../parts/page.tsx'

export default function Tokens() {
  return <Page>Tokens</Page>
}
