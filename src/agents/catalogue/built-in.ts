import type { AgentEntry } from './form.js'

type Facts = Partial<Omit<AgentEntry, 'name' | 'operator' | 'category'>>

/** Returns the function for agents of a purpose. `user_agent` is their name unless it is set. */
const agents =
  (category: AgentEntry['category'], verified: AgentEntry['verified_bot_category']) =>
  (operator: string, name: string, facts: Facts = {}): AgentEntry => ({
    name,
    operator,
    category,
    verified_bot_category: verified,
    user_agent: [name],
    ...facts,
  })

const crawler = agents('ai_crawler', 'AI Crawler')
const aiSearch = agents('ai_search', 'AI Search')
const assistant = agents('ai_assistant', 'AI Assistant')
const searchEngine = agents('search_engine', 'Search Engine Crawler')
const archiver = agents('archiver', 'Archiver')
const monitoring = agents('monitoring', 'Monitoring & Analytics')
const other = agents('other', 'Other')

const GOOGLE_LISTS = 'https://developers.google.com/static/crawling/ipranges'
const GOOGLE = { ip_list: [`${GOOGLE_LISTS}/common-crawlers.json`], rdns: ['.googlebot.com', '.google.com'] }

/**
 * Agents known in November 2026. Facts come from the pages of their operators and from public lists. An entry whose addresses or suffixes
 * were not confirmed there has no `verify`, so it stays unverified.
 */
export const BUILT_IN: readonly AgentEntry[] = [
  crawler('OpenAI', 'GPTBot', { verify: { ip_list: ['https://openai.com/gptbot.json'] }, asks_for_markdown: false }),
  aiSearch('OpenAI', 'OAI-SearchBot', {
    verify: { ip_list: ['https://openai.com/searchbot.json'] },
    asks_for_markdown: false,
  }),
  assistant('OpenAI', 'ChatGPT-User', {
    verify: { ip_list: ['https://openai.com/chatgpt-user.json'] },
    asks_for_markdown: false,
  }),
  assistant('OpenAI', 'ChatGPT agent', {
    user_agent: [],
    verify: { web_bot_auth: ['https://chatgpt.com'] },
    asks_for_markdown: false,
  }),
  other('OpenAI', 'OAI-AdsBot', { verified_bot_category: 'Advertising & Marketing' }),
  assistant('OpenAI', 'Codex', { user_agent: ['codex_cli', 'codex-cli'], asks_for_markdown: false }),
  crawler('Anthropic', 'ClaudeBot', {
    verify: { ip_list: ['https://claude.com/crawling/bots.json'] },
    asks_for_markdown: false,
  }),
  aiSearch('Anthropic', 'Claude-SearchBot'),
  assistant('Anthropic', 'Claude-User', { asks_for_markdown: false }),
  assistant('Anthropic', 'Claude Code', {
    user_agent: ['claude-code'],
    wins_over: ['Claude-User'],
    asks_for_markdown: true,
  }),
  crawler('Anthropic', 'anthropic-ai'),
  assistant('Anthropic', 'Claude-Web'),
  aiSearch('Perplexity', 'PerplexityBot', {
    verify: { ip_list: ['https://www.perplexity.ai/perplexitybot.json'] },
    asks_for_markdown: false,
  }),
  assistant('Perplexity', 'Perplexity-User', {
    verify: { ip_list: ['https://www.perplexity.ai/perplexity-user.json'] },
    asks_for_markdown: false,
  }),
  searchEngine('Google', 'Googlebot', { verify: GOOGLE, asks_for_markdown: false }),
  other('Google', 'GoogleOther', { verify: GOOGLE, asks_for_markdown: false }),
  searchEngine('Google', 'Google-InspectionTool', { verify: GOOGLE, asks_for_markdown: false }),
  searchEngine('Google', 'Storebot-Google', { verify: GOOGLE, asks_for_markdown: false }),
  crawler('Google', 'Google-CloudVertexBot', { verify: GOOGLE, asks_for_markdown: false }),
  crawler('Google', 'Google-Extended', { user_agent: [], robots_only: true }),
  other('Google', 'AdsBot-Google', {
    verified_bot_category: 'Advertising & Marketing',
    verify: { ip_list: [`${GOOGLE_LISTS}/special-crawlers.json`], rdns: ['.googlebot.com', '.google.com'] },
    asks_for_markdown: false,
  }),
  other('Google', 'Mediapartners-Google', {
    verified_bot_category: 'Advertising & Marketing',
    verify: { ip_list: [`${GOOGLE_LISTS}/special-crawlers.json`], rdns: ['.googlebot.com', '.google.com'] },
    asks_for_markdown: false,
  }),
  other('Google', 'FeedFetcher-Google', {
    verified_bot_category: 'Feed Fetcher',
    verify: {
      ip_list: [`${GOOGLE_LISTS}/user-triggered-fetchers.json`, `${GOOGLE_LISTS}/user-triggered-fetchers-google.json`],
      rdns: ['.google.com', '.googleusercontent.com'],
    },
    asks_for_markdown: false,
  }),
  assistant('Google', 'Google-Agent', {
    user_agent: ['Google-Agent', 'GoogleAgent-'],
    verify: { ip_list: [`${GOOGLE_LISTS}/user-triggered-agents.json`], web_bot_auth: ['https://agent.bot.goog'] },
  }),
  assistant('Google', 'Google-NotebookLM', {
    user_agent: ['Google-NotebookLM', 'Google-GeminiNotebook'],
    verify: {
      ip_list: [
        `${GOOGLE_LISTS}/user-triggered-fetchers.json`,
        `${GOOGLE_LISTS}/user-triggered-fetchers-google.json`,
        `${GOOGLE_LISTS}/user-triggered-agents.json`,
      ],
    },
  }),
  assistant('Google', 'Gemini-Deep-Research'),
  assistant('Google', 'Gemini CLI', { user_agent: ['Google-Gemini-CLI', 'GeminiCLI'] }),
  searchEngine('Microsoft', 'Bingbot', {
    user_agent: ['bingbot'],
    verify: { ip_list: ['https://www.bing.com/toolbox/bingbot.json'], rdns: ['.search.msn.com'] },
    asks_for_markdown: false,
  }),
  aiSearch('Microsoft', 'AzureAI-SearchBot'),
  aiSearch('Apple', 'Applebot', {
    verify: { ip_list: ['https://search.developer.apple.com/applebot.json'], rdns: ['.applebot.apple.com'] },
    asks_for_markdown: false,
  }),
  crawler('Apple', 'Applebot-Extended', { user_agent: [], robots_only: true }),
  crawler('Amazon', 'Amazonbot', { verify: { rdns: ['.crawl.amazonbot.amazon'] }, asks_for_markdown: false }),
  aiSearch('Amazon', 'Amzn-SearchBot'),
  assistant('Amazon', 'Amzn-User'),
  crawler('Amazon', 'bedrockbot'),
  assistant('Amazon', 'AgentCore Browser', { user_agent: [] }),
  crawler('Meta', 'Meta-ExternalAgent', {
    user_agent: ['meta-externalagent'],
    verify: { web_bot_auth: ['https://www.meta.com', 'https://meta.com'] },
    asks_for_markdown: false,
  }),
  assistant('Meta', 'Meta-ExternalFetcher', { user_agent: ['meta-externalfetcher'], asks_for_markdown: false }),
  aiSearch('Meta', 'Meta-WebIndexer', { user_agent: ['meta-webindexer'] }),
  crawler('Meta', 'FacebookBot', { asks_for_markdown: false }),
  other('Meta', 'facebookexternalhit', { verified_bot_category: 'Page Preview', asks_for_markdown: false }),
  crawler('ByteDance', 'Bytespider', { asks_for_markdown: false }),
  crawler('ByteDance', 'TikTokSpider'),
  crawler('Common Crawl', 'CCBot', {
    verify: { ip_list: ['https://index.commoncrawl.org/ccbot.json'], rdns: ['.crawl.commoncrawl.org'] },
    asks_for_markdown: false,
  }),
  searchEngine('DuckDuckGo', 'DuckDuckBot', { asks_for_markdown: false }),
  assistant('DuckDuckGo', 'DuckAssistBot', { asks_for_markdown: false }),
  assistant('Mistral', 'MistralAI-User'),
  assistant('Cohere', 'cohere-ai'),
  crawler('Cohere', 'cohere-training-data-crawler'),
  crawler('Diffbot', 'Diffbot', { asks_for_markdown: false }),
  aiSearch('You.com', 'YouBot', { verify: { web_bot_auth: ['https://you.com'] } }),
  crawler('Ai2', 'AI2Bot', { user_agent: ['AI2Bot', 'Ai2Bot-Dolma'] }),
  crawler('DeepSeek', 'DeepSeekBot'),
  assistant('Moonshot AI', 'Kimi-User'),
  crawler('Huawei', 'PanguBot'),
  crawler('Zhipu AI', 'ChatGLM-Spider'),
  assistant('Alibaba', 'TongyiBot'),
  assistant('Baidu', 'YiyanBot'),
  aiSearch('Exa', 'ExaBot', { user_agent: ['ExaBot', 'ExaSearchBot'] }),
  aiSearch('Tavily', 'TavilyBot'),
  aiSearch('Linkup', 'LinkupBot'),
  aiSearch('Parallel', 'ShapBot', { user_agent: ['ShapBot', 'Shap-User'] }),
  searchEngine('Brave', 'Bravebot'),
  assistant('Kagi', 'kagi-fetcher'),
  assistant('Phind', 'PhindBot'),
  crawler('Firecrawl', 'FirecrawlAgent'),
  crawler('Crawl4AI users', 'Crawl4AI'),
  crawler('Apify', 'ApifyBot', { user_agent: ['ApifyBot', 'ApifyWebsiteContentCrawler'] }),
  assistant('Browserbase', 'Browserbase', {
    user_agent: [],
    verify: { web_bot_auth: ['https://www.browserbase.com', 'https://browserbase.com'] },
    asks_for_markdown: false,
  }),
  assistant('Anchor', 'Anchor Browser', { user_agent: [], asks_for_markdown: false }),
  assistant('Cognition', 'Devin', { word: true }),
  assistant('Cursor', 'Cursor', { word: true, asks_for_markdown: true }),
  assistant('OpenCode', 'OpenCode', { user_agent: ['opencode'], asks_for_markdown: true }),
  assistant('Manus', 'Manus-User'),
  crawler('Timpi', 'Timpibot'),
  crawler('Hive', 'ImagesiftBot'),
  crawler('Webz.io', 'omgili', { user_agent: ['omgili', 'Webzio'] }),
  searchEngine('Huawei', 'PetalBot', { asks_for_markdown: false }),
  searchEngine('Yandex', 'YandexBot', { asks_for_markdown: false }),
  crawler('Yandex', 'YandexAdditional', { verify: { rdns: ['.yandex.ru', '.yandex.net', '.yandex.com'] } }),
  searchEngine('Baidu', 'Baiduspider', { asks_for_markdown: false }),
  searchEngine('Naver', 'Yeti', { user_agent: ['Yeti/'], asks_for_markdown: false }),
  searchEngine('Seznam', 'SeznamBot', { asks_for_markdown: false }),
  searchEngine('Mojeek', 'MojeekBot', { asks_for_markdown: false }),
  searchEngine('Qwant', 'Qwantbot', { user_agent: ['Qwantbot', 'Qwantify'], asks_for_markdown: false }),
  archiver('Internet Archive', 'archive.org_bot', {
    user_agent: ['archive.org_bot', 'ia_archiver', 'Wayback'],
    asks_for_markdown: false,
  }),
  archiver('Arquivo.pt', 'Arquivo-web-crawler', { asks_for_markdown: false }),
  other('Ahrefs', 'AhrefsBot', {
    verified_bot_category: 'Search Engine Optimization',
    user_agent: ['AhrefsBot', 'AhrefsSiteAudit'],
    verify: { ip_list: ['https://api.ahrefs.com/v3/public/crawler-ips'], rdns: ['.ahrefs.com', '.ahrefs.net'] },
    asks_for_markdown: false,
  }),
  other('Semrush', 'SemrushBot', {
    verified_bot_category: 'Search Engine Optimization',
    user_agent: ['SemrushBot', 'SiteAuditBot'],
    asks_for_markdown: false,
  }),
  other('Moz', 'DotBot', {
    verified_bot_category: 'Search Engine Optimization',
    user_agent: ['DotBot', 'rogerbot'],
    asks_for_markdown: false,
  }),
  other('Majestic', 'MJ12bot', { verified_bot_category: 'Search Engine Optimization', asks_for_markdown: false }),
  monitoring('UptimeRobot', 'UptimeRobot', {
    verify: { ip_list: ['https://uptimerobot.com/inc/files/ips/IPv4andIPv6.txt'] },
    asks_for_markdown: false,
  }),
  monitoring('Better Stack', 'Better Stack', {
    user_agent: ['Better Uptime Bot', 'Better Stack Better Uptime'],
    verify: { ip_list: ['https://betteruptime.com/ips.txt'] },
    asks_for_markdown: false,
  }),
  monitoring('SolarWinds', 'Pingdom', {
    verify: { ip_list: ['https://my.pingdom.com/probes/ipv4', 'https://my.pingdom.com/probes/ipv6'] },
    asks_for_markdown: false,
  }),
  monitoring('StatusCake', 'StatusCake', { asks_for_markdown: false }),
  monitoring('Zoho', 'Site24x7', { asks_for_markdown: false }),
  monitoring('Datadog', 'DatadogSynthetics', { asks_for_markdown: false }),
  other('X', 'Twitterbot', { verified_bot_category: 'Page Preview', asks_for_markdown: false }),
  other('LinkedIn', 'LinkedInBot', { verified_bot_category: 'Page Preview', asks_for_markdown: false }),
  other('Slack', 'Slackbot', {
    verified_bot_category: 'Page Preview',
    user_agent: ['Slackbot', 'Slack-ImgProxy'],
    asks_for_markdown: false,
  }),
  other('Discord', 'Discordbot', { verified_bot_category: 'Page Preview', asks_for_markdown: false }),
  other('Telegram', 'TelegramBot', {
    verified_bot_category: 'Page Preview',
    verify: { ip_list: ['https://core.telegram.org/resources/cidr.txt'] },
    asks_for_markdown: false,
  }),
  other('Pinterest', 'Pinterestbot', {
    verified_bot_category: 'Aggregator',
    user_agent: ['Pinterestbot', 'Pinterest/'],
    asks_for_markdown: false,
  }),
  other('Mark Nottingham', 'REDbot', {
    verified_bot_category: 'Monitoring & Analytics',
    verify: { web_bot_auth: ['https://redbot.org'] },
    asks_for_markdown: false,
  }),
  other('Shopify', 'Shopify', {
    user_agent: [],
    verify: { web_bot_auth: ['https://www.shopify.com', 'https://shopify.com'] },
    asks_for_markdown: false,
  }),
]
