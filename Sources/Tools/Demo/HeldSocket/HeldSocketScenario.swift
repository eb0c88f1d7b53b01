import Holdfast
import HoldfastCore
import HoldfastHeldChecks
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastTestKit

/// A scenario in which an app holds a WebSocket to a server that does not use Holdfast.
struct HeldFeed: DemoScenario {
  private typealias Act = (trouble: Trouble, begin: PhoneTrouble.Part, repair: PhoneTrouble.Part)

  let name = "feed"
  let needsTraffic = false
  let title = "Any WebSocket, held"
  let troubles = [Trouble.feedCut, .feedHalfOpen, .feedRestart]
  let link: DemoLink? = DemoLink(.feed, "Feed", HeldFeature.self)

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    let server = FeedServer { [picture = environment.picture] line in
      await picture?.add(.accepted, "The feed wrote line \(line).", of: .feed)
    }
    try await server.start()
    environment.atEnd { await server.stop() }
    let port = await server.port
    let proxy = try DemoEnvironment.checked { () throws(FaultProxyError) in
      try FaultProxy(upstream: port)
    }
    let socket = try await Self.socket(
      to: proxy, environment.scene, journal: environment.picture?.journal(of: .feed))
    environment.atEnd { await socket.close() }
    environment.say(
      .app, "holds a WebSocket to a feed of 20 lines a second, with a protocol of its own")
    try await environment.pause(.seconds(0.5))
    let acts = Self.acts(server, proxy)
    for (index, act) in acts.enumerated() {
      try await environment.play(
        act.trouble, of: .feed, lasting: .seconds(0.3),
        recovered: "is connected, and has every line,", begin: act.begin
      ) { environment throws(DemoFailure) in
        socket.enqueue("order \(index + 1)")
        try await act.repair(environment)
        let last = await server.count
        return { $0[.feed].status.isConnected && $0.feed.contains(last) }
      }
      try await Self.proof(of: socket, environment)
    }
    let count = await server.end()
    try await environment.wait { $0.feed.contains(count) }
    var counts = FeedCounts(sent: acts.count)
    counts.count(lines: await environment.scene.facts.feed, of: count, server.orders)
    await socket.close()
    environment.say(
      .app, "has shown \(count) lines; its orders, sent while offline, arrived once each")
    environment.ledger.sections.append(counts.section)
  }

  /// Waits until a pong has proven the arrival of an order, so that no later loss repeats it.
  private static func proof(
    of socket: HeldSocket, _ environment: isolated DemoEnvironment
  ) async throws(DemoFailure) {
    for _ in 0..<50 where await !socket.snapshot.queue.entries.isEmpty {
      try await environment.pause(.seconds(0.1))
    }
  }

  private static func acts(_ server: FeedServer, _ proxy: FaultProxy) -> [Act] {
    [
      (
        .feedCut,
        { environment throws(DemoFailure) in
          try await environment.set(.reset, on: proxy)
          environment.say(.network, "resets every connection to the feed")
        }, { environment throws(DemoFailure) in try await environment.set(.pass, on: proxy) }
      ),
      (
        .feedHalfOpen,
        { environment throws(DemoFailure) in
          try await environment.set(
            .blackhole(Blackhole(reach: .both, fate: .held, connects: .hang)), on: proxy)
          environment.say(.network, "falls silent; the app pings once a second")
        }, { environment throws(DemoFailure) in try await environment.set(.pass, on: proxy) }
      ),
      (
        .feedRestart,
        { environment throws(DemoFailure) in
          await environment.picture?.server(of: [.feed], isRunning: false)
          await server.stop()
          environment.say(.server, "of the feed closes with 1001; lines are written all the same")
        },
        { environment throws(DemoFailure) in
          try await server.start()
          await environment.picture?.server(of: [.feed], isRunning: true)
        }
      ),
    ]
  }

  /// Returns the app's socket. The scene receives the events of the socket.
  private static func socket(
    to proxy: FaultProxy, _ scene: Scene, journal: String?
  ) async throws(DemoFailure) -> HeldSocket {
    do {
      var configuration = SocketConfiguration(
        "ws://127.0.0.1:\(proxy.port)/", policy: try FeedPolicy.policy())
      configuration.ports.network = try HoldfastPlatform.network(proxy: "")
      configuration.outbox = .memory
      configuration.journal = journal
      configuration.messages.position = {
        $0.text.flatMap { $0.split(separator: " ").first.map(String.init) }
      }
      configuration.messages.hello = { .text("after \($0.position ?? "0")") }
      let socket = try await HeldSocket(configuration)
      Task { for await event in socket { await scene.receive(event) } }
      return socket
    } catch {
      throw .setup("the app's socket could not be set up: \(error)")
    }
  }
}

extension Scene {
  fileprivate func receive(_ event: HeldSocket.Event) async {
    switch event {
    case .status(let status):
      let isConnected = status.phase == .connected
      await receive(
        .status(AppLine.Status(status: isConnected ? "CONNECTED" : "RECONNECTING")), from: .feed)
    case .text(let text):
      guard let number = text.split(separator: " ").first.flatMap({ Int($0) }) else { return }
      note { $0.feed.append(number) }
    case .binary, .quality, .sent, .stored, .proven, .notice: return
    }
  }
}

/// The policy for held sockets, with shorter waits.
private enum FeedPolicy {
  static let retry = Duration.milliseconds(100)
  static let ping = Duration.seconds(1)
  static let pong = Duration.milliseconds(500)
  static let open = Duration.seconds(1)

  static func policy() throws(PolicyError) -> LinkPolicy {
    let schedule = "100ms*1 max 100ms +-0.0 min 100ms xunlimited"
    return try LinkPolicy.socket.setting([
      ("retry.first", schedule), ("retry.reconnect", schedule), ("retry.windows", "10/6s"),
      ("retry.serverJitter", "100ms"), ("retry.stability", "1s"), ("liveness.ping", ping.text),
      ("liveness.pongTimeout", pong.text), ("establish.openTimeout", open.text),
      ("establish.timeout", open.text),
    ])
  }

  /// The maximum time from the repair until an attempt has connected. One attempt may hang.
  static let recovery = open + retry + open
}

/// Counts of the feed's lines and orders.
struct FeedCounts: Sendable, Hashable {
  /// The number of lines that the server wrote.
  var lines = 0
  /// The number of different lines that the app showed.
  var shown = 0
  var repeated = 0
  var outOfOrder = 0
  /// The number of orders that the app sent.
  var sent = 0
  /// The number of orders that arrived exactly once.
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

  /// The ledger's section about the feed.
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
  static let feedCut = Trouble("feedCut", "feed cut") { _, work in
    .init(noticed: work, whole: FeedPolicy.recovery + work)
  }

  static let feedHalfOpen = Trouble("feedHalfOpen", "feed half-open") { _, work in
    .init(
      noticed: FeedPolicy.ping + FeedPolicy.pong + work, whole: FeedPolicy.recovery + work)
  }

  static let feedRestart = Trouble("feedRestart", "feed restart") { _, work in
    .init(noticed: work, whole: FeedPolicy.recovery + work)
  }
}
