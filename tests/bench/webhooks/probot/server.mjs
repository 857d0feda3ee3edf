// Probot with a handler that does nothing, for the bench: says its port's readiness on one line.
import { readFileSync } from "node:fs";
import { Probot, Server } from "probot";
import { pino } from "pino";

const { PORT, KEY_FILE, WEBHOOK_SECRET } = process.env;
const server = new Server({
  host: "127.0.0.1",
  port: Number(PORT),
  webhookPath: "/webhook",
  log: pino({ level: "silent" }),
  Probot: Probot.defaults({
    appId: 1,
    privateKey: readFileSync(KEY_FILE, "utf8"),
    secret: WEBHOOK_SECRET,
    logLevel: "fatal",
  }),
});
await server.load((app) => {
  app.on("issues.labeled", async () => {});
});
await server.start();
console.log(PORT);
