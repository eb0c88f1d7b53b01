import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastSession
import HoldfastSessionData

/// The command `holdfast session`: exchanges prompts and answers over one reliable socket.
package enum SessionCommand {
  private static let server = Parameter.required(
    "server", .text("URL"), variable: "HOLDFAST_SERVER",
    "the server: wss:// or https://HOST[:PORT][/PATH], or ws:// or http:// to this machine; "
      + "without a path, /session")
  private static let keyFile = Parameter.required(
    "key-file", .text("FILE"), variable: "HOLDFAST_SESSION_KEY_FILE",
    "a file that contains the key alone; read again when the server refuses the key")
  private static let conversation = Parameter.optional(
    "conversation", .uuid("ID", of: "a conversation's id"),
    usual: "the one that was used last, or a new one", "the conversation of the prompts")
  private static let answerTimeout = Parameter.option(
    "answer-timeout", .duration(SessionSettings.leastAnswerTimeout ... .seconds(86_400)),
    default: SessionSettings.usualAnswerTimeout,
    "the longest silence of a server without idempotency keys about a prompt; then the state of "
      + "the prompt is unsure")
  private static let once = Parameter.flag(
    "once",
    "end when all prompts, including those left by earlier runs, are answered and stored: with "
      + "status 0; with 1 if a prompt failed or its outcome is unknown, if the server has no "
      + "sessions at this path, or if nobody reads the output; with 6 if the server cannot be "
      + "reached in 6 attempts")

  /// The maximum length of a line in bytes, which is the maximum length of a prompt.
  private static let longestLine = 524_288

  package static var command: Command {
    Command(
      "session", "send prompts to a server and show its answers",
      details: [
        """
        Each line of standard input is one prompt; empty lines are skipped. A prompt is stored \
        before it is sent and answered exactly once, even if this program or the server is killed; \
        messages are stored before they are acknowledged, and shown once over all runs with the \
        same data directory. Reconnects whenever the connection is lost, up to 20 times in a row. \
        \(LinkRun.details(onHangup: "tries again at once, and then with the first waits"))
        """,
        """
        It ends with 3 if the server refuses the key, with 4 if the server needs a newer version, \
        with 5 if TLS fails, and with 6 if the server cannot be reached. A line has at most \
        524,288 bytes of UTF-8, and 983,040 as JSON; another one is refused with a notice. The \
        end of a pipe ends the command only with --once. At most 1,000 prompts wait for an \
        answer; then the pipe is not read.
        """,
        SessionUpdate.details,
      ],
      examples: [
        .init(
          "holdfast session --server http://127.0.0.1:8787 --key-file key",
          "talk with `holdfast serve --session-key-file key`"),
        .init(
          "make-prompts | holdfast session --server wss://agent.example --key-file key --once "
            + "--json", "send what a program writes, and end when all of it is answered"),
      ],
      signals: LinkRun.signals,
      takes: server, keyFile, conversation, Shared.data, Connection.authorities,
      Connection.plaintext, Connection.proxy, Connection.policyFile, Shared.settings,
      Shared.journal, answerTimeout, once, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let call = call.promising(call[once])
    let address = try address(call)
    let key = try SecretFile(call[keyFile], option: "--key-file", "key")
    let store = try await call.withData { (directory) throws(StoreFailure) in
      try await HoldfastPlatform.sessionStore(in: directory)
    }
    try await store.closing { () throws(CommandFailure) in
      var configuration = SessionConfiguration(
        address.url, storage: .store(store), tokens: key.source)
      configuration.allowsPlaintext = call[Connection.plaintext]
      configuration.policy = try Connection.policy(call, preset: .session)
      configuration.answerTimeout = call[answerTimeout]
      configuration.conversation = call[conversation]?.description
      configuration.journal = call[Shared.journal]
      configuration.ports.network = try Connection.network(call, to: address)
      configuration.ports.reachability = PathPipe.named(by: call)
      let (failure, shown) = try await follow(call, configuration)
      // The session takes no mark of news that were shown while it was being closed.
      var mark = ClientSessionChange()
      mark.shown = shown
      if !mark.isEmpty { _ = try? await store.commit(mark) }
      if let failure { throw failure }
    }
  }

  /// Returns the server's address, with a WebSocket scheme and a path.
  private static func address(_ call: Invocation) throws(CommandFailure) -> ServerAddress {
    var address = try ServerAddress.socket(
      call[server], option: call.source(of: server),
      allowsPlaintext: call[Connection.plaintext])
    let rest = address.url.drop { $0 != ":" }.dropFirst(3)
    guard let slash = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else {
      address.url += "/session"
      return address
    }
    if rest[slash...] == "/" { address.url += "session" }
    return address
  }

  /// Follows the session until it ends. Returns its failure, and the number of the last news item
  /// that was shown.
  private static func follow(
    _ call: Invocation, _ configuration: SessionConfiguration
  ) async throws(CommandFailure) -> (failure: CommandFailure?, shown: UInt64?) {
    let run = LinkRun(call)
    let session = try await open(call, configuration, run)
    let screen = call.screen(of: SessionUpdate.self, longest: longestLine)
    let view: any LinkView<SessionUpdate> = screen ?? call.view(of: SessionUpdate.self)
    if !call[Shared.json] { await showHistory(session, view) }
    let sending = Task { await input(of: session).run(view, screen) }
    let work = OnceWork(isDone: !call[once])
    var ending = SessionRunEnding(isOnce: call[once])
    var shown: UInt64?
    let failure = await run.follow(
      stopped: { work.end(.stopped) }, sender: sending, drawing: screen?.run,
      close: { await session.close() }
    ) { group, end -> CommandFailure? in
      if call[once] {
        group.addTask {
          await waitUntilDone(session, sending)
          work.end(.done)
          await end()
        }
      }
      var failure: CommandFailure?
      for await update in session.lastingUpdates {
        await view.show(update)
        shown = markShown(update, session) ?? shown
        // Updates up to the end are also marked, so that the next run does not show them again.
        guard failure == nil, let found = ending.failure(after: update) else { continue }
        failure = found
        group.addTask { await end() }
      }
      return failure
    }
    await view.end()
    guard failure == nil, call[once] else { return (failure, shown) }
    let unsent = work.isStopped ? 0 : await sending.value
    return (onceFailure(work, ending.failed + unsent), shown)
  }

  /// Marks the news of an update as shown. Returns its number, or `nil` if there is none.
  private static func markShown(_ update: SessionUpdate, _ session: HeldSession) -> UInt64? {
    update.news.map { session.markShown(through: $0) }
    return update.news
  }

  /// Returns the failure of a run with `--once` that left this many prompts without an answer.
  private static func onceFailure(_ work: OnceWork, _ left: Int) -> CommandFailure? {
    work.isStopped
      ? .stopped("all prompts were answered") : .left(left, "prompt", "not answered")
  }

  /// Waits until all prompts of standard input are answered and all news was shown.
  private static func waitUntilDone(_ session: HeldSession, _ sending: Task<Int, Never>) async {
    if !Invocation.isTyped { _ = await sending.value }
    await session.waitUntil { $0.isIdle && $0.isShown && $0.isCaughtUp }
  }

  /// Opens the session with the lifecycle of the run.
  private static func open(
    _ call: Invocation, _ configuration: SessionConfiguration, _ run: LinkRun
  ) async throws(CommandFailure) -> HeldSession {
    var configuration = configuration
    configuration.ports.lifecycle = run.lifecycle
    return try await CommandFailure.opening { () throws(OpenError) in
      try await HeldSession(configuration) { call.diagnostic($0.description) }
    }
  }

  /// Shows the newest messages of the conversation.
  private static func showHistory(
    _ session: HeldSession, _ view: any LinkView<SessionUpdate>
  ) async {
    guard let stored = try? await session.history(limit: 50) else { return }
    for entry in stored { await view.show(.message(entry, via: .history, news: 0)) }
  }

  private static func input(of session: HeldSession) -> InputSender {
    InputSender(
      longest: longestLine, fault: { _ in nil },
      // Waits until earlier prompts are stored and there is room.
      hasRoom: {
        await session.waitUntil {
          $0.queue.unstoredCount == 0 && $0.unanswered < 900 || $0.isStopped
        }
        return !Task.isCancelled
      },
      // The screen already shows the waiting prompts.
      delay: { nil },
      send: { session.prompt($0) })
  }
}
