"""pnpm: package.json, pnpm-lock.yaml and pnpm-workspace.yaml."""
