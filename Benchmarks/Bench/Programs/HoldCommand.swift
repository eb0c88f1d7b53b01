import HoldfastCommandKit
import HoldfastCurlNetwork
import HoldfastPorts

/// The command `HoldfastBench hold`, which measures the memory, latency or CPU time of sockets.
///
/// It runs in a new process, so that the sockets cannot reuse memory freed earlier.
enum HoldCommand {
  private static let server = Parameter<String>.operand(.text("URL"), "where to connect")
  private static let count = Parameter<Int>.operand(.integer("COUNT", 0...100_000), "how many")
  private static let authorities = Parameter<String?>.optional(
    "authorities", .text("FILE"), "a PEM file of authorities to trust")

  private static let echo = Parameter<Int?>.optional(
    "echo", .integer("TIMES", 1...100_000),
    "tell the microseconds that 300 bytes there and back take one more socket, the median")
  private static let idle = Parameter<Int?>.optional(
    "idle", .integer("SECONDS", 1...3600), "tell the percentage of a core that they take")

  static var command: Command {
    Command(
      "hold", "open sockets and tell how many bytes each of them takes",
      examples: [.init("HoldfastBench hold ws://127.0.0.1:9001/ 500", "500 of them")],
      takes: server, count, authorities, echo, idle, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    Usage.raiseDescriptorLimit()
    do {
      let network = try CurlNetwork(
        CurlConfiguration(authorities: call[authorities], proxy: "", offersDeflate: false))
      var sockets: [any SocketHandle] = []
      var first: [any SocketHandle] = []
      for _ in 0..<20 { first.append(try await network.opened(call[server])) }
      let before = try Usage.memory()
      for _ in 0..<call[count] { sockets.append(try await network.opened(call[server])) }
      var figure = (try Usage.memory() - before) / Double(max(call[count], 1))
      for socket in first { await socket.close(code: 1000, reason: "") }
      if let times = call[echo] { figure = try await echoing(network, call[server], times) }
      if let seconds = call[idle] { figure = try await idling(.seconds(seconds)) }
      call.console.line("\(figure)")
      withExtendedLifetime(sockets) {}
    } catch {
      throw CommandFailure(.failed, "cannot hold: \(error)")
    }
  }

  /// Returns the median time of a message there and back, in microseconds.
  static func echoing(
    _ network: any SocketDialer, _ url: String, _ times: Int
  ) async throws -> Double {
    let (answers, sink) = AsyncStream<Void>.makeStream()
    let socket = try await network.opened(url) { sink.yield() }
    var answer = answers.makeAsyncIterator()
    let text = [UInt8](repeating: UInt8(ascii: "e"), count: 300)
    var taken: [Double] = []
    for _ in 0..<times {
      let start = ContinuousClock.now
      await socket.send(text: text)
      guard await answer.next(isolation: #isolation) != nil else { break }
      taken.append(start.duration(to: .now).inSeconds * 1e6)
    }
    return Statistics.median(taken)
  }

  private static func idling(_ length: Duration) async throws -> Double {
    // The first pings are excluded, because the sockets are still new then.
    try await Task.sleep(for: .seconds(1))
    let before = Usage.processor
    try await Task.sleep(for: length)
    return (Usage.processor - before) / length * 100
  }
}

extension SocketDialer {
  /// Opens a socket that calls `onText` for each text message.
  func opened(
    _ url: String, onText: @escaping @Sendable () -> Void = {}
  ) async throws -> any SocketHandle {
    let request = SocketRequest(url: url, openTimeout: .seconds(10), maxMessageBytes: 65_536)
    let (events, sink) = AsyncStream<Void>.makeStream()
    let socket = await openInTurns(request) { turn in
      for event in turn {
        if case .opened = event { sink.yield() }
        if case .text = event { onText() }
        if case .failed = event { sink.finish() }
      }
    }
    for await _ in events { return socket }
    throw Unavailable("a socket did not open")
  }
}
