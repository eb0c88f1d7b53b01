import CommandKit
import Holdfast
import LinkCore
import LinkRuntime
import LinkWire
import MessageStream
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// `holdfast stream`: follows a shop until a signal, a final answer or its time ends it.
enum StreamCommand {
  private static let journal = Parameter.optional(
    "journal", .text("FILE"),
    "record every decision there for `replay`; holds messages, no tokens; an earlier journal is "
      + "kept as FILE.old1, and so on")
  private static let noRealtime = Parameter.flag("no-realtime", "poll only, open no socket")
  private static let sendInput = Parameter.flag(
    "send-stdin", "send each line of standard input; usual on a terminal")
  private static let once = Parameter.flag(
    "once",
    "end when it is caught up and all that was to be sent is answered: with 0, or 1 when some was "
      + "not sent or stored, or 6 when the server cannot be reached")
  private static let older = Parameter.option(
    "older", .integer("N", 0...10_000), default: 0,
    "first fetch as many messages that are older than those shown")
  private static let duration = Parameter.optional(
    "duration", .duration(.milliseconds(1) ... .seconds(366 * 86_400)), usual: "for ever",
    "end after this long, with 0; with --once, when that is not done by then, as when it cannot be")

  static var command: Command {
    Command(
      "stream", "follow a shop's messages",
      details: [
        """
        Shows what is kept, fetches what was missed, then follows the shop, and goes on trying \
        however often the network goes. SIGINT and SIGTERM end it with 0, a second one at once; \
        output that nobody takes is given up after 2 s, with 1. SIGHUP refreshes; SIGUSR1 sends \
        it to the background, SIGUSR2 back to the foreground.
        """,
        """
        Standard input is read no faster than the server takes its lines: at most 1,000 wait. A \
        line over 10,000 characters is refused with a notice. Lines that could not be stored, as \
        on a full disk, make its end one with 1.
        """,
        StreamEvents.details, StreamConnection.details,
      ],
      examples: [
        .init(
          "holdfast stream --server https://shop.example --shop bakery",
          "with the token in HOLDFAST_TOKEN"),
        .init(
          "holdfast stream --server http://127.0.0.1:8787 --shop bakery --json "
            + "--token-command 'holdfast token --user ann --shops bakery'",
          "against `holdfast serve`, with tokens that never run out"),
        .init(
          "holdfast stream --server https://shop.example --shop bakery --set retry.first=1s,5s",
          "with another schedule; `policy show message-stream` lists the keys"),
      ],
      takes: StreamConnection.server, StreamConnection.shop, StreamConnection.token,
      StreamConnection.tokenFile, StreamConnection.tokenCommand, StreamConnection.auth,
      Shared.data, StreamConnection.authorities, StreamConnection.plaintext,
      StreamConnection.proxy, StreamConnection.policyFile, Shared.settings, journal, noRealtime,
      older, sendInput, once, duration, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    var connection = try StreamConnection(call, named: "holdfast stream")
    connection.configuration.journal = call[journal]
    connection.configuration.realtime = !call[noRealtime]
    let directory = try call.dataDirectory()
    let store: any TimelineStore
    do {
      store = try await Platform.store(in: directory)
    } catch {
      throw CommandFailure(error)
    }
    let screen = screen(call)
    let view: any StreamView
    if let screen {
      view = screen
    } else if call[Shared.json] {
      view = StreamObjects(console: call.console)
    } else {
      view = StreamLines(console: call.console)
    }
    let failure: CommandFailure?
    do throws(CommandFailure) {
      failure = try await follow(call, connection, store, view, screen)
    } catch {
      failure = error
    }
    await view.end()
    await store.close()
    if let failure { throw await connection.told(failure) }
  }

  /// A screen where there is a terminal that can be one.
  private static func screen(_ call: Invocation) -> StreamScreen? {
    guard !call[Shared.json], isatty(STDOUT_FILENO) == 1, call.environment("TERM") != "dumb" else {
      return nil
    }
    return StreamScreen(style: call.console.style, reads: isatty(STDIN_FILENO) == 1)
  }

  /// Answers with what ended it, `nil` when it was told to end.
  private static func follow(
    _ call: Invocation, _ connection: StreamConnection, _ store: any TimelineStore,
    _ view: any StreamView, _ screen: StreamScreen?
  ) async throws(CommandFailure) -> CommandFailure? {
    // From here on no signal has its usual effect, which is to end the process.
    let signals = FollowSignals(stuck: stuck, hurry: hurry)
    let environment = connection.environment(store: store, lifecycle: signals.lifecycle)
    let stream: ShopStream
    do {
      stream = try await ShopStreams(environment).open(connection.configuration) { error in
        call.console.diagnostic("holdfast stream: \(error)")
      }
    } catch {
      throw CommandFailure(.failed, error.description)
    }
    return await run(stream, call, view, screen, until: signals)
  }

  /// Reads the stream to its end; whatever ends it closes it, so that all of it is shown.
  private static func run(
    _ stream: ShopStream, _ call: Invocation, _ view: any StreamView, _ screen: StreamScreen?,
    until signals: FollowSignals
  ) async -> CommandFailure? {
    let isTyped = isatty(STDIN_FILENO) == 1
    let sender = Task { isTyped || call[sendInput] ? await send(to: stream, view, screen) : 0 }
    let end: @Sendable () async -> Void = { await close(stream, after: sender) }
    let work = OnceWork(isDone: !call[once])
    let (scrolled, scrolling) = AsyncStream.makeStream(of: Void.self)
    return await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await signals.stop(); await end()
      }
      if let limit = call[duration] {
        group.addTask {
          if await wait(limit) { work.end(.late) }
          await end()
        }
      }
      group.addTask {
        await lookBack(stream, call[older], view, until: scrolled)
        guard call[once] else { return }
        await finish(stream, isTyped ? nil : sender)
        work.end(.done)
        await end()
      }
      if let screen { group.addTask { await screen.run() } }
      // The end of a terminal's input ends the command, that of a pipe does not.
      if isTyped {
        group.addTask {
          _ = await sender.value; await end()
        }
      }
      let (failure, ending) = await read(stream, call, view, scrolling)
      await end()
      group.cancelAll()
      return await verdict(failure, ending, work, stream, call, await sender.value)
    }
  }

  /// First the input, so that an endless one cannot hold up the end, nor a line come after it.
  private static func close(_ stream: ShopStream, after sender: Task<Int, Never>) async {
    sender.cancel()
    _ = await sender.value
    await stream.close()
  }

  /// What is told at the end; what was to be sent and is lost comes first.
  private static func verdict(
    _ failure: CommandFailure?, _ ending: StreamEnding, _ work: OnceWork, _ stream: ShopStream,
    _ call: Invocation, _ refused: Int
  ) async -> CommandFailure? {
    let unstored = await stream.snapshot.outbox.unstoredCount
    if let told = StreamEnding.unstored(unstored) ?? failure { return told }
    if work.isLate, let limit = call[duration] { return ending.late(after: limit) }
    return call[once] ? StreamEnding.unsent(refused + ending.failed) : nil
  }

  /// Returns when the input has ended, what is shown is whole, and all that was sent is answered.
  private static func finish(_ stream: ShopStream, _ sender: Task<Int, Never>?) async {
    _ = await sender?.value
    await stream.settled { $0.isWhole && !$0.hasQueued }
  }

  /// Scrolls back when it is whole, and says when there is more.
  private static func lookBack(
    _ stream: ShopStream, _ count: Int, _ view: any StreamView, until scrolled: AsyncStream<Void>
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
    _ stream: ShopStream, _ call: Invocation, _ view: any StreamView,
    _ scrolling: AsyncStream<Void>.Continuation
  ) async -> (CommandFailure?, StreamEnding) {
    var ending = StreamEnding(
      shop: stream.configuration.shop, isOnce: call[once],
      tries: stream.configuration.policy.tries, since: BootClock().wall)
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

  /// True when the time is over, false when cancelled.
  private static func wait(_ time: Duration) async -> Bool {
    let clock = BootClock()
    guard (try? await clock.wait(until: clock.now.advanced(by: time))) != nil else { return false }
    Console.watchOutput(stuck)
    return true
  }

  /// Sends what is typed or piped in until its end; says how many lines were refused.
  private static func send(
    to stream: ShopStream, _ view: any StreamView, _ screen: StreamScreen?
  ) async -> Int {
    var refused = 0
    guard let screen else {
      var lines = StreamInput(InputLines()).makeAsyncIterator()
      while await hasRoom(stream), let line = await lines.next() {
        guard line.bytes > 0 else { continue }
        if let fault = line.fault {
          refused += 1
          await view.note("too-long", fault)
        } else {
          stream.send(line.text)
        }
      }
      return refused
    }
    for await keys in StreamInput(InputKeys()) {
      for text in await screen.type(Array(keys)) {
        guard let text else { return refused }
        if let fault = StreamText.fault(of: text) {
          refused += 1
          await view.note("too-long", "this was not sent: \(fault)")
        } else {
          _ = await hasRoom(stream)
          stream.send(text)
        }
      }
    }
    return refused
  }

  /// Waits until the store has what was sent before, and for room, unless only what failed for good
  /// fills the outbox: then the stream says so. False when cancelled.
  private static func hasRoom(_ stream: ShopStream) async -> Bool {
    await stream.settled {
      $0.outbox.unstoredCount == 0
        && ($0.outbox.entries.count < $0.settings.outboxLimit || !$0.hasQueued)
    }
    return !Task.isCancelled
  }

  private static func hurry() -> Never {
    StreamTerminal.restore()
    Console.abandon("holdfast stream: ended at once by a second signal")
  }

  private static func stuck() -> Never {
    StreamTerminal.restore()
    Console.abandon(
      "holdfast stream: nobody takes the output; ended without writing the rest of it")
  }
}

extension StreamModel {
  /// Whether something waits to be sent.
  fileprivate var hasQueued: Bool {
    outbox.entries.contains { if case .queued = $0.state { true } else { false } }
  }
}

extension LinkPolicy {
  /// How many tries a series has.
  fileprivate var tries: Int { retry.first.attempts ?? .max }
}

/// What came first: the end of what `--once` waits for, or of its time.
private final class OnceWork: Sendable {
  enum End { case done, late }

  private let first: Mutex<End?>

  init(isDone: Bool) {
    first = Mutex(isDone ? .done : nil)
  }

  var isLate: Bool { first.withLock { $0 == .late } }

  func end(_ end: End) {
    first.withLock { $0 = $0 ?? end }
  }
}
