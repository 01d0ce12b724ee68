# Build: docker build -t edged .      Run: docker run -p 8080:8080 -e EDGED_ADMIN_TOKEN=... -e EDGED_ORIGIN=http://... -v edged-data:/data edged
# Or mount a configuration of your own, whose listeners use 0.0.0.0: -v ./edged.yaml:/etc/edged/edged.yaml:ro
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY src src
COPY pipelines pipelines
COPY sinks sinks
COPY control control
COPY ui ui
COPY packages packages
COPY docs docs
RUN npm run build && npm prune --omit=dev

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY config config
COPY demo demo
COPY config/container/edged.yaml /etc/edged/edged.yaml
RUN mkdir /data && chown node:node /data && ln -s /app/dist/src/cli.js /usr/local/bin/edged && chmod +x dist/src/cli.js
USER node
VOLUME /data
EXPOSE 8080 8787
# The admin listener stays on loopback, inside the container.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9901/livez').then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--enable-source-maps", "dist/src/cli.js"]
CMD ["serve", "-c", "/etc/edged/edged.yaml"]
