import Holdfast
import HoldfastTestKit
import LinkCore
import LinkRuntime

/// An app holds a WebSocket to a server that knows nothing of Holdfast.
struct HeldFeed: Chapter {
  let title = "Any WebSocket, held"
  let troubles = [Trouble.feedCut, .feedHalfOpen, .feedRestart]

  func ledgerRows(of stage: isolated Stage) -> LedgerSection? { stage.feed.section }

  func play(on stage: isolated Stage) async throws(DemoFailure) {
    let server = FeedServer()
    try await server.start()
    let app = try await FeedApp(server, stage.scene)
    let failure: DemoFailure?
    do throws(DemoFailure) {
      stage.say(
        .app, "holds a WebSocket to a feed of 20 lines a second, with a protocol of its own")
      try await stage.pause(.seconds(1))
      try await playTroubles(app, server, on: stage)
      failure = nil
    } catch {
      failure = error
    }
    await app.close()
    await server.stop()
    if let failure { throw failure }
  }

  private func playTroubles(
    _ app: FeedApp, _ server: FeedServer, on stage: isolated Stage
  ) async throws(DemoFailure) {
    var start = Scene.Moment.now
    try await app.set(.reset)
    stage.say(.network, "resets every connection to the feed")
    try await recover(.feedCut, since: start, app, server, on: stage) {
      () throws(DemoFailure) in try await app.set(.pass)
    }
    start = .now
    try await app.set(.blackhole(Blackhole(reach: .both, fate: .held, connects: .hang)))
    stage.say(.network, "falls silent; the app pings once a second")
    try await recover(.feedHalfOpen, since: start, app, server, on: stage) {
      () throws(DemoFailure) in try await app.set(.pass)
    }
    start = .now
    await server.stop()
    stage.say(.server, "of the feed closes with 1001; lines are written all the same")
    try await recover(.feedRestart, since: start, app, server, on: stage) {
      () throws(DemoFailure) in try await server.start()
    }
    try await finish(app, server, on: stage)
  }

  /// Waits until the app notices, sends an order meanwhile, repairs, and measures the recovery.
  private func recover(
    _ trouble: Trouble, since start: Scene.Moment, _ app: FeedApp, _ server: FeedServer,
    on stage: isolated Stage, repair: () async throws(DemoFailure) -> Void
  ) async throws(DemoFailure) {
    let isLoss = { @Sendable (at: Scene.Moment, isConnected: Bool) in at >= start && !isConnected }
    let noticed = await stage.scene.wait(atMost: Stage.patience) {
      $0.feed.statuses.contains(where: isLoss)
    }
    stage.feed.sent += 1
    app.socket.send("order \(stage.feed.sent)")
    try await stage.pause(.seconds(0.5))
    try await repair()
    let end = Scene.Moment.now
    let last = await server.count
    let whole = await stage.scene.wait(atMost: Stage.patience) {
      $0.feed.isConnected && $0.feed.lines.contains(last)
    }
    guard !Task.isCancelled else { throw .interrupted }
    stage.note(
      trouble, noticed: noticed.map { max($0 - start, .zero) },
      whole: whole.map { max($0 - end, .zero) })
    guard let noticed, let whole else { return stage.say(.app, "does not recover") }
    stage.say(
      .app,
      "notices after \((noticed - start).told), is connected \(max(whole - end, .zero).told) after "
        + "the repair, and has every line")
    // Until a pong has proved that the order arrived; then no later loss repeats it.
    for _ in 0..<50 where await !app.isDone { try await stage.pause(.seconds(0.1)) }
  }

  private func finish(
    _ app: FeedApp, _ server: FeedServer, on stage: isolated Stage
  ) async throws(DemoFailure) {
    let count = await server.end()
    _ = await stage.scene.wait(atMost: Stage.patience) { $0.feed.lines.contains(count) }
    guard !Task.isCancelled else { throw .interrupted }
    stage.feed.count(lines: await stage.scene.facts.feed.lines, of: count, server.orders)
    stage.say(.app, "has shown \(count) lines; its orders, sent while offline, arrived once each")
  }
}

/// The app's side of the feed: a held socket behind a proxy of its own.
private struct FeedApp: Sendable {
  let socket: HeldSocket
  private let proxy: FaultProxy
  private let reading: Task<Void, Never>

  init(_ server: FeedServer, _ scene: Scene) async throws(DemoFailure) {
    let port = await server.port
    do {
      proxy = try FaultProxy(upstream: port)
      var options = SocketOptions()
      options.network = try Platform.network(proxy: "")
      options.outbox = .memory
      options.language.position = {
        $0.text.flatMap { $0.split(separator: " ").first.map(String.init) }
      }
      options.language.hello = { .text("after \($0.position ?? "0")") }
      socket = try await HeldSocket(
        "ws://127.0.0.1:\(proxy.port)/", policy: FeedPolicy.policy(), options: options)
    } catch {
      throw .setup("the app's socket could not be set up: \(error)")
    }
    let socket = socket
    reading = Task { for await event in socket { await scene.appHeard(event) } }
  }

  /// Whether every order has arrived.
  var isDone: Bool {
    get async { await socket.snapshot.queue.entries.isEmpty }
  }

  func set(_ fault: Fault) async throws(DemoFailure) {
    do throws(FaultProxyError) {
      try await proxy.set(fault)
    } catch {
      throw .setup("the proxy failed: \(error)")
    }
  }

  func close() async {
    await socket.close()
    await reading.value
  }
}

/// The policy of held sockets with its waits cut down.
private enum FeedPolicy {
  static let retry = Duration.milliseconds(100)
  static let ping = Duration.seconds(1)
  static let pong = Duration.milliseconds(500)
  static let open = Duration.seconds(1)

  static func policy() throws(PolicyError) -> LinkPolicy {
    let schedule = "100ms*1 max 100ms +-0.0 min 100ms xunlimited"
    return try LinkPolicy.socket.setting([
      ("retry.first", schedule), ("retry.reconnect", schedule), ("retry.windows", "10/6s"),
      ("retry.spread", "100ms"), ("retry.stability", "1s"), ("liveness.ping", ping.text),
      ("liveness.pongTimeout", pong.text), ("establish.openTimeout", open.text),
      ("establish.timeout", open.text),
    ])
  }

  /// The longest time from the repair until an attempt has connected: one may hang.
  static let recovery = open + retry + open + DemoPolicy.work
}

/// The outcome of the feed.
struct FeedCounts: Sendable, Hashable {
  /// Lines that the server wrote.
  var lines = 0
  /// Lines that the app showed, each counted once.
  var shown = 0
  var repeated = 0
  var outOfOrder = 0
  /// Orders that the app sent.
  var sent = 0
  /// Orders that arrived exactly once.
  var arrivedOnce = 0

  mutating func count(lines shown: [Int], of written: Int, _ orders: [String]) {
    lines = written
    let known = Set(shown)
    self.shown = known.intersection(1...max(1, written)).count
    repeated = shown.count - known.count
    outOfOrder = zip(shown, shown.dropFirst()).count { $0 > $1 }
    arrivedOnce = (1...max(1, sent)).count { number in
      orders.count { $0 == "order \(number)" } == 1
    }
  }

  /// Its section of the ledger.
  var section: LedgerSection {
    LedgerSection(
      "feed",
      [
        .init("lines", lines, isGood: lines > 0),
        .init("shown", shown, isGood: shown == lines),
        .init("repeated", repeated, isGood: repeated == 0),
        .init("out of order", key: "outOfOrder", outOfOrder, isGood: outOfOrder == 0),
        .init("orders sent", key: "sent", sent, isGood: sent > 0),
        .init("arrived once", key: "arrivedOnce", arrivedOnce, isGood: arrivedOnce == sent),
      ])
  }
}

extension Trouble {
  static let feedCut = Trouble("feedCut", "feed cut") { _ in
    .init(noticed: DemoPolicy.work, whole: FeedPolicy.recovery)
  }

  static let feedHalfOpen = Trouble("feedHalfOpen", "feed half-open") { _ in
    .init(
      noticed: FeedPolicy.ping + FeedPolicy.pong + DemoPolicy.work, whole: FeedPolicy.recovery)
  }

  static let feedRestart = Trouble("feedRestart", "feed restart") { _ in
    .init(noticed: DemoPolicy.work, whole: FeedPolicy.recovery)
  }
}
