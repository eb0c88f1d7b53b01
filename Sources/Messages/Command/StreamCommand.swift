import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts

/// The command `holdfast stream`: follows a shop's messages.
package enum StreamCommand {
  private static let shop = Parameter.repeated(
    "shop", atLeast: 1, Format.shop, variable: "HOLDFAST_SHOP",
    "the shop's id; several times to follow up to 5 shops")
  private static let noRealtime = Parameter.flag(
    "no-realtime", "poll over HTTP instead of opening a WebSocket")
  private static let sendInput = Parameter.flag(
    "send-stdin", "send each line of standard input as a message; always on for a terminal")
  private static let once = Parameter.flag(
    "once",
    "end as soon as it has caught up and the server has answered everything that was sent: with "
      + "status 0, with 1 if a message was not sent or stored or the server has an error, or with "
      + "6 if the server cannot be reached")
  private static let older = Parameter.option(
    "older", .integer("N", 0...10_000), default: 0,
    "first fetch this many messages that are older than those shown")
  private static let duration = Parameter.optional(
    "duration", .duration(.milliseconds(1) ... .seconds(366 * 86_400)), usual: "no limit",
    "end after this time with status 0; with --once, with a failure if it has not finished")

  /// The maximum length of a line in bytes. A message has at most 10,000 characters of up to 4
  /// bytes.
  package static let longestLine = 40_000

  package static var command: Command {
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
        wait. A line over 10,000 characters, or 10,240 bytes as JSON with the other members of a \
        message, is refused with a notice. If lines cannot be stored, \
        for instance on a full disk, the exit status is 1.
        """,
        """
        With several shops each line begins with [SHOP], each JSON event has a member "shop", and \
        standard input is not read. They share the data directory, which one process can use at a \
        time. The command ends as soon as one of them ends, such as a shop that the token does not \
        admit to.
        """,
        StreamDeliveries.details, StreamUpdate.details, Connection.tokenDetails,
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
        .init(
          "holdfast stream --server https://shop.example --shop bakery --json --consumer indexer "
            + "| indexer", "every message reaches the indexer, across restarts of both"),
      ],
      signals: LinkRun.signals,
      takes: Connection.server, shop, Connection.token, Connection.tokenFile,
      Connection.tokenCommand, StreamConnection.auth, Shared.data, Connection.authorities,
      Connection.plaintext, Connection.proxy, Connection.policyFile, Shared.settings,
      Shared.journal, noRealtime, older, StreamDeliveries.consumer, StreamDeliveries.from,
      StreamDeliveries.confirm, sendInput, once, duration, StreamText.ids, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let call = call.promising(call[once])
    let shops = try shops(call)
    var connection = try StreamConnection(call, shop: shops[0])
    connection.configuration.journal = call[Shared.journal]
    connection.configuration.realtime = !call[noRealtime]
    let directory = try call.dataDirectory()
    let store: any TimelineStore
    do {
      store = try await HoldfastPlatform.store(in: directory)
    } catch {
      throw inUse(error, directory)
    }
    let isOne = shops.count == 1
    let screen = isOne ? call.screen(of: QuotedUpdate.self, longest: longestLine) : nil
    let views = shops.map { shop in
      StreamView(
        screen ?? call.view(of: QuotedUpdate.self, shop: isOne ? nil : shop.text),
        showsIDs: call[StreamText.ids])
    }
    let failure: CommandFailure?
    do throws(CommandFailure) {
      failure = try await follow(call, connection, shops, store, views, screen)
    } catch {
      failure = error
    }
    for view in views { await view.end() }
    await store.close()
    if let failure { throw await connection.reported(failure) }
  }

  /// Returns the shops to follow, without duplicates.
  ///
  /// - Throws: A usage error if there are too many shops, or if there are several shops and an
  ///   option that allows only one.
  private static func shops(_ call: Invocation) throws(CommandFailure) -> [ShopID] {
    var shops: [ShopID] = []
    for shop in call[shop] where !shops.contains(shop) { shops.append(shop) }
    guard shops.count <= ShopStreams.limit else {
      throw CommandFailure(
        .usage, "\(shops.count) shops are given, and \(ShopStreams.limit) can be followed at once",
        remedy: "follow the others in a process with another --data directory")
    }
    let isForOne =
      call[sendInput] || call[StreamDeliveries.confirm] || call[Shared.journal] != nil
    guard shops.count == 1 || !isForOne else {
      throw CommandFailure(
        .usage, "--send-stdin, --confirm and --journal need a single --shop",
        remedy: "use `send` to post, or follow one shop")
    }
    try StreamDeliveries.check(call, sendsInput: call[sendInput])
    return shops
  }

  /// Returns the failure for a second process that uses the data directory. It explains how to
  /// follow several shops.
  private static func inUse(_ failure: StoreFailure, _ directory: String) -> CommandFailure {
    guard case .locked = failure else { return CommandFailure(failure) }
    return CommandFailure(
      .failed, "another process uses \(directory)",
      remedy: "end it, follow all shops in one process by several --shop options, or use another "
        + "data directory")
  }

  /// Follows the streams until they end. Returns `nil` if a signal ended the run.
  private static func follow(
    _ call: Invocation, _ connection: StreamConnection, _ shops: [ShopID],
    _ store: any TimelineStore, _ views: [StreamView], _ screen: Screen<QuotedUpdate>?
  ) async throws(CommandFailure) -> CommandFailure? {
    let run = LinkRun(call)
    let all = try await connection.streams(in: store, lifecycle: run.lifecycle)
    let streams = try await open(shops, of: all, connection, call)
    let followed = try await follow(streams, call, store, views)
    let sender = input(call, streams, views[0], screen)
    let work = OnceWork(isDone: !call[once])
    let waiting = Countdown(streams.count)
    let (failure, endings) = await run.follow(
      for: call[duration], late: { work.end(.late) }, stopped: { work.end(.stopped) },
      sender: sender, drawing: screen?.run,
      close: { for shop in followed { await shop.close() } }
    ) { group, end in
      var scrolls: [AsyncStream<Void>.Continuation] = []
      for shop in followed {
        let (scrolled, scrolling) = AsyncStream.makeStream(of: Void.self)
        scrolls.append(scrolling)
        group.addTask {
          await fetchOlder(shop, call[older], until: scrolled)
          guard call[once] else { return }
          if !Invocation.isTyped { _ = await sender?.value }
          await shop.stream.waitUntil { $0.isWhole && !$0.hasQueued }
          await shop.finish()
          guard waiting.isLast() else { return }
          work.end(.done)
          await end()
        }
        shop.watch(isOnce: call[once], in: &group, end: end)
      }
      return await read(followed, call, scrolls, end)
    }
    var lost: CommandFailure?
    for shop in followed { lost = await shop.forget(in: store, isOnce: call[once]) ?? lost }
    return await verdict(failure, endings, work, streams, call, await sender?.value ?? 0) ?? lost
  }

  /// Opens a consumer for each stream if the options select one.
  private static func follow(
    _ streams: [ShopStream], _ call: Invocation, _ store: any TimelineStore,
    _ views: [StreamView]
  ) async throws(CommandFailure) -> [FollowedShop] {
    var followed: [FollowedShop] = []
    do throws(StoreFailure) {
      for (stream, view) in zip(streams, views) {
        let deliveries = try await StreamDeliveries(
          call, of: stream, in: store, to: view, isAlone: streams.count == 1, isOnce: call[once])
        followed.append(FollowedShop(stream, view, deliveries))
      }
      return followed
    } catch {
      for shop in followed { await shop.close() }
      for stream in streams { await stream.close() }
      throw CommandFailure(error)
    }
  }

  /// Sends standard input to the only stream. Returns `nil` if standard input is not read.
  private static func input(
    _ call: Invocation, _ streams: [ShopStream], _ view: StreamView,
    _ screen: Screen<QuotedUpdate>?
  ) -> Task<Int, Never>? {
    guard streams.count == 1, !call[StreamDeliveries.confirm],
      Invocation.isTyped || call[sendInput]
    else { return nil }
    let sender = input(of: streams[0])
    return Task { await sender.run(view, screen) }
  }

  /// Reads all streams until each has ended. The first failure ends the others.
  private static func read(
    _ followed: [FollowedShop], _ call: Invocation,
    _ scrolls: [AsyncStream<Void>.Continuation], _ end: @escaping @Sendable () async -> Void
  ) async -> (CommandFailure?, [StreamEnding]) {
    await withTaskGroup(of: (CommandFailure?, StreamEnding).self) { readers in
      for (shop, scrolling) in zip(followed, scrolls) {
        readers.addTask { await read(shop.stream, call, shop.shown, scrolling) }
      }
      var first: CommandFailure?
      var endings: [StreamEnding] = []
      for await (failure, ending) in readers {
        endings.append(ending)
        guard first == nil, failure != nil else { continue }
        first = failure
        if followed.count > 1 { await end() }
      }
      return (first, endings)
    }
  }

  private static func open(
    _ shops: [ShopID], of all: ShopStreams, _ connection: StreamConnection, _ call: Invocation
  ) async throws(CommandFailure) -> [ShopStream] {
    var streams: [ShopStream] = []
    do {
      for shop in shops {
        var configuration = connection.configuration
        configuration.shop = shop
        streams.append(
          try await all.open(configuration) { error in call.diagnostic(error.description) })
      }
      return streams
    } catch {
      for stream in streams { await stream.close() }
      throw CommandFailure(.failed, error.description)
    }
  }

  /// Returns the failure to report. Messages that were not stored take precedence.
  private static func verdict(
    _ failure: CommandFailure?, _ endings: [StreamEnding], _ work: OnceWork,
    _ streams: [ShopStream], _ call: Invocation, _ refused: Int
  ) async -> CommandFailure? {
    var unstored = 0
    for stream in streams { unstored += await stream.snapshot.outbox.unstoredCount }
    let lost = CommandFailure.left(
      unstored, "message", "not stored",
      remedy: "the output shows the reason; send the messages that it does not show as queued again"
    )
    if let first = lost ?? failure { return first }
    if work.isLate, let limit = call[duration] {
      return (endings.first { $0.hasFailure } ?? endings.first)?.late(after: limit)
    }
    guard call[once] else { return nil }
    if work.isStopped { return .stopped("it had caught up and sent everything") }
    return .left(endings.reduce(refused) { $0 + $1.failed }, "message", "not sent")
  }

  /// Requests older messages after the stream has caught up, and shows a notice if there are more.
  private static func fetchOlder(
    _ shop: FollowedShop, _ count: Int, until scrolled: AsyncStream<Void>
  ) async {
    let stream = shop.stream
    await stream.whole()
    if count > 0 {
      stream.loadOlder()
      for await _ in scrolled {}
    }
    let model = await stream.snapshot
    guard model.isWhole else { return }
    guard let deliveries = shop.deliveries else {
      if model.hasOlder { await shop.view.note("older-messages", StreamText.hasOlder) }
      return
    }
    // If the store cannot be read, the deliveries end and report the failure.
    if let beginning = deliveries.beginning, (try? await beginning.lacks(in: model)) == true {
      await shop.view.note("older-messages", StreamText.lacksOlder)
    }
  }

  private static func read(
    _ stream: ShopStream, _ call: Invocation, _ view: any LinkView<StreamUpdate>,
    _ scrolling: AsyncStream<Void>.Continuation
  ) async -> (CommandFailure?, StreamEnding) {
    var ending = StreamEnding(
      shop: stream.configuration.shop, isOnce: call[once],
      tries: stream.configuration.policy.retry.first.attempts ?? .max, since: BootClock().wall)
    var scroll = StreamScroll(by: call[older])
    for await update in stream.lastingUpdates {
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
      longest: longestLine,
      fault: { [shop = stream.configuration.shop] in StreamModel.refusal(of: $0, in: shop) },
      // Waits until earlier messages are stored and there is room. An outbox that is full of
      // permanently failed messages does not block, because the stream then reports that the outbox
      // is full.
      hasRoom: {
        await stream.waitUntil {
          $0.outbox.unstoredCount == 0
            && ($0.outbox.entries.count < $0.settings.outboxLimit || !$0.hasQueued)
        }
        return !Task.isCancelled
      },
      // The screen already shows the waiting messages.
      delay: { nil },
      send: { stream.enqueue($0) })
  }
}

extension StreamModel {
  /// Whether a message is waiting to be sent.
  fileprivate var hasQueued: Bool {
    outbox.entries.contains { if case .queued = $0.state { true } else { false } }
  }
}
