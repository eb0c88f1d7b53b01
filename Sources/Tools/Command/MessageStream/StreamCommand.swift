import CommandKit
import Holdfast
import LinkCore
import LinkWire
import MessageStream

/// `holdfast stream`: follows a shop's messages.
enum StreamCommand {
  private static let noRealtime = Parameter.flag(
    "no-realtime", "poll over HTTP instead of opening a WebSocket")
  private static let sendInput = Parameter.flag(
    "send-stdin", "send each line of standard input as a message; always on for a terminal")
  private static let once = Parameter.flag(
    "once",
    "end as soon as it has caught up and the server has answered everything that was sent: with "
      + "status 0, with 1 if a message was not sent or stored, or with 6 if the server cannot be "
      + "reached")
  private static let older = Parameter.option(
    "older", .integer("N", 0...10_000), default: 0,
    "first fetch this many messages that are older than those shown")
  private static let duration = Parameter.optional(
    "duration", .duration(.milliseconds(1) ... .seconds(366 * 86_400)), usual: "no limit",
    "end after this time with status 0; with --once, with a failure if it has not finished")

  /// A message has at most 10,000 characters of 4 bytes.
  static let longestLine = 40_000

  static var command: Command {
    Command(
      "stream", "follow a shop's messages",
      details: [
        """
        Shows the stored messages, fetches those that were missed, then follows the shop. \
        Reconnects whenever the connection is lost. \
        \(LinkRun.details(onHangup: "refreshes"))
        """,
        """
        Standard input is read only as fast as the server accepts its lines: at most 1,000 lines \
        wait. A line over 10,000 characters is refused with a notice. If lines cannot be stored, \
        for instance on a full disk, the exit status is 1.
        """,
        StreamUpdate.details, Connection.tokenDetails,
      ],
      examples: [
        .init(
          "holdfast stream --server https://shop.example --shop bakery",
          "with the token in HOLDFAST_TOKEN"),
        .init(
          "holdfast stream --server http://127.0.0.1:8787 --shop bakery --json "
            + "--token-command 'holdfast token --user ann --shops bakery'",
          "from `holdfast serve`, with a new token whenever one expires"),
        .init(
          "holdfast stream --server https://shop.example --shop bakery --set retry.first=1s,5s",
          "with another retry schedule; `policy show message-stream` lists the keys"),
      ],
      signals: LinkRun.signals,
      takes: Connection.server, StreamConnection.shop, Connection.token, Connection.tokenFile,
      Connection.tokenCommand, StreamConnection.auth, Shared.data, Connection.authorities,
      Connection.plaintext, Connection.proxy, Connection.policyFile, Shared.settings,
      Shared.journal, noRealtime, older, sendInput, once, duration, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    var connection = try StreamConnection(call)
    connection.configuration.journal = call[Shared.journal]
    connection.configuration.realtime = !call[noRealtime]
    let directory = try call.dataDirectory()
    let store: any TimelineStore
    do {
      store = try await Platform.store(in: directory)
    } catch {
      throw CommandFailure(error)
    }
    let screen = call.screen(of: StreamUpdate.self, longest: longestLine)
    let view: any LinkView<StreamUpdate> = screen ?? call.view(of: StreamUpdate.self)
    let failure: CommandFailure?
    do throws(CommandFailure) {
      failure = try await follow(call, connection, store, view, screen)
    } catch {
      failure = error
    }
    await view.end()
    await store.close()
    if let failure { throw await connection.reported(failure) }
  }

  /// Follows the stream to its end; returns `nil` if it was told to end.
  private static func follow(
    _ call: Invocation, _ connection: StreamConnection, _ store: any TimelineStore,
    _ view: any LinkView<StreamUpdate>, _ screen: Screen<StreamUpdate>?
  ) async throws(CommandFailure) -> CommandFailure? {
    let run = LinkRun(call)
    let environment = connection.environment(store: store, lifecycle: run.lifecycle)
    let stream = try await open(connection, environment, call)
    let sender = Task {
      Invocation.isTyped || call[sendInput] ? await input(of: stream).run(view, screen) : 0
    }
    let work = OnceWork(isDone: !call[once])
    let (failure, ending) = await run.follow(
      for: call[duration], late: { work.end(.late) }, sender: sender, drawing: screen?.run,
      close: { await stream.close() }
    ) { group, end in
      let (scrolled, scrolling) = AsyncStream.makeStream(of: Void.self)
      group.addTask {
        await lookBack(stream, call[older], view, until: scrolled)
        guard call[once] else { return }
        if !Invocation.isTyped { _ = await sender.value }
        await stream.settled { $0.isWhole && !$0.hasQueued }
        work.end(.done)
        await end()
      }
      return await read(stream, call, view, scrolling)
    }
    return await verdict(failure, ending, work, stream, call, await sender.value)
  }

  private static func open(
    _ connection: StreamConnection, _ environment: StreamEnvironment, _ call: Invocation
  ) async throws(CommandFailure) -> ShopStream {
    do {
      return try await ShopStreams(environment).open(connection.configuration) { error in
        call.diagnostic(error.description)
      }
    } catch {
      throw CommandFailure(.failed, error.description)
    }
  }

  /// Returns the failure to report; messages that were not stored come first.
  private static func verdict(
    _ failure: CommandFailure?, _ ending: StreamEnding, _ work: OnceWork, _ stream: ShopStream,
    _ call: Invocation, _ refused: Int
  ) async -> CommandFailure? {
    let unstored = await stream.snapshot.outbox.unstoredCount
    if let told = StreamEnding.unstored(unstored) ?? failure { return told }
    if work.isLate, let limit = call[duration] { return ending.late(after: limit) }
    return call[once] ? StreamEnding.unsent(refused + ending.failed) : nil
  }

  /// Requests older messages after it has caught up, and notes if there are more.
  private static func lookBack(
    _ stream: ShopStream, _ count: Int, _ view: any LinkView<StreamUpdate>,
    until scrolled: AsyncStream<Void>
  ) async {
    await stream.whole()
    if count > 0 {
      stream.loadOlder()
      for await _ in scrolled {}
    }
    let model = await stream.snapshot
    guard model.isWhole, model.hasOlder else { return }
    await view.note("older-messages", StreamText.hasOlder)
  }

  private static func read(
    _ stream: ShopStream, _ call: Invocation, _ view: any LinkView<StreamUpdate>,
    _ scrolling: AsyncStream<Void>.Continuation
  ) async -> (CommandFailure?, StreamEnding) {
    var ending = StreamEnding(
      shop: stream.configuration.shop, isOnce: call[once],
      tries: stream.configuration.policy.retry.first.attempts ?? .max, since: BootClock().wall)
    var scroll = StreamScroll(by: call[older])
    for await update in stream {
      switch scroll.step(after: update) {
      case .show: await view.show(update)
      case .hold: break
      case .ask: stream.loadOlder()
      case .end(let messages):
        await view.show(.messages(messages, via: .history))
        scrolling.finish()
      }
      if let failure = ending.failure(after: update) { return (failure, ending) }
    }
    await view.show(.messages(scroll.finish(), via: .history))
    return (nil, ending)
  }

  private static func input(of stream: ShopStream) -> InputSender {
    InputSender(
      longest: longestLine, fault: StreamText.fault,
      // Waits until earlier messages are stored and there is room. An outbox that is full of
      // permanently failed messages does not block: the stream then reports that it is full.
      hasRoom: {
        await stream.settled {
          $0.outbox.unstoredCount == 0
            && ($0.outbox.entries.count < $0.settings.outboxLimit || !$0.hasQueued)
        }
        return !Task.isCancelled
      },
      // The screen shows what waits.
      delay: { nil },
      send: { stream.send($0) })
  }
}

extension StreamModel {
  /// Whether a message waits to be sent.
  fileprivate var hasQueued: Bool {
    outbox.entries.contains { if case .queued = $0.state { true } else { false } }
  }
}
