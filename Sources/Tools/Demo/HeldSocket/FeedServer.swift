import HoldfastCore
import HoldfastProtocols
import HoldfastServerSockets
import Synchronization

/// A WebSocket server with its own protocol: a feed of numbered lines, in the demo with one line every
/// 50 ms.
///
/// A client begins with `after N` and then receives the lines that follow line N. Any other text
/// from a client is an order, which the server only records.
actor FeedServer {
  private let pause: Duration
  private let wrote: @Sendable (_ line: Int) async -> Void

  private(set) var port: UInt16 = 0
  /// The number of the latest line.
  private(set) var count = 0
  private let received = Mutex<[String]>([])
  private var server: SocketServer<FeedHandler>?
  private var writing: Task<Void, Never>?

  /// Creates a feed that does not run yet.
  ///
  /// - Parameter wrote: A function that is called with the number of each line, before the line is
  ///   sent.
  init(
    pause: Duration = .milliseconds(50),
    wrote: @escaping @Sendable (_ line: Int) async -> Void = { _ in }
  ) {
    (self.pause, self.wrote) = (pause, wrote)
  }

  /// The orders received so far, in order of arrival.
  nonisolated var orders: [String] { received.withLock { $0 } }

  /// Starts the server on the same port as before. The first call also starts the feed.
  func start() async throws(DemoFailure) {
    do throws(SocketServerError) {
      var configuration = SocketServerConfiguration()
      configuration.port = port
      let handler = FeedHandler(count: count) { order in
        self.received.withLock { $0.append(order) }
      }
      let bound = try BoundPort(configuration)
      port = bound.number
      let next = try SocketServer(configuration, handler: handler)
      server = next
      try await next.start(on: bound)
    } catch {
      throw .setup("the feed's server did not start: \(error)")
    }
    if writing == nil { writing = Task { await self.write() } }
  }

  /// Stops the server. The feed continues, but no client receives it.
  func stop() async {
    let last = server
    server = nil
    await last?.stop()
  }

  /// Stops the feed. Returns the number of the last line.
  func end() async -> Int {
    writing?.cancel()
    await writing?.value
    return count
  }

  private func write() async {
    while (try? await Task.sleep(for: pause)) != nil {
      await wrote(count + 1)
      count += 1
      server?.inject { handler, hub in handler.publish(on: hub) }
    }
  }
}

/// The handler of the server's connections.
private struct FeedHandler: SocketHandler {
  /// The number of the latest line.
  private var count: Int
  private var readers: Set<ConnectionID> = []
  private let order: @Sendable (String) -> Void

  init(count: Int, order: @escaping @Sendable (String) -> Void) {
    self.count = count
    self.order = order
  }

  mutating func publish(on hub: SocketHub) {
    count += 1
    for reader in readers { Self.send(count, to: reader, on: hub) }
  }

  mutating func handle(_ event: HoldfastServerSockets.SocketEvent, on hub: SocketHub) {
    switch event {
    case .upgrade(let id, _): hub.accept(id)
    case .text(let id, let bytes):
      let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
      guard fields.first == "after", let last = fields.last.flatMap({ Int($0) }) else {
        return order(fields.joined(separator: " "))
      }
      readers.insert(id)
      for number in stride(from: last + 1, through: count, by: 1) {
        Self.send(number, to: id, on: hub)
      }
    case .closed(let id, _): readers.remove(id)
    case .request, .binary, .overflow, .abandoned, .opened, .received, .pong, .drained, .starved,
      .crowded, .woke, .announced, .cut, .passed:
      break
    }
  }

  private static func send(_ number: Int, to reader: ConnectionID, on hub: SocketHub) {
    hub.send(text: Array("\(number) line".utf8), to: reader)
  }
}
